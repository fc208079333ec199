"""Sliding windows as columns, and pixels between channels and space."""

from __future__ import annotations

import operator
from typing import Any

from oneflow.base.shape import as_integer, is_sequence
from oneflow.functional.nn.spatial import require_elements
from oneflow.functional.registry import function
from oneflow.primitives.operators import patches as p
from oneflow.primitives.operators.shape import reshape, transpose
from oneflow.tensor.call import call
from oneflow.tensor.tensor import Tensor

IntOrPair = int | tuple[int, int]


def _pair(value: Any, name: str) -> tuple[int, int]:
    values = tuple(value) if is_sequence(value) else (value, value)
    pair = tuple(map(operator.index, values))
    if len(pair) == 1:
        pair *= 2
    if len(pair) != 2:
        raise RuntimeError(f"expected `{name}` to be one or two integers, got {value}")
    return pair


def _settings(**options: IntOrPair) -> dict[str, tuple[int, int]]:
    """Window settings as pairs.

    Raises:
        RuntimeError: a size or step is not positive, or the padding negative.
    """
    settings = {name: _pair(value, name) for name, value in options.items()}
    for name, pair in settings.items():
        if min(pair) < (0 if name == "padding" else 1):
            raise RuntimeError(f"{name} should be greater than zero, but got {pair}")
    return settings


def _channels_first(data_format: str) -> None:
    if data_format not in ("channels_first", "NCHW"):
        raise ValueError(f"only data_format='channels_first' is supported, got {data_format!r}")


@function(method=False, namespace="nn.functional")
def unfold(
    x: Tensor,
    kernel_size: IntOrPair,
    dilation: IntOrPair = 1,
    padding: IntOrPair = 0,
    stride: IntOrPair = 1,
    data_format: str = "channels_first",
) -> Tensor:
    """All windows of an image as columns.

    Args:
        x: shape ``(N, C, H, W)`` or ``(C, H, W)``.
        kernel_size: size of the window.
        dilation: distance of its elements.
        padding: zeros around the image.
        stride: distance of windows.
        data_format: only ``"channels_first"``.

    Returns:
        Tensor of shape ``(N, C * window elements, windows)``.

    Raises:
        RuntimeError: no window fits, or a setting is not positive.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.unfold(flow.ones(1, 3, 4, 5), kernel_size=2).shape
        oneflow.Size([1, 12, 12])
    """
    _channels_first(data_format)
    settings = _settings(kernel=kernel_size, dilation=dilation, padding=padding, stride=stride)
    if x.ndim not in (3, 4):
        raise RuntimeError(
            f"Expected 3D or 4D (batch mode) tensor for `x` of unfold, got shape {tuple(x.shape)}"
        )
    require_elements("unfold", (1, *x.shape)[-4:])
    counts = p.window_counts(tuple(x.shape[-2:]), **settings)
    if min(counts) < 1:
        raise RuntimeError(
            f"no window of size {settings['kernel']} fits into an input of spatial size "
            f"{tuple(x.shape[-2:])} with padding {settings['padding']}"
        )
    if x.ndim == 3:
        return call(p.unfold, x.unsqueeze(0), **settings).squeeze(0)
    return call(p.unfold, x, **settings)


@function(method=False, namespace="nn.functional")
def fold(
    x: Tensor,
    output_size: IntOrPair,
    kernel_size: IntOrPair,
    dilation: IntOrPair = 1,
    padding: IntOrPair = 0,
    stride: IntOrPair = 1,
    data_format: str = "channels_first",
) -> Tensor:
    """The sum of windows given as columns: the opposite of `unfold`.

    Args:
        x: shape ``(N, C * window elements, windows)``, or without ``N``.
        output_size: height and width of the image.
        kernel_size: size of the window.
        dilation: distance of its elements.
        padding: zeros that were around the image.
        stride: distance of windows.
        data_format: only ``"channels_first"``.

    Returns:
        Tensor of shape ``(N, C, *output_size)``.

    Raises:
        RuntimeError: the shape of `x` does not fit the settings.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.fold(flow.ones(1, 12, 12), (4, 5), kernel_size=2).shape
        oneflow.Size([1, 3, 4, 5])
    """
    _channels_first(data_format)
    settings = _settings(kernel=kernel_size, dilation=dilation, padding=padding, stride=stride)
    size = _pair(output_size, "output_size")
    if x.ndim not in (2, 3):
        raise RuntimeError(
            f"Expected 2D or 3D (batch mode) tensor for input of fold, got {tuple(x.shape)}"
        )
    require_elements("fold", (1, *x.shape)[-3:])
    elements = settings["kernel"][0] * settings["kernel"][1]
    counts = p.window_counts(size, **settings)
    if x.shape[-2] % elements or x.shape[-1] != counts[0] * counts[1] or min(counts) < 1:
        raise RuntimeError(
            f"Given output_size={size} and kernel_size={settings['kernel']}, expected `x` of "
            f"shape (*, a multiple of {elements}, {counts[0] * counts[1]}), got "
            f"{tuple(x.shape)}"
        )
    if x.ndim == 2:
        return call(p.fold, x.unsqueeze(0), size=size, **settings).squeeze(0)
    return call(p.fold, x, size=size, **settings)


