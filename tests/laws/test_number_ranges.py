"""Numbers that the integers of a tensor cannot be: every function refuses them as PyTorch does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import oneflow as flow

NAN, INF = float("nan"), float("inf")
NUMBERS = [-1, -129, -300, 128, 255, 255.5, 256, 300.0, 2**31, 2**63, -(2**63), NAN, INF, -INF, 2.5]


def zeros(f: Any, dtype: Any, *shape: int) -> Any:
    return f.zeros(shape, dtype=dtype)


def ones(f: Any, dtype: Any, *shape: int) -> Any:
    return f.ones(shape, dtype=dtype)


def written(f: Any, dtype: Any, index: Callable[[Any], Any], number: float) -> Any:
    x = zeros(f, dtype, 2)
    x[index(x)] = number
    return x


# Functions of a framework, a dtype and a number that a tensor of this dtype is to hold.
CALLS: dict[str, Callable[[Any, Any, float], Any]] = {
    "tensor": lambda f, d, n: f.tensor([n], dtype=d),
    "full": lambda f, d, n: f.full((2,), n, dtype=d),
    "full_like": lambda f, d, n: f.full_like(zeros(f, d, 2), n),
    "new_full": lambda f, d, n: zeros(f, d, 2).new_full((2,), n),
    "linspace": lambda f, d, n: f.linspace(n, n, 2, dtype=d),
    "fill_": lambda f, d, n: zeros(f, d, 2).fill_(n),
    "fill_diagonal_": lambda f, d, n: zeros(f, d, 2, 2).fill_diagonal_(n),
    "masked_fill": lambda f, d, n: zeros(f, d, 2).masked_fill(f.tensor([True, False]), n),
    "index_fill": lambda f, d, n: zeros(f, d, 2).index_fill(0, f.tensor([0]), n),
    "scatter": lambda f, d, n: zeros(f, d, 2).scatter(0, f.tensor([0]), n),
    "x[0] =": lambda f, d, n: written(f, d, lambda x: 0, n),
    "x[mask] =": lambda f, d, n: written(f, d, lambda x: x < 1, n),
    "x[list] =": lambda f, d, n: written(f, d, lambda x: [0], n),
    "clamp": lambda f, d, n: zeros(f, d, 2).clamp(0, n),
    "clamp_min": lambda f, d, n: zeros(f, d, 2).clamp(min=n),
    "clamp_max_": lambda f, d, n: zeros(f, d, 2).clamp_max_(n),
    "where": lambda f, d, n: f.where(f.tensor([True, False]), zeros(f, d, 2), n),
    "where, first": lambda f, d, n: f.where(f.tensor([True, False]), n, zeros(f, d, 2)),
    "threshold": lambda f, d, n: f.nn.functional.threshold(zeros(f, d, 2), 1, n),
    "hardtanh": lambda f, d, n: f.nn.functional.hardtanh(zeros(f, d, 2), 0, n),
    "add": lambda f, d, n: ones(f, d, 2).add(zeros(f, d, 2), alpha=n),
    "sub": lambda f, d, n: ones(f, d, 2).sub(zeros(f, d, 2), alpha=n),
    "addcmul": lambda f, d, n: ones(f, d, 2).addcmul(zeros(f, d, 2), zeros(f, d, 2), value=n),
    "pow": lambda f, d, n: (ones(f, d, 2) * 3).pow(n),
    "floor_divide": lambda f, d, n: (ones(f, d, 2) * 100).floor_divide(n),
    "remainder": lambda f, d, n: (ones(f, d, 2) * 100).remainder(n),
    "index_add": lambda f, d, n: ones(f, d, 2).index_add(0, f.tensor([0]), zeros(f, d, 1), alpha=n),
    "pad": lambda f, d, n: f.nn.functional.pad(zeros(f, d, 2), (0, 1), value=n),
    "pad_sequence": lambda f, d, n: f.nn.utils.rnn.pad_sequence(
        [zeros(f, d, 2), zeros(f, d, 1)], padding_value=n
    ),
}


def outcome(f: Any, call: Callable[..., Any], dtype: str, number: float) -> Any:
    try:
        result = call(f, getattr(f, dtype), number)
    except (RuntimeError, ValueError, TypeError):
        return "refused"
    return str(result.dtype).rpartition(".")[2], str(result.tolist())


def may_differ(name: str, dtype: str, number: float) -> bool:
    """True where PyTorch has a rule that holds for this function alone."""
    if dtype == "bool":
        return name in ("linspace", "threshold", "addcmul") or number == 2**63
    if name == "sub":
        return number == -(2**63)  # which is negated
    if name == "hardtanh":
        return number == 255.5  # its fraction is cut off first
    if name.startswith("pad"):
        return number == 2**63 or (dtype == "uint8" and -255 <= number < 0)
    return number == 2**63 and dtype == "float32" and "=" in name  # made int64


def wraps_in_pytorch(name: str, dtype: str, number: float) -> bool:
    """True where PyTorch divides by another number, which is 0 to it for 256 in uint8."""
    if name not in ("floor_divide", "remainder") or dtype in ("bool", "float32"):
        return False
    limits = flow.iinfo(getattr(flow, dtype))
    return not limits.min <= number <= limits.max


@pytest.mark.parametrize("name", CALLS)
def test_numbers_out_of_range_are_refused(name: str) -> None:
    problems = []
    for dtype in ("uint8", "int8", "int32", "int64", "bool", "float32"):
        for number in NUMBERS:
            if may_differ(name, dtype, number):
                continue
            theirs = outcome(torch, CALLS[name], dtype, number)
            mine = outcome(flow, CALLS[name], dtype, number)
            if mine != theirs and not (mine == "refused" and wraps_in_pytorch(name, dtype, number)):
                problems.append(f"{name} of {number} in {dtype}: {mine}, PyTorch {theirs}")
    assert not problems, "\n".join(problems)


# Numbers of NumPy and tensors of one element are numbers, too.
WRAPPED: dict[str, Callable[[Any], Any]] = {
    "int64": lambda f: np.int64,
    "float64": lambda f: np.float64,
    "tensor": lambda f: f.tensor,
}
TAKE_TENSORS = (
    *("threshold", "hardtanh", "pad", "masked_fill", "index_fill", "full", "full_like", "new_full"),
    *("fill_", "fill_diagonal_", "add", "addcmul"),
)


@pytest.mark.parametrize("kind", WRAPPED)
@pytest.mark.parametrize("number", [3, 300, 2.5])
@pytest.mark.parametrize("dtype", ["uint8", "int64", "float32"])
def test_wrapped_numbers_are_refused_likewise(kind: str, number: float, dtype: str) -> None:
    def wrapped(name: str) -> Callable[..., Any]:
        return lambda f, d, n: CALLS[name](f, d, WRAPPED[kind](f)(n))

    names = TAKE_TENSORS if kind == "tensor" else ("x[0] =", "x[mask] =", "x[list] =")
    problems = []
    for name in names:
        mine, theirs = (outcome(f, wrapped(name), dtype, number) for f in (flow, torch))
        if mine != theirs:
            problems.append(f"{name}: {mine}, PyTorch {theirs}")
    assert not problems, "\n".join(problems)


FACTORS = {"uint8": 2, "int8": -127, "bool": True, "float32": 1.5, "complex64": 2j, "int64": 3}
SCALED: dict[str, Callable[..., Any]] = {
    "add": lambda f, x, n: f.add(x, x, alpha=n),
    "sub": lambda f, x, n: f.sub(x, x, alpha=n),
    "rsub": lambda f, x, n: f.rsub(x, x, alpha=n),
    "addr": lambda f, x, n: f.addr(x, x, x, alpha=n),
    "addr, beta": lambda f, x, n: f.addr(x, x, x, beta=n),
    "addcmul": lambda f, x, n: f.addcmul(x, x, x, value=n),
    "addcdiv": lambda f, x, n: f.addcdiv(x, x, x, value=n),
}


@pytest.mark.parametrize("name", SCALED)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "int16", "complex64"])
def test_factors_in_tensors_are_those_of_pytorch(name: str, dtype: str) -> None:
    def result(f: Any, number: float, kind: str) -> Any:
        x = f.tensor([10, 20], dtype=getattr(f, dtype))
        factor = f.tensor(number, dtype=getattr(f, kind))
        try:
            total = SCALED[name](f, x, factor)
        except (RuntimeError, NotImplementedError):
            return "refused"
        return str(total.dtype).rpartition(".")[2], total.tolist()

    problems = [
        f"{kind} {number}: {result(flow, number, kind)}, PyTorch {result(torch, number, kind)}"
        for kind, number in FACTORS.items()
        if result(flow, number, kind) != result(torch, number, kind)
    ]
    assert not problems, "\n".join(problems)


@pytest.mark.parametrize("name", ["add", "sub", "addcmul", "addmm"])
def test_factors_in_tensors_are_not_read(name: str) -> None:
    x = flow.tensor([[10.0, 20.0], [1.0, 2.0]])
    if name == "addmm":

        def call(number: Any) -> Any:
            return flow.addmm(x, x, x, beta=number, alpha=number)
    else:

        def call(number: Any) -> Any:
            return SCALED[name](flow, x, number)

    number = flow.tensor(3.0)
    assert _Graph(call)(number).tolist() == call(3.0).tolist()
    assert flow.func.vmap(call)(number.reshape(1))[0].tolist() == call(3.0).tolist()


class _Graph(flow.nn.Graph):
    def __init__(self, function: Callable[[Any], Any]) -> None:
        super().__init__()
        self.function = function

    def build(self, number: Any) -> Any:
        return self.function(number)


ONE_DEVICE = {"placement": flow.placement("cpu", [0]), "sbp": flow.sbp.broadcast}
# Places where a tensor cannot be read yet; each calls a function with it.
UNREADABLE: dict[str, Callable[[Callable, Any], Any]] = {
    "graph": lambda call, number: _Graph(call)(number),
    "vmap": lambda call, number: flow.func.vmap(call)(number.reshape(1)),
    "global": lambda call, number: call(number.to_global(**ONE_DEVICE)),
    "requires grad": lambda call, number: call(number.double().requires_grad_() * 1),
}
WRITE_TENSORS = (
    "masked_fill",
    "index_fill",
    "full_like",
    "fill_diagonal_",
    "x[mask] =",
    "x[list] =",
)


@pytest.mark.parametrize("number", [3, 300, -300, 2**40, NAN, INF])
@pytest.mark.parametrize("name", WRITE_TENSORS)
@pytest.mark.parametrize("place", UNREADABLE)
def test_tensors_for_numbers_are_checked_where_they_cannot_be_read(
    place: str, name: str, number: float
) -> None:
    if place == "vmap" and name not in WRITE_TENSORS[:3]:
        return  # under vmap nothing writes to tensors from outside
    is_global = place == "global"

    class Library:  # with tensors on the placement of the number
        def __getattr__(self, name: str) -> Any:
            made = getattr(flow, name)
            if not is_global or name not in ("zeros", "tensor"):
                return made
            return lambda *args, **options: made(*args, **options).to_global(**ONE_DEVICE)

    for dtype in ("uint8", "int32"):
        call = lambda x: CALLS[name](Library(), getattr(flow, dtype), x)  # noqa: E731, B023
        limits = flow.iinfo(getattr(flow, dtype))
        if limits.min - limits.max * (limits.min == 0) <= number <= limits.max:
            assert (
                number % 256
                in np.asarray(UNREADABLE[place](call, flow.tensor(number)).tolist()) % 256
            )
        else:
            with pytest.raises(RuntimeError, match="without overflow"):
                UNREADABLE[place](call, flow.tensor(number)).tolist()


NUMBERS_AS_TENSORS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "add": lambda f, x, v: f.add(x, x, alpha=v),
    "sub": lambda f, x, v: f.sub(x, x, alpha=v),
    "addcmul": lambda f, x, v: f.addcmul(x, x, x, value=v),
    "addcdiv": lambda f, x, v: f.addcdiv(x, x, x, value=v),
    "addmv": lambda f, x, v: f.addmv(x, f.ones(2, 2, dtype=x.dtype), x, alpha=v, beta=v),
    "addr": lambda f, x, v: f.addr(f.ones(2, 2, dtype=x.dtype), x, x, alpha=v, beta=v),
    "addbmm": lambda f, x, v: f.addbmm(*[f.ones(2, 2, 2, dtype=x.dtype)] * 3, alpha=v, beta=v),
    "lerp": lambda f, x, v: f.lerp(x, x * 3, v),
    "elu": lambda f, x, v: f.nn.functional.elu(-x, v),
    "celu": lambda f, x, v: f.nn.functional.celu(-x, v),
    "leaky_relu": lambda f, x, v: f.nn.functional.leaky_relu(-x, v),
    "softplus": lambda f, x, v: f.nn.functional.softplus(x, v),
    "hardshrink": lambda f, x, v: f.nn.functional.hardshrink(x, v),
    "threshold": lambda f, x, v: f.nn.functional.threshold(x, v, v),
}


@pytest.mark.parametrize("number", ["int64", "float64"])
@pytest.mark.parametrize("dtype", ["int32", "float16", "float32"])
@pytest.mark.parametrize("name", NUMBERS_AS_TENSORS)
def test_tensors_for_numbers_promote_nothing(name: str, dtype: str, number: str) -> None:
    def outcome(f: Any) -> Any:
        x, value = f.tensor([1, 2], dtype=getattr(f, dtype)), f.tensor(2, dtype=getattr(f, number))
        try:
            result = NUMBERS_AS_TENSORS[name](f, x, value)
        except (RuntimeError, NotImplementedError):
            return None
        return str(result.dtype).rpartition(".")[2], result.tolist()

    mine, theirs = outcome(flow), outcome(torch)
    if dtype == "int32" and theirs is not None and theirs[0] != "int32":
        pytest.skip("PyTorch takes integers for floats there")
    assert (mine is None) == (theirs is None)
    if mine is not None:
        assert mine[0] == theirs[0]
        np.testing.assert_allclose(mine[1], theirs[1], rtol=2e-3 if dtype == "float16" else 1e-6)


def test_pad_of_none_adds_zeros() -> None:
    padded = flow.nn.functional.pad(flow.ones(1), (1, 1), "constant", None)
    assert padded.tolist() == [0, 1, 0]


def test_the_error_names_number_and_range() -> None:
    with pytest.raises(RuntimeError, match="uint8 without overflow: 300 is not within -255 to 255"):
        flow.tensor([200], dtype=flow.uint8).clamp(0, 300)
