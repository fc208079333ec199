"""Arithmetic is exact to the last bit and functions to a few units in the last place.

That holds operator by operator and for whole programs, in small arrays and in ones that are
computed in vectors. Fused multiply-adds are allowed; other rewriting of what was written is not.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch

import oneflow as flow
from tests.oracle import eager_mode

# Less than a vector; and more than any, and no multiple of one.
SMALL, LARGE = 3, 1031
FLOATS = (np.float32, np.float64)

in_turn = pytest.mark.one_in(3)
in_each_mode = pytest.mark.parametrize("mode", ["cold", pytest.param("compiled", marks=in_turn)])
in_each_run = pytest.mark.parametrize(
    ("mode", "size"),
    [
        ("cold", LARGE),
        pytest.param("compiled", SMALL, marks=in_turn),
        pytest.param("compiled", LARGE, marks=in_turn),
    ],
)
of_each_float = pytest.mark.parametrize("dtype", FLOATS)


def _uniform(low: float, high: float, size: int, dtype: Any = np.float32) -> np.ndarray:
    return np.random.default_rng(size).uniform(low, high, size).astype(dtype)


def _of_every_size(low: float, high: float, size: int, dtype: Any) -> np.ndarray:
    """Positive numbers spread over the orders of magnitude from `low` to `high`."""
    return np.exp(_uniform(np.log(low), np.log(high), size, np.float64)).astype(dtype)


def _agree(mine: np.ndarray, expected: np.ndarray, name: str = "") -> None:
    """Equal to the last bit, the sign of 0 included."""
    np.testing.assert_array_equal(mine, expected, name)
    numbers = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(mine)[numbers], np.signbit(expected)[numbers], name)


# --- division

Divide = Callable[[Any, Any, Any], Any]
# Divisions of x, a tensor; y, one that is broadcast; n, a number.
DIVISIONS: dict[str, Divide] = {
    "by a row": lambda x, y, n: x / y,
    "by a column": lambda x, y, n: x / x[:, :1],
    "by a number": lambda x, y, n: x / n,
    "of a number": lambda x, y, n: n / x,
    "by a power of two": lambda x, y, n: x / type(n)(0.25),
    "twice": lambda x, y, n: x / y / n,
    "by a quotient": lambda x, y, n: x / (y / n),
    "of quotients": lambda x, y, n: (x / y) / (y / n),
    "by a root": lambda x, y, n: x / y**0.5,
    "with itself": lambda x, y, n: x / x,
}


@dataclass(frozen=True)
class Operands:
    """The operands of divisions, of the three shapes."""

    x: np.ndarray
    y: np.ndarray
    number: float


def _operands(size: int, dtype: Any) -> Operands:
    columns = 3 if size < 100 else 131
    x = _uniform(1, 100, (size // columns) * columns, dtype).reshape(-1, columns)
    # A rounding too many shows in what `floor` makes of whole quotients.
    y = _uniform(1, 100, columns, dtype)
    x[0] = y
    return Operands(x, y, 52.25)


@of_each_float
@in_each_run
def test_quotients_are_rounded_once(mode: str, size: int, dtype: Any) -> None:
    given = _operands(size, dtype)
    with eager_mode(mode):
        operands = flow.tensor(given.x), flow.tensor(given.y), given.number
        made = {name: divide(*operands) for name, divide in DIVISIONS.items()}
        read = {name: tensor.numpy() for name, tensor in made.items()}
    for name, divide in DIVISIONS.items():
        _agree(read[name], divide(given.x, given.y, dtype(given.number)), name)


@of_each_float
@in_each_mode
def test_what_is_made_whole_of_a_quotient_is_right(mode: str, dtype: Any) -> None:
    given = _operands(1031, dtype)
    whole = np.trunc(given.x / given.y)
    with eager_mode(mode):
        x, y = flow.tensor(given.x), flow.tensor(given.y)
        made = {
            "trunc": flow.div(x, y, rounding_mode="trunc"),
            "floor of the quotient": flow.floor(x / y),
            "long": (x / y).long(),
            "of a number": flow.floor(flow.full_like(x, 52.25) / 52.25),
        }
        read = {name: tensor.numpy() for name, tensor in made.items()}
    for name in ("trunc", "floor of the quotient", "long"):
        np.testing.assert_array_equal(read[name], whole, name)
    assert (read["of a number"] == 1).all()


class _Quotient(flow.nn.Graph):
    """A division whose divisor is broadcast and one whose divisor is a constant."""

    def build(self, x, y):
        return x / y, flow.floor(x / 49)


def test_graphs_divide_alike_and_saved_ones(tmp_path) -> None:
    given = _operands(1031, np.float32)
    operands = flow.tensor(given.x), flow.tensor(given.y)
    graph = _Quotient()
    results = [graph(*operands)]
    graph.save(tmp_path / "graph")
    results.append(flow.nn.Graph.load(tmp_path / "graph")(*operands))
    for quotient, whole in results:
        _agree(quotient.numpy(), given.x / given.y)
        _agree(whole.numpy(), np.floor(given.x / np.float32(49)))


@in_each_mode
def test_gradients_divide_alike(mode: str) -> None:
    given = _operands(1031, np.float32)
    with eager_mode(mode):
        x, y = flow.tensor(given.x, requires_grad=True), flow.tensor(given.y)
        slopes = np.flip(given.x).copy()
        (x / y).backward(flow.tensor(slopes))
        assert x.grad is not None
        _agree(x.grad.numpy(), slopes / given.y)


# Operators that divide within: what must come out of equal numbers.
AVERAGES: dict[str, tuple[Callable, float]] = {
    "mean": (lambda x: x.mean(0), 1.0),
    "mean of all": (lambda x: x.mean(), 1.0),
    "nanmean": (lambda x: x.nanmean(0), 1.0),
    "avg_pool1d": (lambda x: flow.nn.functional.avg_pool1d(x.T[None], 49), 1.0),
    "adaptive_avg_pool1d": (lambda x: flow.nn.functional.adaptive_avg_pool1d(x.T[None], 1), 1.0),
    "normalize": (lambda x: flow.nn.functional.normalize(x[:1] * 52.25, dim=0), 1.0),
    "var": (lambda x: x.var(0), 0.0),
    "layer_norm": (lambda x: flow.nn.functional.layer_norm(x, (5,)), 0.0),
    "mse_loss": (lambda x: flow.nn.functional.mse_loss(x, x * 0), 1.0),
    "histc": (lambda x: flow.histc(x * 7, 49, 0, 49)[7] / (5 * 49), 1.0),
}


@in_each_mode
def test_averages_of_equal_numbers_are_that_number(mode: str) -> None:
    with eager_mode(mode):
        x = flow.ones(49, 5)
        made = {name: average(x) for name, (average, _) in AVERAGES.items()}
        for name, (_, expected) in AVERAGES.items():
            assert (made[name].numpy() == expected).all(), name


# --- programs: what is written is what is computed

Step = Callable[[dict], Any]
BIG, TINY = 1e30, 1e-30
# Steps in turn; each sees the results before it by their numbers.
PROGRAMS: dict[str, list[Step]] = {
    "(x + c) - c": [lambda v: v["x"] + 1e8, lambda v: v[0] - 1e8],
    "(x + c) + d": [lambda v: v["x"] + 1e8, lambda v: v[0] + -1e8],
    "(c - x) + d": [lambda v: 1e8 - v["x"], lambda v: v[0] + -1e8],
    "(x * c) * d": [lambda v: v["x"] * BIG, lambda v: v[0] * BIG, lambda v: v[1] * TINY],
    "(x / c) / d": [lambda v: v["x"] / BIG, lambda v: v[0] / BIG, lambda v: v[1] * BIG],
    "(x + y) - y": [lambda v: v["x"] + v["large"], lambda v: v[0] - v["large"]],
    "x + (y - x)": [lambda v: v["y"] - v["x"], lambda v: v["x"] + v[0]],
    "x - (x - y)": [lambda v: v["x"] - v["y"], lambda v: v["x"] - v[0]],
    "(x * y) / y": [lambda v: v["x"] * v["y"], lambda v: v[0] / v["y"]],
    "(x / y) * y": [lambda v: v["x"] / v["y"], lambda v: v[0] * v["y"]],
    "sqrt(x * x)": [lambda v: v["x"] * BIG, lambda v: v[0] * v[0], lambda v: abs(v[1]) ** 0.5],
    "sqrt(y) * sqrt(y)": [lambda v: v["y"] ** 0.5, lambda v: v[0] * v[0]],
    "x / sqrt(y)": [lambda v: v["y"] ** 0.5, lambda v: v["x"] / v[0]],
    "1 / sqrt(y)": [lambda v: v["y"] ** 0.5, lambda v: 1 / v[0]],
    "nan - nan": [lambda v: v["odd"] - v["odd"]],
    "nan / nan": [lambda v: v["odd"] / v["odd"]],
    "nan * 0": [lambda v: v["odd"] * 0],
    "0 + -0": [lambda v: v["zero"] + abs(v["zero"])],
    "0 - 0": [lambda v: 0.0 - v["zero"]],
    "x / -0": [lambda v: v["x"] / v["zero"]],
}


@pytest.mark.parametrize(
    ("mode", "size"),
    [("cold", LARGE), ("compiled", SMALL), ("compiled", LARGE), ("graph", LARGE)],
)
def test_programs_compute_what_is_written(mode: str, size: int) -> None:
    arrays = {
        "x": _uniform(-3, 3, size),
        "y": _uniform(0.1, 60, size),
        "large": _uniform(1e8, 2e8, size),
        "odd": np.resize(np.array([np.nan, np.inf, -np.inf, 1.5], np.float32), size),
        "zero": np.resize(np.array([0.0, -0.0], np.float32), size),
    }
    with np.errstate(all="ignore"):
        expected = _run_all(arrays)
    tensors = {key: flow.tensor(array) for key, array in arrays.items()}
    # The numbers of a graph are constants, of which XLA makes more.
    run = _Programs(list(tensors)) if mode == "graph" else lambda *_: _run_all(tensors)
    with eager_mode("compiled" if mode == "graph" else mode):
        results = [tensor.numpy() for tensor in run(*tensors.values())]
    for name, mine, theirs in zip(PROGRAMS, results, expected, strict=True):
        _agree(mine, theirs, name)


def _run_all(named: dict[str, Any]) -> list[Any]:
    """The results of all programs."""
    results = []
    for steps in PROGRAMS.values():
        values: dict[Any, Any] = dict(named)
        for number, step in enumerate(steps):
            values[number] = step(values)
        results.append(values[len(steps) - 1])
    return results


class _Programs(flow.nn.Graph):
    """The programs as one graph."""

    def __init__(self, names: list[str]) -> None:
        super().__init__()
        self.names = names

    def build(self, *tensors):
        return _run_all(dict(zip(self.names, tensors, strict=True)))


def test_exponentials_and_logarithms_do_not_cancel() -> None:
    x = flow.tensor([-200.0, 0.5, 200.0])
    with eager_mode("compiled"):
        _agree(flow.log(flow.exp(x)).numpy()[[0, 2]], np.array([-np.inf, np.inf], np.float32))
        assert np.isnan((flow.exp(x) / flow.exp(x)).numpy()[[0, 2]]).all()
        assert np.isnan((flow.exp(x) * flow.exp(-x)).numpy()[[0, 2]]).all()


@in_each_run
def test_larger_and_smaller_know_nan(mode: str, size: int) -> None:
    odd = np.resize(np.array([np.nan, 1.0, -0.0, np.inf], np.float32), size)
    with eager_mode(mode):
        x, zero = flow.tensor(odd), flow.zeros(size)
        for mine, expected in (
            (flow.maximum(x, zero), np.maximum(odd, 0)),
            (flow.minimum(zero, x), np.minimum(odd, 0)),
            (flow.fmax(x, zero), np.fmax(odd, 0)),
            (flow.relu(x), np.maximum(odd, 0)),
            (x.clamp(0.0, 2.0), np.clip(odd, 0, 2)),
        ):
            np.testing.assert_array_equal(mine.numpy(), expected)


@in_each_run
def test_whole_numbers_divide_and_convert_as_in_pytorch(mode: str, size: int) -> None:
    whole = np.random.default_rng(0).integers(-50, 50, size)
    divisor = np.where(whole[::-1] == 0, 7, whole[::-1])
    floats = _uniform(-100, 100, size)
    a, b = torch.tensor(whole), torch.tensor(divisor.copy())
    with eager_mode(mode):
        x, y, z = flow.tensor(whole), flow.tensor(divisor.copy()), flow.tensor(floats)
        for mine, theirs in (
            (x // y, a // b),
            (x % y, a % b),
            (flow.fmod(x, y), torch.fmod(a, b)),
            (flow.div(x, y, rounding_mode="trunc"), torch.div(a, b, rounding_mode="trunc")),
            (x / y, a / b),
            (x // 8, a // 8),
            (z.long(), torch.tensor(floats).long()),
            (z.int(), torch.tensor(floats).int()),
        ):
            np.testing.assert_array_equal(mine.numpy(), theirs.numpy())


# Numbers that no integer is, and some are too small for; in 16 bits also infinite.
UNFIT = (np.nan, np.inf, -np.inf, 3e9, -3e9, 1e20, -1e20, 70000.0, 300.7, -300.7, -0.5, 200.0)


@pytest.mark.parametrize("source", ["float16", "bfloat16", "float32", "float64"])
@in_each_run
def test_floats_that_an_integer_type_cannot_hold(mode: str, size: int, source: str) -> None:
    with eager_mode(mode):
        for start in range(0, len(UNFIT), SMALL):
            floats = np.resize(np.roll(UNFIT, -start), size)
            x, y = (lib.tensor(floats, dtype=getattr(lib, source)) for lib in (flow, torch))
            for target in ("int8", "uint8", "int16", "int32", "int64", "bool"):
                mine, theirs = x.to(getattr(flow, target)), y.to(getattr(torch, target))
                np.testing.assert_array_equal(mine.numpy(), theirs.numpy(), target)


# --- functions of one number


@dataclass(frozen=True)
class Function:
    """A function, where it is tried and how far off it may be.

    Attributes:
        reference: NumPy's in long double, or PyTorch's in float64 (float32 only).
        samples: ``(size, dtype) -> numbers``.
        ulp: tolerated units in the last place, of float32 and float64.
    """

    reference: Callable
    samples: Callable[[int, Any], np.ndarray]
    ulp: tuple[float, float | None]


def _between(low: float, high: float) -> Callable[[int, Any], np.ndarray]:
    return lambda size, dtype: _uniform(low, high, size, dtype)


def _magnitudes(low: float, high: float) -> Callable[[int, Any], np.ndarray]:
    return lambda size, dtype: _of_every_size(low, high, size, dtype)


def _torch(name: str) -> Callable:
    function = getattr(torch, name)
    return lambda x: function(torch.tensor(x.astype(np.float64))).numpy()


FUNCTIONS = {
    "sqrt": Function(np.sqrt, _magnitudes(1e-37, 1e37), (0.5, 0.5)),
    "rsqrt": Function(lambda x: 1 / np.sqrt(x), _magnitudes(1e-37, 1e37), (2, 2)),
    "reciprocal": Function(lambda x: 1 / x, _magnitudes(1e-37, 1e37), (0.5, 0.5)),
    "exp": Function(np.exp, _between(-87, 88), (1, 2)),
    "exp2": Function(np.exp2, _between(-126, 127), (1.5, 1.5)),
    "expm1": Function(np.expm1, _between(-20, 20), (6, 4)),
    "log": Function(np.log, _magnitudes(1e-37, 1e37), (1, 1)),
    "log2": Function(np.log2, _magnitudes(1e-37, 1e37), (2, 2)),
    "log10": Function(np.log10, _magnitudes(1e-37, 1e37), (2, 3)),
    "log1p": Function(np.log1p, _magnitudes(1e-10, 1e10), (3, 3)),
    "tanh": Function(np.tanh, _between(-9, 9), (5, 6)),
    "sigmoid": Function(lambda x: 1 / (1 + np.exp(-x)), _between(-80, 30), (3, 3)),
    "sin": Function(np.sin, _between(-100, 100), (1, 1)),
    "cos": Function(np.cos, _between(-100, 100), (1, 1)),
    "tan": Function(np.tan, _between(-100, 100), (1, 1.5)),  # 1 with XLA's optimizations
    "asin": Function(np.arcsin, _between(-1, 1), (2, 2)),
    "acos": Function(np.arccos, _between(-1, 1), (2, 2)),
    "atan": Function(np.arctan, _between(-20, 20), (2, 2.5)),
    "sinh": Function(np.sinh, _between(-80, 80), (4, 4)),
    "cosh": Function(np.cosh, _between(-80, 80), (4, 4)),
    "asinh": Function(np.arcsinh, _between(-80, 80), (3, 3)),
    "acosh": Function(np.arccosh, _between(1.001, 80), (4, 4)),
    "atanh": Function(np.arctanh, _between(-1, 1), (3, 3)),
    "erf": Function(_torch("erf"), _between(-4, 4), (6, None)),
    "erfc": Function(_torch("erfc"), _between(-4, 8), (40, None)),
    "erfinv": Function(_torch("erfinv"), _between(-0.99, 0.99), (8, None)),
    "lgamma": Function(_torch("lgamma"), _between(3, 100), (25, None)),
    "digamma": Function(_torch("digamma"), _between(2, 100), (12, None)),
}


def _computed(names: Iterable[str], mode: str, samples: Callable) -> dict[str, np.ndarray]:
    """The results of functions of ``samples(name)``, all in one program."""
    with eager_mode(mode):
        made = {name: getattr(flow, name)(flow.tensor(samples(name))) for name in names}
        return {name: tensor.numpy() for name, tensor in made.items()}


@of_each_float
@in_each_run
def test_functions_are_exact_to_a_few_units(mode: str, size: int, dtype: Any) -> None:
    place = FLOATS.index(dtype)
    tried = {name: row for name, row in FUNCTIONS.items() if row.ulp[place] is not None}
    samples = {name: function.samples(size, dtype) for name, function in tried.items()}
    for name, mine in _computed(tried, mode, samples.__getitem__).items():
        expected = tried[name].reference(samples[name].astype(np.longdouble))
        off = np.abs(mine - expected) / np.spacing(np.abs(expected.astype(dtype)))
        worst = off.argmax()
        assert off[worst] <= tried[name].ulp[place] + 1e-3, (name, samples[name][worst], off[worst])


@in_each_mode
def test_powers_of_the_base_are_exact(mode: str) -> None:
    with eager_mode(mode):
        for dtype in FLOATS:
            whole = np.arange(-120, 121).astype(dtype)
            tens = np.arange(-10, 11).astype(dtype)
            powers = np.array([float(f"1e{int(tensor)}") for tensor in tens], dtype)
            _agree(flow.exp2(flow.tensor(whole)).numpy(), dtype(2) ** whole)
            _agree(flow.log2(flow.tensor(dtype(2) ** whole)).numpy(), whole)
            _agree(flow.log10(flow.tensor(powers)).numpy(), tens)


SPECIAL = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 3e38, -3e38, 0.5]


@in_each_mode
def test_functions_know_special_numbers(mode: str) -> None:
    x = np.resize(np.array(SPECIAL, np.float32), LARGE)
    for name, mine in _computed(FUNCTIONS, mode, lambda _: x).items():
        expected = getattr(torch, name)(torch.tensor(x)).numpy()
        np.testing.assert_allclose(mine, expected, rtol=1e-5, atol=1e-5, err_msg=name)


HALVES = [
    *FUNCTIONS,
    "square",
    "nn.functional.silu",
    "nn.functional.softplus",
    "nn.functional.gelu",
]


@in_each_mode
@pytest.mark.parametrize("dtype", [flow.float16, flow.bfloat16], ids=str)
def test_half_precision_is_rounded_once_from_single(dtype: flow.dtype, mode: str) -> None:
    with eager_mode(mode):
        made = []
        for name in HALVES:
            function = operator.attrgetter(name)(flow)
            x = flow.tensor(_uniform(*((1, 2) if name == "acosh" else (-1, 1)), LARGE)).to(dtype)
            made.append((name, function(x).float(), function(x.float()).to(dtype).float()))
        for name, mine, expected in made:
            np.testing.assert_array_equal(mine.numpy(), expected.numpy(), name)
