"""Reductions."""

from __future__ import annotations

import math

import numpy as np

from oneflow_onnx.oneflow2onnx import operators as o
from oneflow_onnx.oneflow2onnx.builder import INT64, OnnxBuilder
from oneflow_onnx.oneflow2onnx.lowering import Call, Lowering, lowering
from oneflow_onnx.oneflow2onnx.reference import Ref
from oneflow_onnx.oneflow2onnx.sizes import product

BOOL = np.dtype(bool)


def _reduction(name: str) -> Lowering:
    def lower(b: OnnxBuilder, call: Call) -> Ref:
        (x,) = call.operands
        return o.reduce(b, name, x, call["dims"], call["keepdim"])

    return lower


for _primitive, _operator in {
    "prod": "ReduceProd",
    "amax": "ReduceMax",
    "amin": "ReduceMin",
    "logsumexp": "ReduceLogSumExp",
}.items():
    lowering(_primitive)(_reduction(_operator))


@lowering("sum")
def _sum(b: OnnxBuilder, call: Call) -> Ref:
    x = b.cast(call.operands[0], call.result.dtype)
    return o.reduce(b, "ReduceSum", x, call["dims"], call["keepdim"])


@lowering("mean")
def _mean(b: OnnxBuilder, call: Call) -> Ref:
    (x,), dims = call.operands, call["dims"]
    if 0 in [x.shape[dim] for dim in dims]:
        # Runtimes give 0 for what has no mean.
        return o.filled(b, call.result.shape, math.nan, x.dtype)
    is_global = x.rank > 2 and dims == tuple(range(2, x.rank)) and call["keepdim"]
    if is_global:
        return b.op("GlobalAveragePool", x, shape=o.kept(x.shape, dims, True))
    return o.reduce(b, "ReduceMean", x, dims, call["keepdim"])


@lowering("spread")
def _broadcast(b: OnnxBuilder, call: Call) -> Ref:
    (x,), dims, shape = call.operands, call["dims"], call["shape"]
    x = o.reshape(b, x, [1 if d in dims else dim for d, dim in enumerate(shape)])
    if call["average"]:
        x = b.op("Div", x, b.number(product([shape[dim] for dim in dims]), x.dtype))
    return o.expand(b, x, shape)


@lowering("nansum")
def _nansum(b: OnnxBuilder, call: Call) -> Ref:
    return o.reduce(b, "ReduceSum", _numbers(b, call.operands[0]), call["dims"], call["keepdim"])


def _numbers(b: OnnxBuilder, x: Ref) -> Ref:
    """`x` with 0 in place of NaN."""
    return o.where(b, b.op("IsNaN", x, dtype=BOOL), b.constant(0, x.dtype), x)


@lowering("nanmean")
def _nanmean(b: OnnxBuilder, call: Call) -> Ref:
    (x,), dims, keepdim = call.operands, call["dims"], call["keepdim"]
    total = o.reduce(b, "ReduceSum", _numbers(b, x), dims, keepdim)
    mask = b.cast(b.op("Not", b.op("IsNaN", x, dtype=BOOL)), x.dtype)
    return b.op("Div", total, o.reduce(b, "ReduceSum", mask, dims, keepdim))


def _dims(call: Call) -> tuple[int, ...]:
    dims = call["dims"]
    return tuple(range(call.operands[0].rank)) if dims is None else dims


@lowering("count_nonzero")
def _count_nonzero(b: OnnxBuilder, call: Call) -> Ref:
    nonzero = b.cast(o.as_bool(b, call.operands[0]), INT64)
    return o.reduce(b, "ReduceSum", nonzero, _dims(call), call["keepdim"])


@lowering("any")
def _any(b: OnnxBuilder, call: Call) -> Ref:
    return o.any_nonzero(b, call.operands[0], _dims(call), call["keepdim"])


@lowering("all")
def _all(b: OnnxBuilder, call: Call) -> Ref:
    nonzero = b.cast(o.as_bool(b, call.operands[0]), np.int32)
    return o.as_bool(b, o.reduce(b, "ReduceMin", nonzero, _dims(call), call["keepdim"]))


@lowering("argmax", "argmin")
def _arg(b: OnnxBuilder, call: Call) -> Ref:
    x, dim, keepdim = call.operands[0], call["dim"], call["keepdim"]
    name = "ArgMax" if call.primitive == "argmax" else "ArgMin"
    if dim is None or not x.rank:
        flat = o.reshape(b, x, (product(x.shape),))
        place = b.op(name, flat, shape=(1,), dtype=INT64, axis=0, keepdims=1)
        return o.reshape(b, place, call.result.shape)
    return extreme_index(b, name, x, dim, keepdim)


def extreme_index(b: OnnxBuilder, name: str, x: Ref, dim: int, keepdim: bool) -> Ref:
    """The index of the first extreme along `dim`."""
    shape = o.kept(x.shape, [dim], keepdim)
    return b.op(name, x, shape=shape, dtype=INT64, axis=dim, keepdims=int(keepdim))


@lowering("max_along", "min_along")
def _extreme_along(b: OnnxBuilder, call: Call) -> tuple[Ref, Ref]:
    (x,), dim, keepdim = call.operands, call["dim"], call["keepdim"]
    if not x.rank:
        return x, b.constant(np.int64(0))
    kind = "Max" if call.primitive == "max_along" else "Min"
    values = o.reduce(b, f"Reduce{kind}", x, [dim], keepdim)
    return values, extreme_index(b, f"Arg{kind}", x, dim, keepdim)


@lowering("norm2")
def _norm2(b: OnnxBuilder, call: Call) -> Ref:
    (x,) = call.operands
    return o.reduce(b, "ReduceL2", x, call["dims"], call["keepdim"])


@lowering("var", "std")
def _variance(b: OnnxBuilder, call: Call) -> Ref:
    (x,), dims = call.operands, call["dims"]
    centered = b.op("Sub", x, o.reduce(b, "ReduceMean", x, dims))
    total = o.reduce(b, "ReduceSum", b.op("Mul", centered, centered), dims, call["keepdim"])
    result = b.op("Div", total, _degrees_of_freedom(b, call))
    return b.op("Sqrt", result) if call.primitive == "std" else result


def _degrees_of_freedom(b: OnnxBuilder, call: Call) -> Ref:
    """The number of elements less the correction, but not less than 0."""
    (x,), correction = call.operands, call["correction"]
    count = product([x.shape[dim] for dim in call["dims"]])
    if isinstance(count, int):
        return b.constant(max(count - correction, 0), x.dtype)
    difference = b.op("Sub", b.number(count, x.dtype), b.constant(correction, x.dtype))
    return b.op("Max", difference, b.constant(0, x.dtype))
