"""Loops of which XLA's CPU compiler makes one kernel: sorts of random keys, and results so far."""

import functools
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from oneflow.base.x64 import in_x64
from oneflow.primitives.operators import running
from oneflow.primitives.operators.cpu_kernel import in_one_kernel
from oneflow.primitives.operators.radix_sort import sort_random

_SUMS = {
    "running_sum": np.add,
    "running_product": np.multiply,
}
_EXTREMES = {"running_argmax": jax.lax.ge, "running_argmin": jax.lax.le}
# Rows and columns that fill no block, one block, several; neighbours on both sides of a bound.
_ALONG = [
    ((1, 300), 1),
    ((5, 300), 1),
    ((37, 130), 1),
    ((24, 256), 1),
    ((300, 3), 0),
    ((4, 9, 20), 1),
    ((2, 7, 3), 1),
    ((40, 2), 1),
]


_DTYPES = ["bfloat16", "int64", "float64", "complex64"]


_SO_FAR = [*_SUMS, "running_max", "running_logaddexp", *_EXTREMES]
_WITH_KERNEL = {name: functools.partial(getattr(running, name), dim=1) for name in _SO_FAR}
_WITH_KERNEL["sort_random"] = sort_random


def _operand(name):
    if name == "sort_random":
        return np.random.default_rng(0).integers(0, 2**64, 10_000, np.uint64)
    return np.random.default_rng(0).standard_normal((6, 300)).astype(np.float32)


def _two_devices():
    return Mesh(np.array(jax.devices("cpu")[:2]), ("rows",))


def _numbers(shape, dtype, of_size_one):
    """Whole numbers; for products those whose products stay small."""
    numbers = np.random.default_rng(0).integers(-3, 4, shape)
    if of_size_one:
        numbers = 1 - 2 * (numbers > 0)
    return jnp.asarray(numbers).astype(dtype) * (1j if dtype == "complex64" else 1)


def _compiled(function, *operands):
    return jax.jit(function).lower(*operands).compile()


@pytest.mark.parametrize("size", [0, 1, 4095, 4096, 4097, 70_001])
@in_x64
def test_random_keys_are_sorted(size):
    keys = np.random.default_rng(size).integers(0, 2**64, size, np.uint64)
    assert np.array_equal(_compiled(sort_random, keys)(keys), np.sort(keys))


@in_x64
def test_keys_with_equal_leading_bits_are_sorted():
    keys = np.random.default_rng(0).integers(0, 50, 4200, np.uint64)
    keys[::3] += np.uint64(2**63)
    assert np.array_equal(_compiled(sort_random, keys)(keys), np.sort(keys))


@in_x64
def test_random_keys_are_sorted_for_each_element_of_a_batch():
    keys = np.random.default_rng(0).integers(0, 2**64, (2, 30, 3), np.uint64)
    in_order = jax.vmap(jax.vmap(sort_random, in_axes=1, out_axes=1))(keys)
    assert np.array_equal(in_order, np.sort(keys, axis=1))


@in_x64
def test_a_sort_of_random_keys_copies_them_in_no_turn():
    text = _compiled(sort_random, np.zeros(5000, np.uint64)).as_text()
    entry = text[text.index("ENTRY") :]
    assert re.search(r" call\(.*xla_cpu_small_call=\"true\"", entry)
    for body in set(re.findall(r"body=%([\w.]+)", text)):
        steps = re.search(rf"^%{re.escape(body)} .*?^}}", text, re.MULTILINE | re.DOTALL)
        assert steps is not None
        assert not re.search(r"\[\d+\]\S* copy\(", steps[0])


@pytest.mark.parametrize("name", _SUMS)
@pytest.mark.parametrize(
    ("shape", "axis", "dtype"),
    [(*along, "float32") for along in _ALONG] + [((18, 40), 1, dtype) for dtype in _DTYPES],
)
@in_x64
def test_sums_and_products_so_far_are_those_of_elements_one_by_one(shape, axis, dtype, name):
    x = _numbers(shape, dtype, name == "running_product")
    total = running.total_dtype(x.dtype)
    for reverse in (False, True):
        function = functools.partial(getattr(running, name), dim=axis, reverse=reverse)
        result = _compiled(function, x)(x)
        operand = np.flip(x, axis) if reverse else np.asarray(x)
        expected = _SUMS[name].accumulate(operand.astype(total), axis=axis, dtype=total)
        expected = (np.flip(expected, axis) if reverse else expected).astype(x.dtype)
        assert result.dtype == x.dtype
        assert np.array_equal(np.asarray(result), expected)


@pytest.mark.parametrize("name", _EXTREMES)
@pytest.mark.parametrize(
    ("shape", "axis", "dtype"),
    [(*along, "float32") for along in _ALONG]
    + [((18, 40), 1, dtype) for dtype in ("bfloat16", "int32")],
)
@in_x64
def test_positions_of_extremes_so_far_are_those_of_other_platforms(shape, axis, dtype, name):
    x = _numbers(shape, dtype, False)
    if dtype != "int32":
        x = x.at[..., x.shape[-1] // 2].set(jnp.nan)
    result = _compiled(functools.partial(getattr(running, name), dim=axis), x)(x)
    elsewhere = running._positions(x, compare=_EXTREMES[name], axis=axis)
    assert np.array_equal(result, elsewhere)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", _SO_FAR)
@in_x64
def test_results_so_far_of_halves_convert_whole_arrays_in_no_turn(name, dtype):
    x = _numbers((24, 300), dtype, True)
    function = _WITH_KERNEL[name]
    text = _compiled(function, x).as_text()
    writes = [body for body in re.split(r"\n}\n", text) if " dynamic-update-slice(" in body]
    assert writes
    assert not any(re.search(r"\[24,300,1\]\S* convert\(", body) for body in writes)


@pytest.mark.parametrize("is_result", [False, True])
@pytest.mark.parametrize("name", _WITH_KERNEL)
@in_x64
def test_what_is_split_over_devices_is_what_one_computes(name, is_result):
    x, function = _operand(name), _WITH_KERNEL[name]
    split = NamedSharding(_two_devices(), PartitionSpec("rows"))
    if is_result:
        result = jax.jit(function, out_shardings=split)(x)
    else:
        result = jax.jit(function)(jax.device_put(x, split))
    np.testing.assert_allclose(result, jax.jit(function)(x), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", _WITH_KERNEL)
@in_x64
def test_kernels_run_in_shard_map(name):
    x, function = _operand(name), _WITH_KERNEL[name]
    spec = PartitionSpec("rows")
    mapped = jax.shard_map(function, mesh=_two_devices(), in_specs=spec, out_specs=spec)
    expected = np.concatenate([jax.jit(function)(part) for part in np.split(x, 2)])
    assert np.array_equal(jax.jit(mapped)(x), expected)


@pytest.mark.parametrize("name", _WITH_KERNEL)
@in_x64
def test_kernels_run_where_nothing_is_compiled(name):
    x, function = _operand(name), _WITH_KERNEL[name]
    with jax.disable_jit():
        result = function(jnp.asarray(x))
    assert np.array_equal(result, jax.jit(function)(x))


def test_one_kernel_ends_with_a_loop():
    with pytest.raises(ValueError, match="must be that of a loop, not of add"):
        in_one_kernel(lambda x: x + 1, jnp.ones(3))
