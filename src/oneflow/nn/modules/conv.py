"""Convolution layers over one, two and three spatial dimensions, and their transposes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from oneflow.base.device import Device
from oneflow.base.dtype import DType
from oneflow.base.sizes import IntOrInts
from oneflow.functional.nn import conv as functional
from oneflow.functional.nn.padding import pad
from oneflow.functional.nn.spatial import per_dimension
from oneflow.module.module import Module
from oneflow.module.parameter import new_parameter
from oneflow.nn import init
from oneflow.nn.modules.image_layout import accept_channels_last
from oneflow.tensor.tensor import Tensor

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    """Base of convolution layers: parameters, checks, printing."""

    _count: int
    _transposed = False

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: IntOrInts,
        stride: IntOrInts,
        padding: str | IntOrInts,
        dilation: IntOrInts,
        output_padding: IntOrInts,
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Device | str | None,
        dtype: DType | None,
    ) -> None:
        super().__init__()
        count = self._count
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size = per_dimension(kernel_size, count, "kernel_size")
        self.stride = per_dimension(stride, count, "stride")
        self.padding = (
            padding if isinstance(padding, str) else per_dimension(padding, count, "padding")
        )
        self.dilation = per_dimension(dilation, count, "dilation")
        self.transposed = self._transposed
        self.output_padding = per_dimension(output_padding, count, "output_padding")
        self.padding_mode = padding_mode
        self._check()
        first, second = (
            (in_channels, out_channels) if self.transposed else (out_channels, in_channels)
        )
        shape = (first, second // groups, *self.kernel_size)
        self.weight = new_parameter(shape, dtype, device)
        self.register_parameter(
            "bias", new_parameter((out_channels,), dtype, device) if bias else None
        )
        self.reset_parameters()

    def _check(self) -> None:
        if self.groups <= 0:
            raise ValueError(f"groups must be a positive integer, got {self.groups}")
        for name, channels in (
            ("in_channels", self.in_channels),
            ("out_channels", self.out_channels),
        ):
            if channels % self.groups:
                raise ValueError(
                    f"{name} must be divisible by groups, got {name}={channels}, "
                    f"groups={self.groups}"
                )
        if self.padding_mode not in _PADDING_MODES:
            raise ValueError(
                f"padding_mode must be one of {set(_PADDING_MODES)}, "
                f"but got padding_mode='{self.padding_mode}'"
            )
        if isinstance(self.padding, str):
            if self.padding not in ("same", "valid"):
                raise ValueError(
                    f"Invalid padding string {self.padding!r}, should be one of 'same', 'valid'"
                )
            if self.padding == "same" and any(step != 1 for step in self.stride):
                raise ValueError("padding='same' is not supported for strided convolutions")

    def reset_parameters(self) -> None:
        """Draw new initial values, as PyTorch does."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is None:
            return
        fan_in = math.prod(self.weight.shape[1:])
        if fan_in:
            bound = 1 / math.sqrt(fan_in)
            init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        zeros = (0,) * self._count
        parts = [
            f"{self.in_channels}, {self.out_channels}",
            f"kernel_size={self.kernel_size}, stride={self.stride}",
        ]
        parts += [f"padding={self.padding}"] if self.padding != zeros else []
        parts += [f"dilation={self.dilation}"] if self.dilation != (1,) * self._count else []
        parts += [f"output_padding={self.output_padding}"] if self.output_padding != zeros else []
        parts += [f"groups={self.groups}"] if self.groups != 1 else []
        parts += ["bias=False"] if self.bias is None else []
        parts += [f"padding_mode={self.padding_mode}"] if self.padding_mode != "zeros" else []
        return ", ".join(parts)


class _Conv(_ConvNd):
    """A convolution layer."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: IntOrInts,
        stride: IntOrInts = 1,
        padding: str | IntOrInts = 0,
        dilation: IntOrInts = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            0,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """The convolution with any weight and bias, under PyTorch's name."""
        padding = self.padding
        if self.padding_mode != "zeros":
            input = pad(input, self._pad_widths(), mode=self.padding_mode)
            padding = 0
        return functional.convolution(
            input,
            weight,
            bias,
            self.stride,
            padding,
            self.dilation,
            self.groups,
            "channels_first",
            self._count,
        )

    def _attributes_in_pytorch(self) -> dict[str, Any]:
        return {"_reversed_padding_repeated_twice": self._pad_widths()}

    def _pad_widths(self) -> list[int]:
        """Elements to add before and after each spatial dimension, last dimension first."""
        pairs = functional.padding_pairs(self.padding, self.stride, self.dilation, self.kernel_size)
        return [amount for pair in reversed(pairs) for amount in pair]


