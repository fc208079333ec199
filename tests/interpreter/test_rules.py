"""NumPy computes what XLA does, where the two are known to differ or sizes are at their limits."""

from __future__ import annotations

import functools
import math
import tracemalloc
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import lax

import oneflow as flow
from oneflow.interpreter import indexing, random_bits, special_functions
from oneflow.interpreter.numpy_function import NumpyFunction
from oneflow.interpreter.rules import RULES, UnsupportedEquation, rule
from oneflow.nn import functional as F
from oneflow.primitives.operators.conv_xla import Window, convolve_input_adjoint
from oneflow.primitives.operators.philox import philox
from oneflow.primitives.trace import Trace
from tests.oracle import eager_mode

pytestmark = [pytest.mark.one_in(2), pytest.mark.usefixtures("jax_x64")]

FLOATS = np.array(
    [0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 300.0, -3e9, 3e9, 1e30, np.inf, -np.inf, np.nan],
    np.float32,
)
INTEGERS = np.array([0, 1, -1, 7, -7, 2**31 - 1, -(2**31), 33, 31, -40], np.int32)
MATRIX = np.arange(20, dtype=np.float32).reshape(4, 5)


def interpreted(function: Callable, *arrays: Any) -> list[np.ndarray]:
    """Results of a function on NumPy, each of the shape and dtype that JAX says it has."""
    closed = jax.make_jaxpr(function)(*arrays)
    kept = [array.copy() for array in arrays]
    with np.errstate(all="ignore"):
        results = NumpyFunction(Trace(closed.jaxpr, closed.consts))(*arrays)
    for before, now in zip(kept, arrays, strict=True):
        assert now.tobytes() == before.tobytes(), "an operand was written to"
    for result, aval in zip(results, closed.out_avals, strict=True):
        assert result.shape == aval.shape
        assert result.dtype == aval.dtype
    return results


def assert_same(function: Callable, *arrays: Any, rtol: float = 0.0) -> None:
    """Check that NumPy's results are XLA's; bit for bit without a tolerance, NaN alike."""
    expected = jax.tree.leaves(jax.jit(function)(*arrays))
    for mine, theirs in zip(interpreted(function, *arrays), expected, strict=True):
        theirs = np.asarray(theirs)
        if theirs.dtype == ml_dtypes.bfloat16:
            mine, theirs = mine.astype(np.float32), theirs.astype(np.float32)
        np.testing.assert_allclose(mine, theirs, rtol=rtol)
        if theirs.dtype.kind == "f":
            signs = np.where(np.isnan(theirs), False, np.signbit(theirs))
            np.testing.assert_array_equal(np.where(np.isnan(mine), False, np.signbit(mine)), signs)


PAIRS = [lax.div, lax.rem, lax.max, lax.min, lax.shift_left, lax.shift_right_logical]
PAIRS += [lax.shift_right_arithmetic, lax.add, lax.mul, lax.sub]


@pytest.mark.parametrize("function", PAIRS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("dtype", ["int32", "uint8", "int64", "int8"])
def test_integer_arithmetic_at_its_limits(function: Callable, dtype: str) -> None:
    x = INTEGERS.astype(dtype)
    assert_same(function, np.repeat(x, len(x)), np.tile(x, len(x)))


@pytest.mark.parametrize("target", ["int8", "uint8", "int32", "int64", "uint32", "bool", "float16"])
@pytest.mark.parametrize("source", ["float32", "float64", "float16", "bfloat16"])
def test_floats_are_converted_as_xla_does(source: str, target: str) -> None:
    with np.errstate(over="ignore"):
        x = FLOATS.astype(source)
    assert_same(lambda x: lax.convert_element_type(x, target), x)


ONE_OPERAND = [lax.sign, lax.round, lax.floor, lax.ceil, lax.is_finite, lax.abs, lax.neg]
ONE_OPERAND += [lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN)]
ONE_OPERAND += [lambda x: lax.reduce_precision(x, 8, 7), lambda x: lax.integer_pow(x, 3)]
ONE_OPERAND += [lambda x: lax.sort(x), lambda x: lax.argmax(x, 0, np.int32)]
ONE_OPERAND += [lambda x: lax.top_k(x, 4), lambda x: lax.cummax(x[2:]), lambda x: lax.rev(x, (0,))]
ONE_OPERAND += [lambda x: lax.clamp(np.float32(-1), x, np.float32(2))]
ONE_OPERAND += [lambda x: lax.max(x, jnp.flip(x)), lambda x: lax.reduce_max(x, (0,))]
ONE_OPERAND += [lambda x: lax.bitcast_convert_type(x, np.int32) >> 3]
ONE_OPERAND += [lambda x: lax.bitcast_convert_type(x, np.uint8), lambda x: x[:0].sum()]
ONE_OPERAND += [lambda x: x[:0].max(initial=3.0), lambda x: x.reshape(2, 7).any(1)]


