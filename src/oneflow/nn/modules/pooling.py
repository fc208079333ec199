"""Pooling layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oneflow.base.flags import reject_strings
from oneflow.base.sizes import IntOrInts
from oneflow.functional.nn import norm_pooling, pooling, unpool
from oneflow.functional.nn.spatial import per_dimension
from oneflow.module.module import Module
from oneflow.nn.modules.adaptive_pooling import (
    AdaptiveAvgPool1d as AdaptiveAvgPool1d,
    AdaptiveAvgPool2d as AdaptiveAvgPool2d,
    AdaptiveAvgPool3d as AdaptiveAvgPool3d,
    AdaptiveMaxPool1d as AdaptiveMaxPool1d,
    AdaptiveMaxPool2d as AdaptiveMaxPool2d,
    AdaptiveMaxPool3d as AdaptiveMaxPool3d,
)
from oneflow.nn.modules.image_layout import accept_channels_last
from oneflow.tensor.tensor import Tensor


class _MaxPool(Module):
    """Maximum over sliding windows."""

    _count: int

    @reject_strings
    def __init__(
        self,
        kernel_size: IntOrInts,
        stride: IntOrInts | None = None,
        padding: IntOrInts = 0,
        dilation: IntOrInts = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding, self.dilation = padding, dilation
        self.return_indices, self.ceil_mode = return_indices, ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        return pooling.max_pool(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            self.return_indices,
            self.ceil_mode,
            "channels_first",
            self._count,
        )

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPool):
    """Maximum over windows of ``[N, C, L]`` or ``[C, L]``; arguments as for `MaxPool2d`.

    Shape:
        input: ``(N, C, L)`` or ``(C, L)``.
        output: ``(N, C, L_out)`` or ``(C, L_out)``, where, without `ceil_mode`,
            ``L_out = (L + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.MaxPool1d(3, stride=2)(flow.randn(20, 16, 50)).shape
        oneflow.Size([20, 16, 24])
    """

    _count = 1


@accept_channels_last
class MaxPool2d(_MaxPool):
    """Maximum over windows of ``[N, C, H, W]`` or ``[C, H, W]``.

    Args:
        kernel_size: size of the windows, one number or one per spatial dimension.
        stride: distance between windows; default: `kernel_size`.
        padding: elements of minus infinity on both sides.
        dilation: distance between the elements of a window.
        return_indices: also return where the maxima are, for `MaxUnpool2d`.
        ceil_mode: also take a last window that is partly outside.

    Shape:
        input: ``(N, C, H, W)`` or ``(C, H, W)``.
        output: ``(N, C, H_out, W_out)`` or ``(C, H_out, W_out)``, where, without `ceil_mode`,
            ``H_out = (H + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1``, with the
            first numbers of pairs, and ``W_out`` likewise.
        indices: the shape of the output, if `return_indices`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.MaxPool2d(3, stride=2)(flow.randn(20, 16, 50, 32)).shape
        oneflow.Size([20, 16, 24, 15])
    """

    _count = 2


class MaxPool3d(_MaxPool):
    """Maximum over windows of ``[N, C, D, H, W]``; arguments as for `MaxPool2d`.

    Shape:
        input: ``(N, C, D, H, W)`` or ``(C, D, H, W)``.
        output: ``(N, C, D_out, H_out, W_out)`` or ``(C, D_out, H_out, W_out)``, as of `MaxPool2d`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.MaxPool3d(3, stride=2)(flow.randn(2, 3, 9, 9, 9)).shape
        oneflow.Size([2, 3, 4, 4, 4])
    """

    _count = 3


class _MaxUnpool(Module):
    """Undo a maximum over windows."""

    _count: int

    def __init__(
        self, kernel_size: IntOrInts, stride: IntOrInts | None = None, padding: IntOrInts = 0
    ) -> None:
        super().__init__()
        stride = kernel_size if stride is None else stride
        self.kernel_size = per_dimension(kernel_size, self._count, "kernel_size")
        self.stride = per_dimension(stride, self._count, "stride")
        self.padding = per_dimension(padding or 0, self._count, "padding")

    def forward(
        self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None
    ) -> Tensor:
        return unpool.max_unpool(
            input,
            indices,
            self.kernel_size,
            self.stride,
            self.padding,
            output_size,
            self._count,
        )

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpool):
    """Undo `MaxPool1d`; arguments as for `MaxUnpool2d`.

    Shape:
        input: ``(N, C, L)`` or ``(C, L)``.
        indices: the shape of the input.
        output: ``(N, C, L_out)`` or ``(C, L_out)``; without `output_size`
            ``L_out = (L - 1) * stride - 2 * padding + kernel_size``.

    Example:
        >>> import oneflow as flow
        >>> values, indices = flow.nn.MaxPool1d(2, return_indices=True)(flow.randn(1, 1, 8))
        >>> flow.nn.MaxUnpool1d(2)(values, indices).shape
        oneflow.Size([1, 1, 8])
    """

    _count = 1


class MaxUnpool2d(_MaxUnpool):
    """Put maxima back where `MaxPool2d` found them; everything else is zero.

    Args:
        kernel_size: the value given to `MaxPool2d`.
        stride: the value given to `MaxPool2d`.
        padding: the value given to `MaxPool2d`.

    Shape:
        input: ``(N, C, H, W)`` or ``(C, H, W)``.
        indices: the shape of the input.
        output: ``(N, C, H_out, W_out)`` or ``(C, H_out, W_out)``; without `output_size`
            ``H_out = (H - 1) * stride[0] - 2 * padding[0] + kernel_size[0]``, ``W_out`` likewise.

    Example:
        >>> import oneflow as flow
        >>> values, indices = flow.nn.MaxPool2d(2, return_indices=True)(flow.randn(1, 1, 4, 4))
        >>> flow.nn.MaxUnpool2d(2)(values, indices).shape
        oneflow.Size([1, 1, 4, 4])
    """

    _count = 2


class MaxUnpool3d(_MaxUnpool):
    """Undo `MaxPool3d`; arguments as for `MaxUnpool2d`.

    Shape:
        input: ``(N, C, D, H, W)`` or ``(C, D, H, W)``.
        indices: the shape of the input.
        output: ``(N, C, D_out, H_out, W_out)`` or without ``N``, with sizes as of `MaxUnpool2d`.

    Example:
        >>> import oneflow as flow
        >>> values, indices = flow.nn.MaxPool3d(2, return_indices=True)(flow.randn(1, 1, 2, 4, 4))
        >>> flow.nn.MaxUnpool3d(2)(values, indices).shape
        oneflow.Size([1, 1, 2, 4, 4])
    """

    _count = 3


class _AvgPool(Module):
    """Average over sliding windows."""

    _count: int

    divisor_override: int | None = None

    @reject_strings
    def __init__(
        self,
        kernel_size: IntOrInts,
        stride: IntOrInts | None = None,
        padding: IntOrInts = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = 0,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding, self.ceil_mode = padding, ceil_mode
        self.count_include_pad, self.divisor_override = count_include_pad, divisor_override

    def _attributes_in_pytorch(self) -> dict[str, Any]:
        return {"divisor_override": self.divisor_override or None}

    def forward(self, input: Tensor) -> Tensor:
        return pooling.average_pool(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
            "channels_first",
            self._count,
        )

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPool):
    """Average over windows of ``[N, C, L]`` or ``[C, L]``.

    Args:
        kernel_size: size of the windows.
        stride: distance between windows; default: `kernel_size`.
        padding: zeros on both sides.
        ceil_mode: also take a last window that is partly outside.
        count_include_pad: count the padding in the average.

    Shape:
        input: ``(N, C, L)`` or ``(C, L)``.
        output: ``(N, C, L_out)`` or ``(C, L_out)``, where, without `ceil_mode`,
            ``L_out = (L + 2 * padding - kernel_size) // stride + 1``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.AvgPool1d(3, stride=2)(flow.randn(20, 16, 50)).shape
        oneflow.Size([20, 16, 24])
    """

    _count = 1

    @reject_strings
    def __init__(
        self,
        kernel_size: IntOrInts,
        stride: IntOrInts | None = None,
        padding: IntOrInts = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        stride = kernel_size if stride is None else stride
        super().__init__(
            per_dimension(kernel_size, 1, "kernel_size"),
            per_dimension(stride, 1, "stride"),
            per_dimension(padding, 1, "padding"),
            ceil_mode,
            count_include_pad,
        )


@accept_channels_last
class AvgPool2d(_AvgPool):
    """Average over windows of ``[N, C, H, W]`` or ``[C, H, W]``.

    Args:
        kernel_size: size of the windows, one number or one per spatial dimension.
        stride: distance between windows; default: `kernel_size`.
        padding: zeros on both sides.
        ceil_mode: also take a last window that is partly outside.
        count_include_pad: count the padding in the average.
        divisor_override: divide by this number instead of the size of the window; 0: do not.

    Shape:
        input: ``(N, C, H, W)`` or ``(C, H, W)``.
        output: ``(N, C, H_out, W_out)`` or ``(C, H_out, W_out)``, where, without `ceil_mode`,
            ``H_out = (H + 2 * padding - kernel_size) // stride + 1``, with the first numbers of
            pairs, and ``W_out`` likewise.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.AvgPool2d(3, stride=2)(flow.randn(20, 16, 50, 32)).shape
        oneflow.Size([20, 16, 24, 15])
    """

    _count = 2


class AvgPool3d(_AvgPool):
    """Average over windows of ``[N, C, D, H, W]``; arguments as for `AvgPool2d`.

    Shape:
        input: ``(N, C, D, H, W)`` or ``(C, D, H, W)``.
        output: ``(N, C, D_out, H_out, W_out)`` or ``(C, D_out, H_out, W_out)``, as of `AvgPool2d`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.AvgPool3d(3, stride=2)(flow.randn(2, 3, 9, 9, 9)).shape
        oneflow.Size([2, 3, 4, 4, 4])
    """

    _count = 3


class _LPPool(Module):
    """p-norm over sliding windows."""

    _count: int

    @reject_strings
    def __init__(
        self,
        norm_type: float,
        kernel_size: IntOrInts,
        stride: IntOrInts | None = None,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.norm_type, self.kernel_size = norm_type, kernel_size
        self.stride, self.ceil_mode = stride, ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        return norm_pooling.norm_pool(
            input, self.norm_type, self.kernel_size, self.stride, self.ceil_mode, self._count
        )

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPool):
    """p-norm over windows of ``[N, C, L]`` or ``[C, L]``; arguments as for `LPPool2d`.

    Shape:
        input: ``(N, C, L)`` or ``(C, L)``.
        output: ``(N, C, L_out)`` or ``(C, L_out)``, where, without `ceil_mode`,
            ``L_out = (L - kernel_size) // stride + 1``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.LPPool1d(2, 3, stride=2)(flow.randn(20, 16, 50)).shape
        oneflow.Size([20, 16, 24])
    """

    _count = 1


class LPPool2d(_LPPool):
    """p-norm over windows of ``[N, C, H, W]`` or ``[C, H, W]``.

    Args:
        norm_type: p.
        kernel_size: size of the windows, one number or one per spatial dimension.
        stride: distance between windows; default: `kernel_size`.
        ceil_mode: also take a last window that is partly outside.

    Shape:
        input: ``(N, C, H, W)`` or ``(C, H, W)``.
        output: ``(N, C, H_out, W_out)`` or ``(C, H_out, W_out)``, where, without `ceil_mode`,
            ``H_out = (H - kernel_size) // stride + 1`` with the first numbers of pairs; ``W_out``
            likewise.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.LPPool2d(2, 3, stride=2)(flow.randn(20, 16, 50, 32)).shape
        oneflow.Size([20, 16, 24, 15])
    """

    _count = 2


class LPPool3d(_LPPool):
    """p-norm over windows of ``[N, C, D, H, W]`` or ``[C, D, H, W]``; see `LPPool2d`.

    Shape:
        input: ``(N, C, D, H, W)`` or ``(C, D, H, W)``.
        output: ``(N, C, D_out, H_out, W_out)`` or ``(C, D_out, H_out, W_out)``, as of `LPPool2d`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.LPPool3d(2, 3, stride=2)(flow.ones(1, 2, 5, 7, 9)).shape
        oneflow.Size([1, 2, 2, 3, 4])
    """

    _count = 3
