"""Pooling layers to an output of a given size."""

from __future__ import annotations

from typing import Any

from oneflow.functional.nn import adaptive_pooling
from oneflow.module.module import Module
from oneflow.nn.modules.image_layout import accept_channels_last
from oneflow.tensor.tensor import Tensor


class _AdaptiveAvgPool(Module):
    """Average over windows chosen so that the output has a given size."""

    _count: int
    data_format = "channels_first"  # PyTorch's layers have no other

    def __init__(self, output_size: Any, data_format: str | None = None) -> None:
        super().__init__()
        self.output_size = output_size
        self.data_format = data_format or "channels_first"

    def forward(self, input: Tensor) -> Tensor:
        return adaptive_pooling.adaptive_average(
            input, self.output_size, self.data_format, self._count
        )

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPool):
    """Average over windows of ``[N, C, L]`` or ``[C, L]`` to a given length.

    Args:
        output_size: length of the output.

    Shape:
        input: ``(N, C, L)`` or ``(C, L)``.
        output: ``(N, C, output_size)`` or ``(C, output_size)``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.AdaptiveAvgPool1d(5)(flow.randn(1, 64, 8)).shape
        oneflow.Size([1, 64, 5])
    """

    _count = 1


@accept_channels_last
class AdaptiveAvgPool2d(_AdaptiveAvgPool):
    """Average over windows of ``[N, C, H, W]`` or ``[C, H, W]`` to a given size.

    Args:
        output_size: height and width of the output: one number, or two; None keeps a size.
        data_format: ``"channels_first"``, the default, or ``"channels_last"``: ``[N, H, W, C]``.

    Shape:
        input: ``(N, C, H, W)`` or ``(C, H, W)``.
        output: ``(N, C, H_out, W_out)`` or ``(C, H_out, W_out)``, where `output_size` is
            ``(H_out, W_out)``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.AdaptiveAvgPool2d((5, None))(flow.randn(1, 64, 8, 9)).shape
        oneflow.Size([1, 64, 5, 9])
    """

    _count = 2


class AdaptiveAvgPool3d(_AdaptiveAvgPool):
    """Average over windows of ``[N, C, D, H, W]`` to a given size; see `AdaptiveAvgPool2d`.

    Shape:
        input: ``(N, C, D, H, W)`` or ``(C, D, H, W)``.
        output: ``(N, C, D_out, H_out, W_out)`` or without ``N``, with sizes `output_size`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.AdaptiveAvgPool3d(2)(flow.randn(1, 3, 8, 9, 10)).shape
        oneflow.Size([1, 3, 2, 2, 2])
    """

    _count = 3


class _AdaptiveMaxPool(Module):
    """Maximum over windows chosen so that the output has a given size."""

    _count: int
    data_format = "channels_first"  # PyTorch's layers have no other

    def __init__(
        self, output_size: Any, return_indices: bool = False, data_format: str | None = None
    ) -> None:
        super().__init__()
        self.output_size, self.return_indices = output_size, return_indices
        self.data_format = data_format or "channels_first"

    def forward(self, input: Tensor) -> Any:
        return adaptive_pooling.adaptive_maximum(
            input, self.output_size, self.return_indices, self._count, self.data_format
        )

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPool):
    """Maximum over windows of ``[N, C, L]`` or ``[C, L]`` to a given length.

    Args:
        output_size: length of the output.
        return_indices: also return where the maxima are.

    Shape:
        input: ``(N, C, L)`` or ``(C, L)``.
        output: ``(N, C, output_size)`` or ``(C, output_size)``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.AdaptiveMaxPool1d(5)(flow.randn(1, 64, 8)).shape
        oneflow.Size([1, 64, 5])
    """

    _count = 1


class AdaptiveMaxPool2d(_AdaptiveMaxPool):
    """Maximum over windows of ``[N, C, H, W]`` or ``[C, H, W]`` to a given size.

    Args:
        output_size: height and width of the output: one number, or two; None keeps a size.
        return_indices: also return where the maxima are.
        data_format: ``"channels_first"``, the default, or ``"channels_last"``: ``[N, H, W, C]``.

    Shape:
        input: ``(N, C, H, W)`` or ``(C, H, W)``.
        output: ``(N, C, H_out, W_out)`` or ``(C, H_out, W_out)``, where `output_size` is
            ``(H_out, W_out)``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.AdaptiveMaxPool2d((5, None))(flow.randn(1, 64, 8, 9)).shape
        oneflow.Size([1, 64, 5, 9])
    """

    _count = 2


class AdaptiveMaxPool3d(_AdaptiveMaxPool):
    """Maximum over windows of ``[N, C, D, H, W]`` to a given size; see `AdaptiveMaxPool2d`.

    Shape:
        input: ``(N, C, D, H, W)`` or ``(C, D, H, W)``.
        output: ``(N, C, D_out, H_out, W_out)`` or without ``N``, with sizes `output_size`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.AdaptiveMaxPool3d(2)(flow.randn(1, 3, 8, 9, 10)).shape
        oneflow.Size([1, 3, 2, 2, 2])
    """

    _count = 3
