"""Sorting, the largest, and cumulative operations."""

from __future__ import annotations

import numpy as np

from oneflow_onnx.oneflow2onnx import operators as o
from oneflow_onnx.oneflow2onnx.builder import INT64, OnnxBuilder
from oneflow_onnx.oneflow2onnx.loops import scan
from oneflow_onnx.oneflow2onnx.lowering import Call, lowering
from oneflow_onnx.oneflow2onnx.reference import Ref
from oneflow_onnx.oneflow2onnx.schemas import NeedsOpset
from oneflow_onnx.oneflow2onnx.sizes import Dim

BOOL = np.dtype(bool)


@lowering("sort")
def _sort(b: OnnxBuilder, call: Call) -> tuple[Ref, Ref]:
    (x,), dim = call.operands, call["dim"]
    if not x.rank:
        return x, b.constant(np.int64(0))
    return ordered(b, x, x.shape[dim], dim, largest=call["descending"])


@lowering("topk")
def _topk(b: OnnxBuilder, call: Call) -> tuple[Ref, Ref]:
    (x,) = call.operands
    return ordered(b, x, call["k"], call["dim"], largest=True)


def ordered(b: OnnxBuilder, x: Ref, count: Dim, dim: int, largest: bool) -> tuple[Ref, Ref]:
    """The first elements in order along `dim`, and where they are; equal ones keep their order."""
    shape = (*x.shape[:dim], count, *x.shape[dim + 1 :])
    outputs = [(shape, x.dtype), (shape, INT64)]
    if b.opset < 10:
        raise NeedsOpset(10, "`TopK` of a number of elements that is an input")
    if b.opset < 11 and not largest:
        raise NeedsOpset(11, "`TopK` of the smallest elements")
    options = {} if b.opset < 11 else {"largest": int(largest), "sorted": 1}
    values, places = b.multiple("TopK", [x, b.sizes([count])], outputs, axis=dim, **options)
    return values, places


@lowering("searchsorted")
def _searchsorted(b: OnnxBuilder, call: Call) -> Ref:
    """The number of elements before each value: that are smaller, or not larger."""
    sequence, values = call.operands
    if sequence.rank > 1:
        sequence = o.unsqueeze(b, sequence, [sequence.rank - 1])
    values = o.unsqueeze(b, values, [values.rank])
    after = b.op("Less" if call["right"] else "Greater", values, sequence, dtype=BOOL)
    before = b.op("Not", after) if call["right"] else after
    count = b.cast(before, INT64)
    return b.cast(o.reduce(b, "ReduceSum", count, [count.rank - 1], False), call.result.dtype)


@lowering("cumsum")
def _cumsum(b: OnnxBuilder, call: Call) -> Ref:
    (x,) = call.operands
    if not x.rank:
        return x
    dim = b.constant(np.int64(call["dim"]))
    return b.op("CumSum", x, dim, shape=x.shape, reverse=int(call["reverse"]))


@lowering("cummax", "cummin")
def _cumulative_extreme(b: OnnxBuilder, call: Call) -> tuple[Ref, Ref]:
    """The extreme so far and its index: the last of equal ones; a NaN beats all numbers."""
    (x,) = call.operands
    if not x.rank:
        return x, b.constant(np.int64(0))
    is_max, dim = call.primitive == "cummax", call["dim"]
    first = o.move_first(b, x, dim)
    kinds = [(first.shape[1:], dtype) for dtype in (x.dtype, INT64)]
    fill = o.extreme(x.dtype, largest=not is_max)

    def step(values: list[Ref]) -> list[Ref]:
        best, index, number, element = values
        later = b.op("Not", b.op("Less" if is_max else "Greater", element, best, dtype=BOOL))
        if x.is_float:
            later = b.op("And", later, b.op("Not", b.op("IsNaN", best, dtype=BOOL)))
            later = b.op("Or", later, b.op("IsNaN", element, dtype=BOOL))
        best, index = o.where(b, later, element, best), o.where(b, later, number, index)
        return [best, index, b.op("Add", number, b.constant(np.int64(1))), best, index]

    values = zip(kinds, (fill, 0), strict=True)
    start = [o.filled(b, shape, value, dtype) for (shape, dtype), value in values]
    carried = [*start, b.constant(np.int64(0))]
    *_, values, places = scan(b, carried, [first], kinds, x.shape[dim], False, step)
    return o.move_first_back(b, values, dim), o.move_first_back(b, places, dim)
