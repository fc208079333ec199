"""``torch.fused_moving_avg_obs_fake_quant``: values rounded in a range that follows them."""

from __future__ import annotations

import math

import numpy as np

import oneflow as flow
from oneflow import Tensor

#: Scales are not smaller, so that one over them is a number of float32.
_SMALLEST_SCALE = 6.1e-5


def _scale_and_zero_point(
    low: float, high: float, quant_min: int, quant_max: int, symmetric: bool
) -> tuple[float, int]:
    """The step and the integer of 0 that make a range, to which 0 is added, integers.

    0 is an integer exactly: of the two ends the one with the smaller error decides which.
    """
    low, high = min(low, 0.0), max(high, 0.0)
    is_symmetric = symmetric and low < 0 < high
    if is_symmetric:
        half = (quant_max - quant_min) // 2
        step = max(abs(low / -(half + 1)), abs(high / half))
        low, high = -step * (half + 1), step * half
    steps = quant_max - quant_min
    scale = float(np.float32((high - low) / steps))
    if scale == 0 or math.isinf(1 / scale):
        scale = 0.1
    if scale < _SMALLEST_SCALE:
        factor, scale = _SMALLEST_SCALE / scale, _SMALLEST_SCALE
        if low == 0:
            high = scale * steps
        elif high == 0:
            low = -scale * steps
        else:
            low, high = low * factor, high * factor
    if is_symmetric:
        return scale, round((quant_min + quant_max) / 2)
    errors = abs(quant_min) + abs(low / scale), abs(quant_max) + abs(high / scale)
    zero = quant_min - low / scale if errors[0] < errors[1] else quant_max - high / scale
    return scale, round(min(max(zero, quant_min), quant_max))


def fused_moving_avg_obs_fake_quant(
    input: Tensor,
    observer_on: Tensor,
    fake_quant_on: Tensor,
    running_min: Tensor,
    running_max: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    averaging_const: float,
    quant_min: int,
    quant_max: int,
    ch_axis: int,
    per_row_fake_quant: bool = False,
    symmetric_quant: bool = False,
) -> Tensor:
    """Move a range towards that of a tensor, and round the tensor to integers of the range.

    Args:
        input: the tensor.
        observer_on: whether the range moves: 1 or 0.
        fake_quant_on: whether the tensor is rounded: 1 or 0.
        running_min: the lower end, which is changed; infinite before the first call.
        running_max: the upper end, likewise.
        scale: the step, which is changed.
        zero_point: the integer of 0, which is changed.
        averaging_const: how far the range moves.
        quant_min: the smallest integer.
        quant_max: the largest one.
        ch_axis: the dimension with a range for each index, if `per_row_fake_quant`.
        per_row_fake_quant: whether it has.
        symmetric_quant: whether the range is around 0.

    Raises:
        RuntimeError: `per_row_fake_quant`, and `ch_axis` is not 0, as in PyTorch.
    """
    if per_row_fake_quant and ch_axis != 0:
        raise RuntimeError(f"`ch_axis` must be 0 for ranges of rows, got {ch_axis}")
    if observer_on.item():
        ends = running_min, running_max
        _observe(input.detach(), ends, averaging_const, ch_axis if per_row_fake_quant else None)
        pairs = [
            _scale_and_zero_point(low, high, quant_min, quant_max, symmetric_quant)
            for low, high in zip(
                running_min.reshape(-1).tolist(), running_max.reshape(-1).tolist(), strict=True
            )
        ]
        scales, zeros = zip(*pairs, strict=True)
        with flow.no_grad():
            scale.copy_(flow.tensor(scales, dtype=scale.dtype).reshape(scale.shape))
            zero_point.copy_(flow.tensor(zeros, dtype=zero_point.dtype).reshape(zero_point.shape))
    if not fake_quant_on.item():
        return input
    if per_row_fake_quant:
        return flow.fake_quantize_per_channel_affine(
            input, scale, zero_point, ch_axis, quant_min, quant_max
        )
    return flow.fake_quantize_per_tensor_affine(
        input, scale.item(), int(zero_point.item()), quant_min, quant_max
    )


def _observe(values: Tensor, ends: tuple[Tensor, Tensor], part: float, axis: int | None) -> None:
    """Move the ends of a range towards those of values; infinite ones are replaced."""
    dims = [dim for dim in range(values.ndim) if axis is None or dim != axis % values.ndim]
    for end, target in zip(ends, (values.amin(dims), values.amax(dims)), strict=True):
        target = target.reshape(end.shape).to(end.dtype)
        moved = end + part * (target - end)
        with flow.no_grad():
            end.copy_(flow.where(end.isinf(), target, moved))
