"""Random numbers of shards: those at the same positions in the whole."""

import numpy as np
import pytest

from oneflow.primitives.operators.philox import philox
from oneflow.primitives.operators.random import random_bits
from oneflow.primitives.shard_index import ShardIndex, global_linear_index

pytestmark = pytest.mark.usefixtures("jax_x64")

WHOLE = (3, 4, 5)


@pytest.mark.parametrize("offsets", [(0, 0, 0), (1, 0, 3), (2, 3, 4)])
def test_indices_are_those_of_the_whole(offsets):
    shape = tuple(min(2, size - start) for size, start in zip(WHOLE, offsets, strict=True))
    box = tuple(slice(start, start + size) for start, size in zip(offsets, shape, strict=True))
    expected = np.arange(np.prod(WHOLE)).reshape(WHOLE)[box]
    np.testing.assert_array_equal(
        global_linear_index(shape, ShardIndex(WHOLE, offsets), np.int32), expected
    )


def test_words_are_those_of_the_whole():
    seed, stream = np.int64(7), np.int64(11)
    whole = random_bits(seed, stream, WHOLE)
    part = random_bits(seed, stream, (2, 4, 1), ShardIndex(WHOLE, (1, 0, 3)))
    for mine, theirs in zip(part, whole, strict=True):
        np.testing.assert_array_equal(mine, theirs[1:3, :, 3:4])


def test_wholes_of_more_elements_than_32_bits_count():
    whole, start = (2**20, 2**14), (2**20 - 1, 2**14 - 2)
    found = random_bits(np.int64(7), np.int64(11), (1, 2), ShardIndex(whole, start))
    last = [np.uint32([0xFFFFFFFE, 0xFFFFFFFF]), np.uint32([3, 3])]
    zero, key = np.uint32([0, 0]), np.uint32([7, 7])
    expected = philox((*last, np.uint32([11, 11]), zero), (key, zero))
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(mine[0], theirs)
