"""A convolution with TensorFlow's "SAME" padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flowvision.layers.blocks.padding import get_padding_value, pad_same
from oneflow import Tensor, nn


def conv2d_same(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sequence[int] = (1, 1),
    padding: Sequence[int] = (0, 0),
    dilation: Sequence[int] = (1, 1),
    groups: int = 1,
) -> Tensor:
    """Convolve with TensorFlow's "SAME" padding: the output has size / stride, rounded up.

    Args:
        x: a tensor of shape (N, C, H, W).
        weight: a tensor of shape (O, C / groups, h, w).
        bias: a tensor of shape (O,).
        stride: vertically and horizontally.
        padding: accepted as in `conv2d`; the size of the input decides.
        dilation: vertically and horizontally.
        groups: the number of groups of channels.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.layers.blocks.conv2d_same import conv2d_same
        >>> conv2d_same(flow.ones(1, 1, 7, 7), flow.ones(1, 1, 4, 4), stride=(2, 2)).shape
        oneflow.Size([1, 1, 4, 4])
    """
    x = pad_same(x, weight.shape[2:], stride, dilation)
    return nn.functional.conv2d(x, weight, bias, stride, (0, 0), dilation, groups)


class Conv2dSame(nn.Conv2d):
    """A convolution with TensorFlow's "SAME" padding, see `conv2d_same`.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.layers import Conv2dSame
        >>> Conv2dSame(3, 8, 3, stride=2)(flow.ones(1, 3, 9, 9)).shape
        oneflow.Size([1, 8, 5, 5])
    """

    def forward(self, input: Tensor) -> Tensor:
        return conv2d_same(
            input, self.weight, self.bias, self.stride, (0, 0), self.dilation, self.groups
        )


def create_conv2d_pad(in_chs: int, out_chs: int, kernel_size: int, **kwargs: Any) -> nn.Conv2d:
    """Return a convolution, `Conv2dSame` if its padding depends on the size of the input.

    Args:
        in_chs: channels of the input.
        out_chs: channels of the output.
        kernel_size: the kernel size of the convolution.
        **kwargs: further arguments of the convolution; `padding` may be a name, see
            `get_padding_value`. There is no bias by default.

    Example:
        >>> from flowvision.layers.blocks.conv2d_same import create_conv2d_pad
        >>> type(create_conv2d_pad(3, 8, 3, stride=2, padding="same")).__name__
        'Conv2dSame'
    """
    kwargs = {"bias": False, **kwargs}
    sizes = {key: kwargs[key] for key in ("stride", "dilation") if key in kwargs}
    padding, depends = get_padding_value(kwargs.pop("padding", ""), kernel_size, **sizes)
    if depends:
        return Conv2dSame(in_chs, out_chs, kernel_size, **kwargs)
    return nn.Conv2d(in_chs, out_chs, kernel_size, padding=padding, **kwargs)
