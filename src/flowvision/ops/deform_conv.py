"""Deformable convolution: the taps of the kernel are moved by offsets that a layer computes."""

from __future__ import annotations

import math

import oneflow as flow
from flowvision.ops._utils import pair
from oneflow import Tensor, nn
from oneflow.nn.functional import deform_conv2d as deform_conv2d


class DeformConv2d(nn.Module):
    """`deform_conv2d` as a layer, with a weight of its own.

    Args:
        in_channels: channels of the input.
        out_channels: channels of the result.
        kernel_size: rows and columns of the kernel, one number or two.
        stride: step of the kernel, one number or two.
        padding: zeros added on both sides, one number or two.
        dilation: distance between the taps, one number or two.
        groups: number of groups that the channels are divided into.
        bias: add a learned number to each channel.

    Raises:
        ValueError: the channels cannot be divided into `groups`.

    Example:
        >>> from flowvision.ops import DeformConv2d
        >>> import oneflow as flow
        >>> layer = DeformConv2d(2, 4, 3, padding=1)
        >>> layer(flow.rand(1, 2, 5, 5), flow.zeros(1, 18, 5, 5)).shape
        oneflow.Size([1, 4, 5, 5])
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, int],
        stride: int | tuple[int, int] = 1,
        padding: int | tuple[int, int] = 0,
        dilation: int | tuple[int, int] = 1,
        groups: int = 1,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if in_channels % groups or out_channels % groups:
            raise ValueError(
                f"`in_channels` and `out_channels` must be multiples of `groups`, got "
                f"{in_channels}, {out_channels} and {groups}"
            )
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.weight = nn.Parameter(
            flow.empty(out_channels, in_channels // groups, *pair(kernel_size))
        )
        self.bias = nn.Parameter(flow.empty(out_channels)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weights like the weights of an ordinary convolution."""
        nn.init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            limit = 1 / math.sqrt(self.weight[0].numel())
            nn.init.uniform_(self.bias, -limit, limit)

    def forward(self, input: Tensor, offset: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return the convolution of `input`, see `deform_conv2d`."""
        return deform_conv2d(
            input,
            offset,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            self.dilation,
            mask,
        )
