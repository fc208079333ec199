"""Convolutions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import oneflow as flow
from oneflow import Tensor
from oneflow.nn import functional as F
from oneflow_onnx.x2oneflow.registry import Evaluation, operator
from oneflow_onnx.x2oneflow.values import check_size

_CONVS: dict[int, Callable[..., Tensor]] = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
_TRANSPOSED: dict[int, Callable[..., Tensor]] = {
    1: F.conv_transpose1d,
    2: F.conv_transpose2d,
    3: F.conv_transpose3d,
}


def _for_rank(table: dict[int, Callable[..., Tensor]], rank: int) -> Callable[..., Tensor]:
    if rank not in table:
        raise NotImplementedError(f"convolution over {rank} dimensions; 1, 2 and 3 are supported")
    return table[rank]


def resolve_padding(
    sizes: Sequence[int],
    kernel_size: Sequence[int],
    strides: Sequence[int],
    auto_pad: str,
    pads: Sequence[int] | None,
) -> tuple[list[int], list[int]]:
    """Return what windows of the given extents add before and behind each dimension."""
    rank = len(sizes)
    if auto_pad in ("NOTSET", "VALID"):
        widths = [0] * (2 * rank) if pads is None or auto_pad == "VALID" else list(pads)
        _check_padding(sizes, widths[:rank], widths[rank:])
        return widths[:rank], widths[rank:]
    starts, ends = [], []
    for size, extent, stride in zip(sizes, kernel_size, strides, strict=True):
        total = max((-(-size // stride) - 1) * stride + extent - size, 0)
        less, more = total // 2, total - total // 2
        starts.append(more if auto_pad == "SAME_LOWER" else less)
        ends.append(less if auto_pad == "SAME_LOWER" else more)
    _check_padding(sizes, starts, ends)
    return starts, ends


def _check_padding(sizes: Sequence[int], starts: Sequence[int], ends: Sequence[int]) -> None:
    """Refuse windows over more padding than a value may have elements."""
    padded = [max(n + b + e, n) for n, b, e in zip(sizes, starts, ends, strict=True)]
    check_size([math.prod(padded) - math.prod(sizes)])


def pad_edges(x: Tensor, starts: Sequence[int], ends: Sequence[int], value: float) -> Tensor:
    """Pad the last dimensions; negative amounts crop."""
    if not any(starts) and not any(ends):
        return x
    pairs = zip(reversed(starts), reversed(ends), strict=True)
    return F.pad(x, [amount for pair in pairs for amount in pair], value=value)


@operator("Conv", evaluation=Evaluation.TENSORS)
def conv(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Tensor:
    """Convolve `x` with the kernels of `weight`."""
    rank = x.ndim - 2
    kernel = list(kernel_shape or weight.shape[2:])
    if kernel != list(weight.shape[2:]):
        raise ValueError(f"`kernel_shape` {kernel} differs from the weight's {weight.shape[2:]}")
    dilation, stride = list(dilations or [1] * rank), list(strides or [1] * rank)
    kernel_size = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    starts, ends = resolve_padding(x.shape[2:], kernel_size, stride, auto_pad, pads)
    padding = starts
    if starts != ends or min(starts, default=0) < 0:
        x, padding = pad_edges(x, starts, ends, 0), [0] * rank
    convolve = _for_rank(_CONVS, rank)
    return convolve(x, weight, bias, stride, padding, dilation, group)


@operator("ConvTranspose", evaluation=Evaluation.TENSORS)
def conv_transpose(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    *,
    auto_pad: str = "NOTSET",
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    output_padding: Sequence[int] | None = None,
    output_shape: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Tensor:
    """Transposed convolution: the full one after `pads` are cut off."""
    rank = x.ndim - 2
    dilation, stride = list(dilations or [1] * rank), list(strides or [1] * rank)
    extra = list(output_padding or [0] * rank)
    transposed = _for_rank(_TRANSPOSED, rank)
    full = transposed(x, weight, bias, stride, 0, 0, group, dilation)
    kernel_size = [(k - 1) * d + 1 for k, d in zip(weight.shape[2:], dilation, strict=True)]
    target_shape = None if output_shape is None else list(output_shape[-rank:])
    if target_shape is None and auto_pad.startswith("SAME"):
        target_shape = [n * s for n, s in zip(x.shape[2:], stride, strict=True)]
    if target_shape is None:
        starts, ends = resolve_padding(x.shape[2:], kernel_size, stride, auto_pad, pads)
        more_ends = [added - end for added, end in zip(extra, ends, strict=True)]
    else:
        starts, more_ends = _crop_to(full.shape[2:], target_shape, extra, auto_pad)
    return _slice_padding(full, bias, [-begin for begin in starts], more_ends)


def _crop_to(
    sizes: Sequence[int], target_shape: Sequence[int], extra: Sequence[int], auto_pad: str
) -> tuple[list[int], list[int]]:
    """Return what to cut in front and what to add behind to reach the sizes wanted."""
    starts, more_ends = [], []
    for size, target, added in zip(sizes, target_shape, extra, strict=True):
        total = size + added - target
        begin = total // 2 if auto_pad == "SAME_UPPER" else total - total // 2
        starts.append(begin)
        more_ends.append(target - size + begin)
    return starts, more_ends


def _slice_padding(full: Tensor, bias: Tensor | None, low: list[int], high: list[int]) -> Tensor:
    """Crop a result, or extend it by places that no kernel reaches: they hold the bias."""
    if max(high, default=0) <= 0 or bias is None:
        return pad_edges(full, low, high, 0)
    view = (1, -1, *[1] * (full.ndim - 2))
    return pad_edges(full - bias.reshape(view), low, high, 0) + bias.reshape(view)


@operator("DeformConv", since=19, evaluation=Evaluation.TENSORS)
def deform_conv(
    x: Tensor,
    weight: Tensor,
    offset: Tensor,
    bias: Tensor | None = None,
    mask: Tensor | None = None,
    *,
    dilations: Sequence[int] | None = None,
    group: int = 1,
    kernel_shape: Sequence[int] | None = None,
    offset_group: int = 1,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Tensor:
    """Convolution whose taps are moved by learned offsets, over two dimensions.

    Source: Dai et al., "Deformable Convolutional Networks", and its second version with masks.
    """
    if x.ndim != 4:
        raise NotImplementedError(f"deformable convolution over {x.ndim - 2} dimensions, not 2")
    starts, ends = resolve_padding(x.shape[2:], weight.shape[2:], [1, 1], "NOTSET", pads)
    x = pad_edges(x, starts, ends, 0)  # what is outside counts as 0 anyway
    return F.deform_conv2d(x, offset, weight, bias, strides or 1, 0, dilations or 1, mask)


@operator("Col2Im", since=18, host=(1, 2), evaluation=Evaluation.TENSORS)
def col2im(
    x: Tensor,
    image_shape: Any,
    block_shape: Any,
    *,
    dilations: Sequence[int] | None = None,
    pads: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> Tensor:
    """Add up overlapping blocks, the columns of `x`, to images of any number of dimensions."""
    sizes, block = [int(n) for n in image_shape], [int(n) for n in block_shape]
    rank = len(sizes)
    dilation, stride = list(dilations or [1] * rank), list(strides or [1] * rank)
    widths = list(pads or [0] * (2 * rank))
    padded = [n + b + e for n, b, e in zip(sizes, widths[:rank], widths[rank:], strict=True)]
    window_size = [d * (k - 1) + 1 for d, k in zip(dilation, block, strict=True)]
    if any(span > size for span, size in zip(window_size, padded, strict=True)):
        raise RuntimeError(
            f"blocks of {window_size} elements do not fit into padded images of {padded}"
        )
    blocks = [(n - s) // t + 1 for n, s, t in zip(padded, window_size, stride, strict=True)]
    check_size([*block, *blocks])
    check_size(padded)
    places = _block_places(padded, block, dilation, stride)
    batch, channels = x.shape[0], x.shape[1] // len(places)
    values = x.reshape(batch * channels, -1)
    index = flow.tensor(places.reshape(1, -1), device=x.device).expand(*values.shape)
    total = 1
    for size in padded:
        total *= size
    zero = flow.zeros(batch * channels, total, dtype=x.dtype, device=x.device)
    image = flow.scatter_add(zero, 1, index, values).reshape(batch, channels, *padded)
    return pad_edges(image, [-b for b in widths[:rank]], [-e for e in widths[rank:]], 0)


def _block_places(
    sizes: Sequence[int], block: Sequence[int], dilation: Sequence[int], stride: Sequence[int]
) -> Any:
    """Return the flat position in the image of every element of every block: (element, block)."""
    flat = np.zeros((1, 1), np.int64)
    for size, k, d, s in zip(sizes, block, dilation, stride, strict=True):
        count = (size - (k - 1) * d - 1) // s + 1
        along = np.arange(k)[:, None] * d + np.arange(count) * s
        flat = (flat[:, None, :, None] * size + along[None, :, None, :]).reshape(
            flat.shape[0] * k, flat.shape[1] * count
        )
    return flat
