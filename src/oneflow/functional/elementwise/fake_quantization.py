"""Rounding to what quantized numbers stand for, in floating point.

Jacob et al., "Quantization and training of neural networks for efficient integer-arithmetic-only
inference" (2018).
"""

from __future__ import annotations

import math
from typing import Any

from oneflow.base.dtype import Category
from oneflow.base.shape import as_integer, wrap_dim
from oneflow.functional.elementwise.clamp import where
from oneflow.functional.registry import function
from oneflow.tensor.operands import require_tensor
from oneflow.tensor.tensor import Tensor


def _check_range(name: str, quant_min: int, quant_max: int) -> None:
    if as_integer(quant_min, "quant_min") > as_integer(quant_max, "quant_max"):
        raise RuntimeError(
            f"{name}: `quant_min` should be less than or equal to `quant_max`, got {quant_min} and "
            f"{quant_max}"
        )


def _is_float(tensor: Tensor) -> bool:
    return tensor.dtype.category is Category.FLOAT


def _fake_quantized(
    input: Tensor, scale: Any, zero_point: Any, quant_min: int, quant_max: int
) -> Tensor:
    """The value of the nearest quantized number, with the gradient of `input` where one is near."""
    plain = input.detach()
    is_zero = not isinstance(scale, Tensor) and not scale
    steps = plain * (math.copysign(math.inf, scale) if is_zero else 1 / scale)
    is_float = isinstance(zero_point, Tensor) and _is_float(zero_point)
    number = (steps + zero_point).round() if is_float else steps.round() + zero_point
    value = (number.clamp(quant_min, quant_max) - zero_point) * scale
    in_range = (number >= quant_min) & (number <= quant_max)
    # The value of `value` with the gradient of `input`, or none.
    passed = where(in_range, input, value)
    return (value + (passed - passed.detach())).to(input.dtype)


@function(method=False)
def fake_quantize_per_tensor_affine(
    input: Tensor,
    scale: float | Tensor,
    zero_point: int | Tensor,
    quant_min: int,
    quant_max: int,
) -> Tensor:
    """Round to the numbers ``(n - zero_point) * scale`` with `n` from `quant_min` to `quant_max`.

    Args:
        input: tensor of floats.
        scale: distance between the numbers; a number, or a tensor of one float.
        zero_point: the `n` that stands for 0; a number, or a tensor of one integer.
        quant_min: smallest `n`.
        quant_max: largest `n`.

    Returns:
        A tensor like `input`; its gradient passes where the nearest `n` is in range, and is 0
        elsewhere.

    Raises:
        NotImplementedError: `input` is not of floats.
        RuntimeError: the range is empty, or a number `zero_point` is out of range.

    Example:
        >>> import oneflow as flow
        >>> flow.fake_quantize_per_tensor_affine(flow.tensor([0.26, -9.0]), 0.1, 0, -8, 7)
        tensor([ 0.3000, -0.8000], dtype=oneflow.float32)
    """
    name = "fake_quantize_per_tensor_affine"
    require_tensor(input, name)
    _check_range(name, quant_min, quant_max)
    if not _is_float(input):
        raise NotImplementedError(f"{name}: `input` must be of floats, got {input.dtype!r}")
    if not isinstance(zero_point, Tensor) and not (
        quant_min <= as_integer(zero_point, "zero_point") <= quant_max
    ):
        raise RuntimeError(
            f"{name}: `zero_point` must be between `quant_min` and `quant_max`, got {zero_point} "
            f"for {quant_min} to {quant_max}"
        )
    return _fake_quantized(input, scale, zero_point, quant_min, quant_max)


@function(method=False)
def fake_quantize_per_channel_affine(
    input: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int
) -> Tensor:
    """`fake_quantize_per_tensor_affine` with a scale and a zero point for each slice along `axis`.

    Args:
        input: tensor of floats.
        scale: ``[input.shape[axis]]``, of floats.
        zero_point: as many integers or floats.
        axis: dimension of the slices.
        quant_min: smallest quantized number.
        quant_max: largest quantized number.

    Raises:
        IndexError: there is no such dimension.
        RuntimeError: the range is empty, or shapes or dtypes do not fit.

    Example:
        >>> import oneflow as flow
        >>> scale, zero_point = flow.tensor([0.1, 1.0]), flow.tensor([0, 0])
        >>> x = flow.full((2, 2), 2.4)
        >>> flow.fake_quantize_per_channel_affine(x, scale, zero_point, 1, -8, 7)
        tensor([[0.7000, 2.0000],
                [0.7000, 2.0000]], dtype=oneflow.float32)
    """
    name = "fake_quantize_per_channel_affine"
    require_tensor(input, name)
    _check_range(name, quant_min, quant_max)
    if not _is_float(input) or not _is_float(scale):
        raise RuntimeError(
            f"{name}: `input` and `scale` must be of floats, got {input.dtype!r} and "
            f"{scale.dtype!r}"
        )
    dim = wrap_dim(axis, input.ndim)
    expected_shape = (input.shape[dim],)
    if tuple(scale.shape) != expected_shape or tuple(zero_point.shape) != expected_shape:
        raise RuntimeError(
            f"{name}: dimensions of scale and zero-point are not consistent with input tensor: "
            f"{expected_shape} elements are needed, got {tuple(scale.shape)} and "
            f"{tuple(zero_point.shape)}"
        )
    shape = [-1 if position == dim else 1 for position in range(input.ndim)]
    return _fake_quantized(
        input, scale.reshape(shape), zero_point.reshape(shape), quant_min, quant_max
    )
