"""Arithmetic, comparisons, logic and functions of one number."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import oneflow as flow
from oneflow import Tensor
from oneflow.nn import functional as F
from oneflow_onnx.x2oneflow.registry import Evaluation, operator

_UNARY: dict[str, Callable[[Tensor], Tensor]] = {
    "Acos": flow.acos,
    "Acosh": flow.acosh,
    "Asin": flow.asin,
    "Asinh": flow.asinh,
    "Atan": flow.atan,
    "Atanh": flow.atanh,
    "BitwiseNot": flow.bitwise_not,
    "Ceil": flow.ceil,
    "Cos": flow.cos,
    "Cosh": flow.cosh,
    "Det": flow.det,
    "Erf": flow.erf,
    "Exp": flow.exp,
    "Floor": flow.floor,
    "IsNaN": flow.isnan,
    "Log": flow.log,
    "Neg": flow.neg,
    "Not": flow.logical_not,
    "Reciprocal": flow.reciprocal,
    "Round": flow.round,
    "Sigmoid": flow.sigmoid,
    "Sign": flow.sign,
    "Sin": flow.sin,
    "Sinh": flow.sinh,
    "Sqrt": flow.sqrt,
    "Tan": flow.tan,
    "Tanh": flow.tanh,
}

_BINARY: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "Add": flow.add,
    "And": flow.logical_and,
    "BitwiseAnd": flow.bitwise_and,
    "BitwiseOr": flow.bitwise_or,
    "BitwiseXor": flow.bitwise_xor,
    "Equal": flow.eq,
    "Greater": flow.gt,
    "GreaterOrEqual": flow.ge,
    "Less": flow.lt,
    "LessOrEqual": flow.le,
    "Mul": flow.mul,
    "Or": flow.logical_or,
    "Sub": flow.sub,
    "Xor": flow.logical_xor,
}


def _unary(function: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    def apply(x: Tensor) -> Tensor:
        return function(x)

    return apply


def _binary(function: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    def apply(a: Tensor, b: Tensor) -> Tensor:
        return function(a, b)

    return apply


def _aligned(a: Tensor, b: Tensor, axis: int | None, broadcast: int) -> Tensor:
    """Return `b` with dimensions appended, so that it starts at dimension `axis` of `a`.

    Before operator set 7, the shape of `b` is a run of that of `a`, its end by default.
    """
    if not broadcast or axis is None:
        return b
    missing = a.ndim - (axis % a.ndim) - b.ndim
    return b.reshape((*b.shape, *[1] * missing))


def _aligned_binary(function: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
    def apply(a: Tensor, b: Tensor, *, axis: int | None = None, broadcast: int = 0) -> Tensor:
        return function(a, _aligned(a, b, axis, broadcast))

    return apply


def _divide(a: Tensor, b: Tensor) -> Tensor:
    if a.is_floating_point() or a.is_complex():
        return flow.div(a, b)
    return flow.div(a, b, rounding_mode="trunc").to(a.dtype)


def _power(a: Tensor, b: Tensor) -> Tensor:
    if a.is_floating_point() or not b.is_floating_point():
        return flow.pow(a, b.to(a.dtype) if a.is_floating_point() else b).to(a.dtype)
    return flow.pow(a.to(b.dtype), b).to(a.dtype)


for _name, _function in _UNARY.items():
    operator(_name)(_unary(_function))
for _name, _function in {**_BINARY, "Div": _divide, "Pow": _power}.items():
    operator(_name)(_aligned_binary(_function))
    operator(_name, since=7)(_binary(_function))


@operator("Abs")
def absolute(x: Tensor) -> Tensor:
    """Return the absolute values; unsigned integers are their own."""
    return flow.abs(x)


def _sum_all(tensors: tuple[Tensor, ...]) -> Tensor:
    return functools.reduce(flow.add, tensors)


@operator("Sum")
def sum_of(*tensors: Tensor) -> Tensor:
    """Return the sum of the operands."""
    return _sum_all(tensors)


@operator("Mean")
def mean_of(*tensors: Tensor) -> Tensor:
    """Return the mean of the operands."""
    return _sum_all(tensors) / len(tensors)


@operator("Max")
def maximum(*tensors: Tensor) -> Tensor:
    """Return the greatest of the operands, element by element."""
    return functools.reduce(flow.maximum, tensors)


@operator("Min")
def minimum(*tensors: Tensor) -> Tensor:
    """Return the least of the operands, element by element."""
    return functools.reduce(flow.minimum, tensors)


@operator("Mod")
def modulus(a: Tensor, b: Tensor, *, fmod: int = 0) -> Tensor:
    """Return the remainder with the sign of the divisor, or of the dividend if `fmod`."""
    return flow.fmod(a, b) if fmod else flow.remainder(a, b)


@operator("BitShift")
def bit_shift(a: Tensor, b: Tensor, *, direction: str) -> Tensor:
    """Shift the bits of `a` LEFT or RIGHT by `b`."""
    shift = flow.bitwise_left_shift if direction == "LEFT" else flow.bitwise_right_shift
    return shift(a, b)


@operator("Clip")
def clip_to(x: Tensor, *, min: float = -math.inf, max: float = math.inf) -> Tensor:
    """Limit the elements to an interval, given by attributes before operator set 11."""
    return flow.clamp(x, None if min == -math.inf else min, None if max == math.inf else max)


@operator("Clip", since=11, constant=(1, 2))
def clip(x: Tensor, low: Tensor | None = None, high: Tensor | None = None) -> Tensor:
    """Limit the elements to an interval; `high` wins where it is below `low`."""
    if low is not None:
        x = flow.maximum(x, low)
    return x if high is None else flow.minimum(x, high)


@operator("IsInf")
def is_infinite(x: Tensor, *, detect_negative: int = 1, detect_positive: int = 1) -> Tensor:
    """Tell which elements are infinite, with one of the requested signs."""
    infinite = flow.isinf(x)
    if not detect_negative:
        infinite = flow.logical_and(infinite, x > 0)
    return infinite if detect_positive else flow.logical_and(infinite, x < 0)


@operator("Where", evaluation=Evaluation.FOLDED)
def where(condition: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """Choose elements of `a` where `condition` holds, of `b` elsewhere."""
    return flow.where(condition, a, b)


@operator("MatMul")
def matmul(a: Tensor, b: Tensor) -> Tensor:
    """Multiply matrices, or stacks of them."""
    return flow.matmul(a, b).to(a.dtype)


@operator("Gemm", constant=())
def gemm(
    a: Tensor,
    b: Tensor,
    c: Tensor | None = None,
    *,
    alpha: float = 1.0,
    beta: float = 1.0,
    transA: int = 0,
    transB: int = 0,
    broadcast: int = 0,
) -> Tensor:
    """Return ``alpha * a @ b + beta * c``; the attributes say which matrices are transposed.

    `c` is broadcast in all operator sets; before the seventh `broadcast` announced it.
    """
    is_bias = c is None or (beta == 1 and c.shape == b.shape[:1])
    if transB and not transA and alpha == 1 and is_bias:
        return F.linear(a, b, c)
    product = flow.matmul(a.t() if transA else a, b.t() if transB else b)
    product = _scaled(product, alpha)
    return product if c is None else product + _scaled(c, beta)


def _scaled(x: Tensor, factor: float) -> Tensor:
    return x if factor == 1 else (x * factor).to(x.dtype)


@operator("Einsum")
def einsum(*tensors: Tensor, equation: str) -> Tensor:
    """Sum products of elements as `equation` says."""
    return flow.einsum(equation, *tensors)


def _cumulative(function: Callable[..., Tensor], identity: float) -> Callable[..., Any]:
    def accumulate(x: Tensor, axis: Any, *, exclusive: int = 0, reverse: int = 0) -> Tensor:
        dim = int(axis.reshape(-1)[0]) % x.ndim
        if reverse:
            x = flow.flip(x, [dim])
        if exclusive:
            first = flow.full_like(x.narrow(dim, 0, 1), identity)
            x = flow.cat([first, x.narrow(dim, 0, x.shape[dim] - 1)], dim)
        total = function(x, dim).to(x.dtype)
        return flow.flip(total, [dim]) if reverse else total

    return accumulate


operator("CumSum", host=(1,))(_cumulative(flow.cumsum, 0))
operator("CumProd", host=(1,))(_cumulative(flow.cumprod, 1))