class Conv1d(_Conv):
    """Convolution over one spatial dimension; arguments as for `Conv2d`.

    Attributes:
        weight: ``(out_channels, in_channels // groups, kernel_size)``, at first as of `Conv2d`.
        bias: ``(out_channels,)``, at first as of `Conv2d`; None without `bias`.

    Shape:
        input: ``(N, in_channels, L)`` or ``(in_channels, L)``.
        output: ``(N, out_channels, L_out)`` or ``(out_channels, L_out)``, where
            ``L_out = (L + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.Conv1d(16, 33, 3, stride=2)(flow.ones(20, 16, 50)).shape
        oneflow.Size([20, 33, 24])
    """

    _count = 1


@accept_channels_last
class Conv2d(_Conv):
    """Convolution over two spatial dimensions.

    Args:
        in_channels: channels of the input.
        out_channels: channels of the output.
        kernel_size: size of the kernel, one number or one per spatial dimension.
        stride: step of the kernel.
        padding: elements added on both sides, or ``"valid"`` (none) or ``"same"``.
        dilation: distance between the elements of the kernel.
        groups: number of groups that the channels are divided into.
        bias: whether to add a learnable bias.
        padding_mode: ``"zeros"``, ``"reflect"``, ``"replicate"`` or ``"circular"``.
        device: where the parameters live.
        dtype: the dtype of the parameters.

    Attributes:
        weight: ``(out_channels, in_channels // groups, kernel_size[0], kernel_size[1])``, at first
            uniform in ``[-bound, bound]`` with ``bound = 1 / sqrt(fan_in)`` and
            ``fan_in = in_channels // groups * kernel_size[0] * kernel_size[1]``.
        bias: ``(out_channels,)``, at first uniform within the same bound; None without `bias`.

    Shape:
        input: ``(N, in_channels, H, W)`` or ``(in_channels, H, W)``.
        output: ``(N, out_channels, H_out, W_out)`` or ``(out_channels, H_out, W_out)``, where
            ``H_out = (H + 2 * padding[0] - reach) // stride[0] + 1``, the kernel's reach is
            ``reach = dilation[0] * (kernel_size[0] - 1) + 1``, and ``W_out`` likewise with index 1.

    Raises:
        ValueError: channels that `groups` does not divide, or an unknown padding.

    Example:
        >>> import oneflow as flow
        >>> layer = flow.nn.Conv2d(16, 33, (3, 5), stride=(2, 1), padding=(4, 2))
        >>> layer(flow.ones(2, 16, 50, 100)).shape
        oneflow.Size([2, 33, 28, 100])
    """

    _count = 2


class Conv3d(_Conv):
    """Convolution over three spatial dimensions; arguments as for `Conv2d`.

    Attributes:
        weight: ``(out_channels, in_channels // groups, *kernel_size)``, at first as of `Conv2d`.
        bias: ``(out_channels,)``, at first as of `Conv2d`; None without `bias`.

    Shape:
        input: ``(N, in_channels, D, H, W)`` or ``(in_channels, D, H, W)``.
        output: ``(N, out_channels, D_out, H_out, W_out)`` or without ``N``, where
            ``D_out = (D + 2 * padding[0] - reach) // stride[0] + 1``, the kernel's reach is
            ``reach = dilation[0] * (kernel_size[0] - 1) + 1``, and ``H_out``, ``W_out`` likewise.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.Conv3d(3, 4, 2)(flow.ones(1, 3, 5, 6, 7)).shape
        oneflow.Size([1, 4, 4, 5, 6])
    """

    _count = 3


