"""The CPU's order of numbers is that of a stable sort: ties, NaN, zeros, all dtypes."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from oneflow.primitives.operators import sort_cpu

_INTEGERS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]
_DTYPES = ["bool", *_INTEGERS, "float16", "bfloat16", "float32", "float64"]
# The last has so many elements that those of a rank are counted.
_SHAPES = [((1, 1), 1), ((3, 50, 4), 1), ((150, 128), 1)]

pytestmark = pytest.mark.usefixtures("jax_x64")


def numbers(dtype: str, shape: tuple[int, ...]) -> jax.Array:
    """Numbers with ties, extremes, and, where there are such, NaN, infinities and signed zeros."""
    generator = np.random.default_rng(len(dtype) + sum(shape))
    kind = jnp.dtype(dtype)
    if dtype == "bool":
        return jnp.asarray(generator.integers(0, 2, shape), bool)
    if jnp.issubdtype(kind, jnp.integer):
        info = jnp.iinfo(kind)
        choices = [info.min, info.min + 1, info.max - 1, info.max, *range(0, 100, 3)]
        return jnp.asarray(generator.choice(np.array(choices, dtype), shape))
    x = generator.normal(size=shape).round(1)
    special = [np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0]
    x = np.where(generator.random(shape) < 0.2, generator.choice(special, shape), x)
    return jnp.asarray(x).astype(kind)


def stable_order(x: jax.Array, dim: int, descending: bool = False) -> np.ndarray:
    """NumPy's stable sort."""
    is_half = jnp.issubdtype(x.dtype, jnp.floating) and x.dtype.itemsize < 4
    array = np.asarray(x.astype(jnp.float32) if is_half else x)
    if not descending:
        return np.argsort(array, axis=dim, kind="stable")
    backwards = np.argsort(np.flip(array, dim), axis=dim, kind="stable")
    return array.shape[dim] - 1 - np.flip(backwards, dim)


_argsort = jax.jit(sort_cpu.argsort, static_argnums=(1, 2))
_index_at_rank = jax.jit(sort_cpu.index_at_rank, static_argnums=1)


@pytest.mark.parametrize("dtype", _DTYPES)
@pytest.mark.parametrize(("shape", "dim"), _SHAPES, ids=str)
def test_order_is_that_of_a_stable_sort(dtype, shape, dim) -> None:
    x = numbers(dtype, shape)
    for descending in (False, True):
        ours = _argsort(x, dim, descending)
        np.testing.assert_array_equal(ours, stable_order(x, dim, descending))
        assert ours.dtype == jnp.int64


@pytest.mark.parametrize("dtype", _DTYPES)
@pytest.mark.parametrize(("shape", "dim"), [*_SHAPES, ((150, 128), 0)], ids=str)
def test_elements_of_a_rank_are_those_of_a_stable_sort(dtype, shape, dim) -> None:
    x = numbers(dtype, shape)
    order = stable_order(x, dim)
    kept = [1 if at == dim else size for at, size in enumerate(shape)]
    middle = np.random.default_rng(0).integers(0, shape[dim], kept)
    for rank in (np.zeros(kept, int), middle, np.full(kept, shape[dim] - 1)):
        expected = np.take_along_axis(order, rank, axis=dim)
        np.testing.assert_array_equal(_index_at_rank(x, dim, rank), expected)
