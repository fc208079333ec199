"""Random numbers of parts: those of the same places in the whole."""

import numpy as np
import pytest

from oneflow.primitives.operators.random import philox, words
from oneflow.primitives.parts import Part, places

WHOLE = (3, 4, 5)


@pytest.mark.parametrize("starts", [(0, 0, 0), (1, 0, 3), (2, 3, 4)])
def test_places_are_counted_in_the_whole(starts):
    shape = tuple(min(2, size - start) for size, start in zip(WHOLE, starts, strict=True))
    box = tuple(slice(start, start + size) for start, size in zip(starts, shape, strict=True))
    expected = np.arange(np.prod(WHOLE)).reshape(WHOLE)[box]
    np.testing.assert_array_equal(places(shape, Part(WHOLE, starts), np.int32), expected)


def test_words_are_those_of_the_whole():
    seed, stream = np.int64(7), np.int64(11)
    whole = words(seed, stream, WHOLE)
    part = words(seed, stream, (2, 4, 1), Part(WHOLE, (1, 0, 3)))
    for mine, theirs in zip(part, whole, strict=True):
        np.testing.assert_array_equal(mine, theirs[1:3, :, 3:4])


def test_wholes_of_more_elements_than_32_bits_count():
    whole, start = (2**20, 2**14), (2**20 - 1, 2**14 - 2)
    found = words(np.int64(7), np.int64(11), (1, 2), Part(whole, start))
    last = [np.uint32([0xFFFFFFFE, 0xFFFFFFFF]), np.uint32([3, 3])]
    zero, key = np.uint32([0, 0]), np.uint32([7, 7])
    expected = philox((*last, np.uint32([11, 11]), zero), (key, zero))
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(mine[0], theirs)
