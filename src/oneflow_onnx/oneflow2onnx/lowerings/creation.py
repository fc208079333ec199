"""Tensors made from nothing."""

from __future__ import annotations

import numpy as np

from oneflow_onnx.oneflow2onnx import operators as o
from oneflow_onnx.oneflow2onnx.builder import OnnxBuilder
from oneflow_onnx.oneflow2onnx.lowering import Call, lowering
from oneflow_onnx.oneflow2onnx.reference import Ref
from oneflow_onnx.oneflow2onnx.sizes import has_size, static


@lowering("zeros", "zeros_like")
def _zeros(b: OnnxBuilder, call: Call) -> Ref:
    return o.filled(b, call.result.shape, 0, call.result.dtype)


@lowering("ones", "ones_like")
def _ones(b: OnnxBuilder, call: Call) -> Ref:
    return o.filled(b, call.result.shape, 1, call.result.dtype)


@lowering("full_integer", "full_float")
def _full(b: OnnxBuilder, call: Call) -> Ref:
    return o.expand(b, b.cast(call.operands[0], call.result.dtype), call.result.shape)


@lowering("range_integer", "range_float")
def _range(b: OnnxBuilder, call: Call) -> Ref:
    start, step = call.operands
    if start.constant is not None and step.constant is not None and not has_size(call["size"]):
        numbers = start.constant + step.constant * np.arange(call["size"], dtype=start.dtype)
        return b.constant(numbers.astype(call.result.dtype))
    along = b.cast(o.positions(b, call["size"]), start.dtype)
    if step.constant is None or step.constant != 1:
        along = b.op("Mul", along, step)
    if start.constant is None or start.constant != 0:
        along = b.op("Add", along, start)
    return b.cast(along, call.result.dtype)


@lowering("eye")
def _eye(b: OnnxBuilder, call: Call) -> Ref:
    if (shape := static(call["shape"])) is not None:
        return b.constant(np.eye(*shape, dtype=call.result.dtype))
    rows, columns = (o.positions(b, dim) for dim in call["shape"])
    on_diagonal = b.op("Equal", o.unsqueeze(b, rows, [1]), columns, dtype=np.dtype(bool))
    return b.cast(on_diagonal, call.result.dtype)
