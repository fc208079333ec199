"""Conversions between element types."""

from __future__ import annotations

import numpy as np
import onnx
from onnx import helper

import oneflow as flow
from oneflow import Tensor
from oneflow_onnx.x2oneflow.reference import run_reference
from oneflow_onnx.x2oneflow.registry import Evaluation, operator
from oneflow_onnx.x2oneflow.values import (
    Value,
    as_host,
    as_tensor,
    dtype_of,
    element_type_of,
    fits_tensor,
)


@operator("Cast", evaluation=Evaluation.ANY)
def cast_by_name(x: Value, *, to: str) -> Value:
    """Convert the elements to the type named, before operator set 6."""
    return cast(x, to=onnx.TensorProto.DataType.Value(to))


@operator("Cast", since=6, evaluation=Evaluation.ANY)
def cast(x: Value, *, to: int, saturate: int = 1, round_mode: str = "up") -> Value:
    """Convert the elements; types that tensors lack are converted on the host."""
    if isinstance(x, Tensor) and _has_tensor_dtype(to):
        if x.dtype in (flow.complex64, flow.complex128):
            x = x.real
        return _cast_tensor(x, dtype_of(to))
    result = run_reference("Cast", x, to=to, saturate=saturate, round_mode=round_mode)
    if isinstance(x, Tensor) or (fits_tensor(result) and not fits_tensor(x)):
        return as_tensor(result) if fits_tensor(result) else result
    return result


def _has_tensor_dtype(element_type: int) -> bool:
    return element_type != onnx.TensorProto.STRING and fits_tensor(
        np.empty(0, helper.tensor_dtype_to_np_dtype(element_type))
    )


def _cast_tensor(x: Tensor, dtype: flow.dtype) -> Tensor:
    if x.is_floating_point() and not dtype.is_floating_point and dtype != flow.bool:
        # Through the widest integer, so that values out of range wrap around.
        return x.to(flow.int64).to(dtype)
    return x.to(dtype)


@operator("CastLike", since=15, evaluation=Evaluation.ANY)
def cast_like(x: Value, like: Value, *, saturate: int = 1, round_mode: str = "up") -> Value:
    """Convert the elements to the element type of `like`."""
    return cast(x, to=element_type_of(like), saturate=saturate, round_mode=round_mode)


@operator("BitCast", since=26, evaluation=Evaluation.ANY)
def bit_cast(x: Value, *, to: int) -> Value:
    """Read the bits of the elements as another type of the same width."""
    result = as_host(x).view(helper.tensor_dtype_to_np_dtype(to))
    return as_tensor(result) if isinstance(x, Tensor) and fits_tensor(result) else result