@pytest.mark.parametrize("function", ONE_OPERAND)
def test_special_floats(function: Callable) -> None:
    assert_same(function, FLOATS)


@pytest.mark.parametrize(
    "name", sorted({*special_functions._WITHOUT_SCIPY, *special_functions._AT_ONCE})
)
def test_single_precision_needs_no_scipy(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    limit = 1.0 if name == "erf_inv" else 40.0
    tiny = 10.0 ** rng.uniform(-38, 0, 500)
    near_roots = [1.4616321 + 1e-5 * tiny, 2 + 1e-5 * tiny]
    x = np.concatenate([FLOATS, tiny, -tiny, rng.uniform(-limit, limit, 2000), *near_roots])
    x = x.astype(np.float32)
    function = getattr(lax, name)
    (mine,) = interpreted(function, x)
    monkeypatch.setattr(special_functions, "_MAX_WITHOUT_SCIPY", -1)
    (exact,) = interpreted(function, x.astype(np.float64))
    np.testing.assert_allclose(mine, exact.astype(np.float32), rtol=2e-7)


def test_erf_in_single_precision_is_the_c_library_s() -> None:
    rng = np.random.default_rng(0)
    size = special_functions._BLOCK
    places = (np.arange(400) + 0.5) / 64
    tiny = 10.0 ** rng.uniform(-40, 0, size)
    x = np.concatenate([FLOATS, places, -places, tiny, -tiny, 2 * rng.standard_normal(3 * size)])
    x = x.astype(np.float32)
    with np.errstate(all="ignore"):
        (mine,) = interpreted(lax.erf, x)
    exact = np.array(list(map(math.erf, x.tolist()))).astype(np.float32)
    np.testing.assert_array_equal(mine, exact)
    np.testing.assert_array_equal(np.signbit(mine), np.signbit(exact))


@pytest.mark.parametrize(
    "config",
    [[(1, 2, 0), (0, 0, 3)], [(-1, 3, 2), (2, -3, 0)], [(-2, -3, 1), (0, -5, 0)], [(0, 0, 0)] * 2],
)
def test_padding_with_negative_sizes_and_between(config: list) -> None:
    assert_same(lambda x: lax.pad(x, np.float32(7), config), MATRIX)


ROWS = np.array([[3], [-1], [9], [0], [3]], np.int32)


@pytest.mark.parametrize("dtype", ["float32", "bool", "int64", "complex64", "bfloat16"])
@pytest.mark.parametrize(
    ("shape", "target", "dims"),
    [
        ((), (3, 2), ()),
        ((3,), (2, 3), (1,)),
        ((3,), (3, 2), (0,)),
        ((1, 3), (4, 3), (0, 1)),
        ((2, 1, 3), (2, 5, 4, 3), (0, 2, 3)),
        ((0, 1), (0, 4), (0, 1)),
        ((1,), (0,), (0,)),
    ],
)
def test_broadcasting(shape: tuple, target: tuple, dims: tuple, dtype: str) -> None:
    array = np.arange(math.prod(shape)).reshape(shape).astype(jnp.dtype(dtype))
    wide = np.zeros((*shape, 2), array.dtype)
    wide[..., 0] = array
    for operand in (array, wide[..., 0]):  # of which the latter does not lie row by row
        assert_same(lambda x: lax.broadcast_in_dim(x, target, dims), operand)


@pytest.mark.parametrize("mode", ["clip", "fill", "promise_in_bounds"])
@pytest.mark.parametrize("axis", [0, 1])
def test_gathering(mode: str, axis: int) -> None:
    rows = np.clip(ROWS, 0, 3) if mode == "promise_in_bounds" else ROWS
    assert_same(
        lambda x, i: jnp.take(
            x, i, axis=axis, mode="clip" if mode == "promise_in_bounds" else mode
        ),
        MATRIX,
        rows,
    )
    assert_same(lambda x, i: x.at[i[:, 0], i[::-1, 0]].get(mode=mode), MATRIX, rows)
    assert_same(lambda x, i: jnp.take_along_axis(x, i, axis=0, mode=mode), MATRIX, rows)
    assert_same(lambda x: lax.dynamic_slice(x, (2, -7), (3, 2)), MATRIX)


@pytest.mark.parametrize("mode", ["clip", "drop"])
@pytest.mark.parametrize("how", ["set", "add", "multiply", "max", "min"])
@pytest.mark.parametrize("least", [0, 1024])
def test_scattering(mode: str, how: str, least: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexing, "_MANY", least)

    def write(x: Any, i: Any) -> Any:
        at = x.at[i[:, 0], 1:4]
        return getattr(at, how)(jnp.arange(15.0, dtype=x.dtype).reshape(5, 3), mode=mode)

    assert_same(write, MATRIX, ROWS)
    assert_same(write, MATRIX.astype(np.int64), ROWS)
    assert_same(lambda x: lax.dynamic_update_slice(x, x[:2, :2] * 0, (3, -1)), MATRIX)


def test_many_elements_are_scattered_by_their_place_in_memory() -> None:
    """NumPy has a quick loop for one index of numbers; it takes five times as long for tuples."""
    seen = []

    class Combine:
        @staticmethod
        def at(result: np.ndarray, index: np.ndarray, updates: np.ndarray) -> None:
            seen.append((result.ndim, index.ndim, updates.ndim))
            np.add.at(result, index, updates)

    rows, columns = np.arange(40)[:, None] % 3, np.arange(50)
    found, expected, updates = np.zeros((3, 60)), np.zeros((3, 60)), np.ones((40, 50))
    indexing.combine_at(Combine, found, (rows, columns), updates)
    np.add.at(expected, (rows, columns), updates)
    assert seen == [(1, 1, 1)]
    assert np.array_equal(found, expected)


CONVOLUTIONS = [
    {"window_strides": (1, 1), "padding": "SAME"},
    {"window_strides": (2, 1), "padding": [(1, 0), (-1, 2)], "rhs_dilation": (1, 2)},
    {"window_strides": (1, 2), "padding": [(0, 0), (1, 0)], "lhs_dilation": (2, 3)},
    {"window_strides": (1, 1), "padding": [(1, 2), (-2, 3)], "lhs_dilation": (2, 3)},
    {
        "window_strides": (1, 1),
        "padding": [(-1, 0), (4, 1)],
        "lhs_dilation": (3, 1),
        "rhs_dilation": (1, 2),
        "feature_group_count": 2,
    },
    {
        "window_strides": (1, 1),
        "padding": [(0, -9), (0, 0)],
        "lhs_dilation": (2, 1),
        "dimension_numbers": ("CHWN", "HWOI", "HWNC"),
    },
    {"window_strides": (1, 1), "padding": "SAME", "feature_group_count": 2},
    {"window_strides": (1, 1), "padding": "VALID", "batch_group_count": 2},
    {"window_strides": (1, 1), "padding": "SAME", "dimension_numbers": ("CHWN", "HWOI", "HWNC")},
]


@pytest.mark.parametrize("options", CONVOLUTIONS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_convolutions(options: dict, dtype: str) -> None:
    rng = np.random.default_rng(1)
    groups = options.get("feature_group_count", 1)
    x = rng.integers(-4, 5, (2, 4, 7, 6)).astype(dtype)
    kernel = rng.integers(-4, 5, (6, 4 // groups, 3, 2)).astype(dtype)
    if "dimension_numbers" in options:
        x, kernel = x.transpose(1, 2, 3, 0), kernel.transpose(2, 3, 0, 1)
    for count in (2, 0):
        batch = x[..., :count] if "dimension_numbers" in options else x[:count]
        assert_same(lambda x, k: lax.conv_general_dilated(x, k, **options), batch, kernel)


@pytest.mark.parametrize(("stride", "dilation"), [(1, 1), (2, 1), (1, 2), (3, 2)])
@pytest.mark.parametrize("is_last", [False, True])
def test_adjoints_read_the_kernel_as_it_lies(stride: int, dilation: int, is_last: bool) -> None:
    """To copy the kernel of many features takes far longer than a convolution of few places."""
    dims = (1, 2) if is_last else (2, 3)
    window = Window(dims, (stride,) * 2, ((1, 1), (1, 1)), (dilation,) * 2, 1)
    rng = np.random.default_rng(1)
    y = rng.integers(-4, 5, (2, 2, 2, 96) if is_last else (2, 96, 2, 2)).astype(np.float32)
    weight = rng.integers(-4, 5, (96, 64, 3, 3)).astype(np.float32)
    size = (stride + 2 * dilation - 1,) * 2
    adjoint = functools.partial(convolve_input_adjoint, size=size, window=window)
    assert_same(adjoint, y, weight)
    closed = jax.make_jaxpr(adjoint)(y, weight)
    function = NumpyFunction(Trace(closed.jaxpr, closed.consts))
    tracemalloc.start()
    function(y, weight)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < weight.nbytes


def test_products_of_any_dimensions() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.integers(-9, 9, (2, 3, 4, 5)), rng.integers(-9, 9, (5, 3, 6, 2))
    for dtype in ("int8", "int64", "float32", "bfloat16"):
        numbers = (((3,), (0,)), ((0, 1), (3, 1)))
        assert_same(lambda a, b: lax.dot_general(a, b, numbers), x.astype(dtype), y.astype(dtype))  # noqa: B023
    assert_same(lambda a, b: lax.dot_general(a, b, (((), ()), ((), ()))), x[0, 0], y[0])
    assert_same(lambda a: a[:0].T @ a[:0], x[0, 0].astype(np.float32))


def test_windows() -> None:
    x = np.where(MATRIX == 7, np.nan, MATRIX)
    for kind, start in ((lax.max, -np.inf), (lax.add, 0.0), (lax.min, np.inf)):
        padding = [(1, 0), (0, 2)]
        start = np.float32(start)
        assert_same(
            lambda x: lax.reduce_window(x, start, kind, (2, 3), (1, 2), padding, None, (2, 1)),  # noqa: B023
            x,
        )


def test_loops_and_branches() -> None:
    def running(x: Any) -> Any:
        carried, made = lax.scan(lambda c, r: (c + r, c * r), jnp.zeros(5, x.dtype), x)
        back, _ = lax.scan(lambda c, r: (c * 2 - r, None), carried, x, reverse=True)
        return made, lax.while_loop(lambda s: s.sum() < 1e4, lambda s: s * 3, back**2)

    assert_same(running, MATRIX)
    assert_same(lambda x: lax.cond(x.sum() > 0, jnp.sin, jnp.negative, x), -MATRIX)
    assert_same(
        lambda x: lax.switch(x[0].astype(int), [lambda v: v, lambda v: v * 2], x), MATRIX[1]
    )


def test_arrays_without_elements_and_without_dimensions() -> None:
    empty, scalar = MATRIX[:, :0], np.float32(-2.5)
    assert_same(lambda x: (x * 2, x.sum(1), x.T, jnp.sort(x, 0), x.max(0)), empty)
    assert_same(lambda x: (x.astype(int), x.sum(), jnp.where(x > 0, x, 1), x[None]), scalar)


def test_sorting_several_arrays() -> None:
    keys = np.array([[3.0, np.nan, -0.0, 0.0], [2.0, 2.0, -np.inf, 2.0]], np.float32)
    payload = np.arange(8).reshape(2, 4)
    for count in (1, 2):
        assert_same(lambda k, p: lax.sort((k, p), num_keys=count), keys, payload)  # noqa: B023


def test_what_has_no_rule_is_not_interpreted() -> None:
    with pytest.raises(UnsupportedEquation, match="zeta"):
        interpreted(lax.zeta, np.float32([2, 3]), np.float32([1, 2]))
    with pytest.raises(ValueError, match="there already is a rule for JAX's primitive `add`"):
        rule("add")(RULES["add"])


@pytest.mark.parametrize("shape", [(), (0,), (5, 3), (2**14 + 3,), (3, 2**14)])
def test_random_words(shape: tuple[int, ...]) -> None:
    index = np.arange(np.prod(shape, dtype=int), dtype=np.uint32).reshape(shape) * 77
    words = np.uint32([0x243F6A88, 1, 0xFFFFFFFF, 0xA4093822])
    assert_same(lambda i, w: philox((i, w[0], i, w[1]), (w[2], w[3])), index, words)
    assert_same(lambda i, w: philox((w[0], w[1], w[2], i), (w[3], w[0])), index, words)


def test_a_gradient_of_a_dropout_draws_no_words_again(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []
    compute = random_bits._random_bits

    def count(*operands: Any) -> Any:
        drawn.append(len(operands))
        return compute(*operands)

    monkeypatch.setattr(random_bits, "_random_bits", count)
    flow.manual_seed(982_451_653)  # no other test has drawn its words
    with eager_mode("cold"):
        x = flow.ones(11, 4099, requires_grad=True)
        y = F.dropout(x, 0.5)
        y.sum().backward()
        assert x.grad is not None
        np.testing.assert_array_equal(x.grad.numpy(), y.numpy())
    assert len(drawn) == -(-11 * 4099 // random_bits._BLOCK)


def test_loops_of_a_batch_end_one_after_the_other() -> None:
    def doubled(start: Any) -> Any:
        return lax.while_loop(lambda s: s[0] < 1e3, lambda s: (s[0] * 2, s[1] + 1), (start, 0))

    assert_same(jax.vmap(doubled), np.array([1.0, 5e3, 300.0, 7.0], np.float32))