class _ConvTranspose(_ConvNd):
    """A transposed convolution layer."""

    _transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: IntOrInts,
        stride: IntOrInts = 1,
        padding: str | IntOrInts = 0,
        output_padding: IntOrInts = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: IntOrInts = 1,
        padding_mode: str = "zeros",
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(
                f'Only "zeros" padding mode is supported for {type(self).__name__}, '
                f"got {padding_mode!r}"
            )
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            output_padding,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        extra = self.output_padding
        if output_size is not None:
            extra = self._extra_for(input, tuple(output_size))
        return functional.transposed_convolution(
            input,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            extra,
            self.groups,
            self.dilation,
            "channels_first",
            self._count,
        )

    def _extra_for(self, input: Tensor, output_size: tuple[int, ...]) -> tuple[int, ...]:
        """The output padding that leads to spatial sizes `output_size`."""
        count = self._count
        if len(output_size) == input.ndim:
            output_size = output_size[input.ndim - count :]
        if len(output_size) != count:
            raise ValueError(
                f"{type(self).__name__}: output_size must have {count} or {input.ndim} elements, "
                f"got {len(output_size)}"
            )
        padding = per_dimension(self.padding, count, "padding")
        smallest = [
            (length - 1) * step - 2 * pad + factor * (width - 1) + 1
            for length, step, pad, factor, width in zip(
                input.shape[input.ndim - count :],
                self.stride,
                padding,
                self.dilation,
                self.kernel_size,
                strict=True,
            )
        ]
        largest = [low + step - 1 for low, step in zip(smallest, self.stride, strict=True)]
        if not all(
            low <= size <= high
            for low, size, high in zip(smallest, output_size, largest, strict=True)
        ):
            raise ValueError(
                f"requested an output size of {list(output_size)}, but valid sizes range from "
                f"{smallest} to {largest} (for an input of {list(input.shape)})"
            )
        return tuple(size - low for size, low in zip(output_size, smallest, strict=True))


class ConvTranspose1d(_ConvTranspose):
    """Transposed convolution over one spatial dimension; arguments as for `ConvTranspose2d`.

    Attributes:
        weight: ``(in_channels, out_channels // groups, kernel_size)``.
        bias: ``(out_channels,)``; None without `bias`. Both start as of `ConvTranspose2d`.

    Shape:
        input: ``(N, in_channels, L)`` or ``(in_channels, L)``.
        output: ``(N, out_channels, L_out)`` or ``(out_channels, L_out)``; without `output_size`
            ``L_out = (L - 1) * stride - 2 * padding + reach + output_padding``, where
            ``reach = dilation * (kernel_size - 1) + 1``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.ConvTranspose1d(16, 33, 3, stride=2)(flow.ones(20, 16, 50)).shape
        oneflow.Size([20, 33, 101])
    """

    _count = 1


class ConvTranspose2d(_ConvTranspose):
    """Transposed convolution over two spatial dimensions, also called deconvolution.

    Args:
        in_channels: channels of the input.
        out_channels: channels of the output.
        kernel_size: size of the kernel, one number or one per spatial dimension.
        stride: stride of the convolution whose transpose this is.
        padding: its zero padding; removes as many elements from both sides of the output.
        output_padding: elements added at the end of each spatial dimension.
        groups: number of groups that the channels are divided into.
        bias: whether to add a learnable bias.
        dilation: distance between the elements of the kernel.
        padding_mode: only ``"zeros"``.
        device: where the parameters live.
        dtype: the dtype of the parameters.

    Attributes:
        weight: ``(in_channels, out_channels // groups, kernel_size[0], kernel_size[1])``, at first
            uniform in ``[-bound, bound]`` with ``bound = 1 / sqrt(fan_in)`` and
            ``fan_in = out_channels // groups * kernel_size[0] * kernel_size[1]``.
        bias: ``(out_channels,)``, at first uniform within the same bound; None without `bias`.

    Shape:
        input: ``(N, in_channels, H, W)`` or ``(in_channels, H, W)``.
        output: ``(N, out_channels, H_out, W_out)`` or ``(out_channels, H_out, W_out)``:
            `output_size`, or
            ``H_out = (H - 1) * stride[0] - 2 * padding[0] + reach + output_padding[0]``, where
            ``reach = dilation[0] * (kernel_size[0] - 1) + 1``, and ``W_out`` likewise.

    Example:
        >>> import oneflow as flow
        >>> layer = flow.nn.ConvTranspose2d(16, 16, 3, stride=2, padding=1)
        >>> layer(flow.ones(1, 16, 6, 6), output_size=(12, 12)).shape
        oneflow.Size([1, 16, 12, 12])
    """

    _count = 2


class ConvTranspose3d(_ConvTranspose):
    """Transposed convolution over three spatial dimensions; arguments as for `ConvTranspose2d`.

    Attributes:
        weight: ``(in_channels, out_channels // groups, *kernel_size)``.
        bias: ``(out_channels,)``; None without `bias`. Both start as of `ConvTranspose2d`.

    Shape:
        input: ``(N, in_channels, D, H, W)`` or ``(in_channels, D, H, W)``.
        output: ``(N, out_channels, D_out, H_out, W_out)`` or without ``N``, with sizes as of
            `ConvTranspose2d`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.ConvTranspose3d(3, 4, 2)(flow.ones(1, 3, 5, 6, 7)).shape
        oneflow.Size([1, 4, 6, 7, 8])
    """

    _count = 3
