"""Sliding windows as columns, and pixels between channels and space, as modules."""

from __future__ import annotations

from typing import Any

from oneflow.functional.nn import patches as functional
from oneflow.functional.nn.patches import IntOrPair
from oneflow.module.function_in_jobs import FunctionInJobs
from oneflow.module.module import Module
from oneflow.tensor.tensor import Tensor


class Unfold(Module):
    """All windows of an image as columns.

    Args:
        kernel_size: size of the window.
        dilation: distance of its elements.
        padding: zeros around the image.
        stride: distance of windows.

    Shape:
        input: ``(N, C, H, W)`` or ``(C, H, W)``.
        output: ``(N, C * kernel_size[0] * kernel_size[1], L)`` or without ``N``; ``L`` windows, as
            many in each dimension as `Conv2d` has outputs.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.Unfold(kernel_size=2)(flow.ones(1, 3, 4, 5)).shape
        oneflow.Size([1, 12, 12])
    """

    def __init__(
        self,
        kernel_size: IntOrPair,
        dilation: IntOrPair = 1,
        padding: IntOrPair = 0,
        stride: IntOrPair = 1,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return functional.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, "
            f"stride={self.stride}"
        )


class Fold(Module):
    """The sum of windows given as columns.

    Args:
        output_size: height and width of the image.
        kernel_size: size of the window.
        dilation: distance of its elements.
        padding: zeros that were around the image.
        stride: distance of windows.

    Shape:
        input: ``(N, C * kernel_size[0] * kernel_size[1], L)`` or without ``N``, as `Unfold`
            returns it.
        output: ``(N, C, output_size[0], output_size[1])`` or without ``N``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.Fold((4, 5), kernel_size=2)(flow.ones(1, 12, 12)).shape
        oneflow.Size([1, 3, 4, 5])
    """

    def __init__(
        self,
        output_size: IntOrPair,
        kernel_size: IntOrPair,
        dilation: IntOrPair = 1,
        padding: IntOrPair = 0,
        stride: IntOrPair = 1,
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return functional.fold(
            input,
            self.output_size,
            self.kernel_size,
            self.dilation,
            self.padding,
            self.stride,
        )

    def extra_repr(self) -> str:
        return (
            f"output_size={self.output_size}, kernel_size={self.kernel_size}, "
            f"dilation={self.dilation}, padding={self.padding}, stride={self.stride}"
        )


class PixelShuffle(FunctionInJobs, Module):
    """Channels become pixels: ``(*, C * r * s, H, W)`` to ``(*, C, H * r, W * s)``.

    Args:
        upscale_factor: the factor for height and width.
        h_upscale_factor: the factor for the height alone.
        w_upscale_factor: the factor for the width alone.

    Shape:
        input: ``(*, C * r * s, H, W)``.
        output: ``(*, C, H * r, W * s)``, with factors ``r`` and ``s``.

    Raises:
        ValueError: neither one factor nor both single ones are given, or one is not positive.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.PixelShuffle(2)(flow.ones(1, 8, 2, 3)).shape
        oneflow.Size([1, 2, 4, 6])
    """

    def __init__(
        self,
        upscale_factor: int | None = None,
        h_upscale_factor: int | None = None,
        w_upscale_factor: int | None = None,
    ) -> None:
        super().__init__()
        single = (h_upscale_factor, w_upscale_factor)
        high, wide = single if upscale_factor is None else (upscale_factor, upscale_factor)
        if high is None or wide is None or (upscale_factor is not None and single != (None, None)):
            raise ValueError(
                "give either `upscale_factor` or both `h_upscale_factor` and `w_upscale_factor`"
            )
        if min(high, wide) <= 0:
            raise ValueError(f"the upscale factors must be larger than zero, got {(high, wide)}")
        self.upscale_factor = upscale_factor
        self.h_upscale_factor, self.w_upscale_factor = high, wide

    def __setstate__(self, state: dict[str, Any]) -> None:
        factor = state["upscale_factor"]
        super().__setstate__({"h_upscale_factor": factor, "w_upscale_factor": factor, **state})

    def forward(self, input: Tensor) -> Tensor:
        return functional.pixel_shuffle(input, (self.h_upscale_factor, self.w_upscale_factor))

    def extra_repr(self) -> str:
        if self.upscale_factor is not None:
            return f"upscale_factor={self.upscale_factor}"
        return f"h_upscale_factor={self.h_upscale_factor}, w_upscale_factor={self.w_upscale_factor}"


class PixelUnshuffle(Module):
    """Pixels become channels: ``(*, C, H * r, W * r)`` to ``(*, C * r * r, H, W)``.

    Args:
        downscale_factor: the factor r.

    Shape:
        input: ``(*, C, H, W)``.
        output: ``(*, C * downscale_factor ** 2, H // downscale_factor, W // downscale_factor)``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.PixelUnshuffle(2)(flow.ones(1, 2, 4, 6)).shape
        oneflow.Size([1, 8, 2, 3])
    """

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return functional.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Module):
    """Interleaves groups of channels.

    Args:
        groups: number of groups.

    Shape:
        input: ``(N, C, *)``.
        output: ``(N, C, *)``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.ChannelShuffle(2)(flow.ones(1, 4, 2, 2)).shape
        oneflow.Size([1, 4, 2, 2])
    """

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        return functional.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"
