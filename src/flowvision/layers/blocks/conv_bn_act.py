"""A convolution, its normalization and its activation."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from oneflow import nn


class ConvBnAct(nn.Sequential):
    """A convolution, a normalization and an activation, in this order.

    Input (N, in_features, H, W), output (N, out_features, H', W') with H' = H / stride rounded up
    unless `padding` says otherwise.

    Args:
        in_features: channels of the input.
        out_features: channels of the output.
        kernel_size: the kernel size of the convolution.
        stride: the stride of the convolution.
        padding: the padding of the convolution; by default as much as keeps the size at a stride of
            1.
        act_layer: makes the activation; None for none.
        conv: makes the convolution.
        norm_layer: makes the normalization from the number of channels; None for none.
        bias: whether the convolution has a bias.
        inplace: whether the activation overwrites its input, if it can.
        **kwargs: further arguments of the convolution, such as `groups` and `dilation`.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.layers import ConvBnAct
        >>> ConvBnAct(3, 8, 3, stride=2)(flow.rand(1, 3, 8, 8)).shape
        oneflow.Size([1, 8, 4, 4])
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        kernel_size: int = 1,
        stride: int = 1,
        padding: int | None = None,
        *,
        act_layer: Callable[..., nn.Module] | None = nn.ReLU,
        conv: Callable[..., nn.Module] = nn.Conv2d,
        norm_layer: Callable[[int], nn.Module] | None = nn.BatchNorm2d,
        bias: bool = False,
        inplace: bool = True,
        **kwargs: Any,
    ) -> None:
        if padding is None:
            padding = (kernel_size - 1) // 2 * kwargs.get("dilation", 1)
        layers = [
            conv(
                in_features,
                out_features,
                kernel_size,
                stride=stride,
                padding=padding,
                bias=bias,
                **kwargs,
            )
        ]
        if norm_layer is not None:
            layers.append(norm_layer(out_features))
        if act_layer is not None:
            takes_inplace = "inplace" in inspect.signature(act_layer).parameters
            layers.append(act_layer(inplace=inplace) if takes_inplace else act_layer())
        super().__init__(*layers)


ConvBn = functools.partial(ConvBnAct, act_layer=None)
ConvAct = functools.partial(ConvBnAct, norm_layer=None, bias=True)
