"""The index in the whole of each element of a shard."""

import jax.numpy as jnp
import numpy as np
import pytest

from oneflow.primitives.shard_index import ShardIndex, global_linear_index

WHOLE = (6, 4, 5)
# The offsets and the shape of shards, and whether their elements follow one another in the whole.
SHARDS = [
    ((0, 0, 0), (6, 4, 5), True),
    ((0, 0, 0), (3, 4, 5), True),
    ((3, 0, 0), (3, 4, 5), True),
    ((2, 0, 0), (0, 4, 5), True),
    ((0, 2, 0), (6, 2, 5), False),
    ((0, 0, 0), (6, 2, 5), False),
    ((1, 0, 3), (2, 4, 2), False),
]


@pytest.mark.parametrize("is_traced", [False, True], ids=["numbers", "arrays"])
@pytest.mark.parametrize(("offsets", "shape", "is_contiguous"), SHARDS)
def test_indices_are_those_of_the_whole(offsets, shape, is_contiguous, is_traced):
    whole = np.arange(np.prod(WHOLE), dtype=np.uint32).reshape(WHOLE)
    part = whole[tuple(map(slice, offsets, np.add(offsets, shape)))]
    if is_traced:  # As of dimensions that are split: numbers are of those that are not.
        offsets = tuple(jnp.int32(offset) if offset else offset for offset in offsets)
    shard = ShardIndex(WHOLE, offsets)
    assert shard.is_contiguous(shape) == is_contiguous
    np.testing.assert_array_equal(global_linear_index(shape, shard, jnp.uint32), part)


@pytest.mark.parametrize("shard", [None, ShardIndex((), ())], ids=["whole", "shard"])
def test_a_number_has_index_0(shard):
    assert global_linear_index((), shard, jnp.uint32) == 0