def _check_image(input: Tensor, name: str) -> None:
    if input.ndim < 3:
        raise RuntimeError(
            f"{name} expects input to have at least 3 dimensions, but got input with {input.ndim} "
            "dimension(s)"
        )


@function(method=False, namespace="nn.functional", also=("pixel_shuffle",))
def pixel_shuffle(input: Tensor, upscale_factor: IntOrPair) -> Tensor:
    """Channels become pixels: ``(*, C * r * r, H, W)`` to ``(*, C, H * r, W * r)``.

    Args:
        input: a tensor of at least 3 dimensions.
        upscale_factor: the factor r, or one for height and one for width.

    Raises:
        RuntimeError: the number of channels is no multiple of ``r * r``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.pixel_shuffle(flow.ones(1, 8, 2, 3), 2).shape
        oneflow.Size([1, 2, 4, 6])
    """
    _check_image(input, "pixel_shuffle")
    high, wide = _pair(upscale_factor, "upscale_factor")
    if high <= 0 or wide <= 0:
        raise RuntimeError(
            f"pixel_shuffle expects a positive upscale_factor, but got {upscale_factor}"
        )
    *batch_dims, channels, height, width = input.shape
    if channels % (high * wide):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square "
            f"of upscale_factor, but input.size(-3)={channels} is not divisible by {high * wide}"
        )
    out_channels = channels // (high * wide)
    parts = call(reshape, input, shape=(*batch_dims, out_channels, high, wide, height, width))
    n = len(batch_dims)
    moved = call(transpose, parts, perm=(*range(n + 1), n + 3, n + 1, n + 4, n + 2))
    return call(reshape, moved, shape=(*batch_dims, out_channels, height * high, width * wide))


@function(method=False, namespace="nn.functional", also=("pixel_unshuffle",))
def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """Pixels become channels: ``(*, C, H * r, W * r)`` to ``(*, C * r * r, H, W)``.

    Args:
        input: a tensor of at least 3 dimensions.
        downscale_factor: the factor r.

    Raises:
        RuntimeError: height or width is no multiple of r.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.pixel_unshuffle(flow.ones(1, 2, 4, 6), 2).shape
        oneflow.Size([1, 8, 2, 3])
    """
    _check_image(input, "pixel_unshuffle")
    factor = as_integer(downscale_factor, "downscale_factor")
    if factor <= 0:
        raise RuntimeError(f"pixel_unshuffle expects a positive downscale_factor, but got {factor}")
    *batch_dims, channels, height, width = input.shape
    if height % factor or width % factor:
        raise RuntimeError(
            "pixel_unshuffle expects height and width to be divisible by downscale_factor, but "
            f"({height}, {width}) is not divisible by {factor}"
        )
    height, width = height // factor, width // factor
    parts = call(reshape, input, shape=(*batch_dims, channels, height, factor, width, factor))
    n = len(batch_dims)
    moved = call(transpose, parts, perm=(*range(n + 1), n + 2, n + 4, n + 1, n + 3))
    return call(reshape, moved, shape=(*batch_dims, channels * factor * factor, height, width))


@function(method=False, namespace="nn.functional", also=("channel_shuffle",))
def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """Interleave groups of channels.

    Args:
        input: shape ``(N, C, *)``.
        groups: number of groups; divides C.

    Raises:
        RuntimeError: `groups` is not positive or does not divide the number of channels.

    Example:
        >>> import oneflow as flow
        >>> input = flow.tensor([0.0, 1.0, 2.0, 3.0]).reshape(1, 4, 1)
        >>> flow.nn.functional.channel_shuffle(input, 2).flatten().tolist()
        [0.0, 2.0, 1.0, 3.0]
    """
    _check_image(input, "channel_shuffle")
    batch, channels, *rest = input.shape
    groups = as_integer(groups, "groups")
    if groups <= 0 or channels % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {channels} channels and {groups} "
            "groups."
        )
    parts = call(reshape, input, shape=(batch, groups, channels // groups, *rest))
    perm = (0, 2, 1, *range(3, parts.ndim))
    return call(reshape, call(transpose, parts, perm=perm), shape=tuple(input.shape))
