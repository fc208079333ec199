"""Layers that add elements around the spatial dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oneflow.base.shape import is_sequence
from oneflow.functional.nn.padding import pad
from oneflow.module.module import Module
from oneflow.tensor.tensor import Tensor


class _Padding(Module):
    """Base of padding layers.

    Args:
        padding: the same number of elements everywhere, or two numbers (before, after) for the
            last dimension, then for the one before it, and so on.
    """

    dimensions = 0
    mode = "constant"
    value: float = 0

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__()
        pad_widths: Any = padding if is_sequence(padding) else [padding] * 2 * self.dimensions
        self.padding = tuple(pad_widths)
        if len(self.padding) != 2 * self.dimensions:
            raise ValueError(
                f"`padding` must be a number or {2 * self.dimensions} of them, got {padding}"
            )

    def _attributes_in_pytorch(self) -> dict[str, Any]:
        return {"value": self.value}

    def forward(self, input: Tensor) -> Tensor:
        batched, single = self.dimensions + 2, self.dimensions + 1
        if self.mode != "constant" and input.ndim not in (batched, single):
            raise ValueError(f"expected {single}D or {batched}D input (got {input.ndim}D input)")
        return pad(input, self.padding, self.mode, self.value)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPadNd(_Padding):
    """Base of layers that add a number."""

    def __init__(self, padding: int | Sequence[int], value: float = 0) -> None:
        super().__init__(padding)
        self.value = value

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class _ReflectionPadNd(_Padding):
    """Base of layers that mirror the input."""

    mode = "reflect"


class _ReplicationPadNd(_Padding):
    """Base of layers that repeat the border."""

    mode = "replicate"


class _CircularPadNd(_Padding):
    """Base of layers that continue the input with its other end."""

    mode = "circular"


class ConstantPad1d(_ConstantPadNd):
    """Adds a number around the last 1 dimension.

    Args:
        padding: how many elements, as one number or 2: before and after, last dimension first.
        value: the number added.

    Shape:
        input: ``(N, C, L)`` or ``(C, L)``.
        output: ``(N, C, L_out)`` or ``(C, L_out)``, where
            ``L_out = L + padding[0] + padding[1]``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.ConstantPad1d(1, 3.5)(flow.ones(1, 2, 4)).shape
        oneflow.Size([1, 2, 6])
    """

    dimensions = 1


class ConstantPad2d(_ConstantPadNd):
    """Adds a number around the last 2 dimensions.

    Args:
        padding: how many elements, as one number or 4: before and after, last dimension first.
        value: the number added.

    Shape:
        input: ``(N, C, H, W)`` or ``(C, H, W)``.
        output: ``(N, C, H_out, W_out)`` or ``(C, H_out, W_out)``, where
            ``W_out = W + padding[0] + padding[1]`` and ``H_out = H + padding[2] + padding[3]``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.ConstantPad2d(1, 3.5)(flow.ones(1, 1, 3, 4)).shape
        oneflow.Size([1, 1, 5, 6])
    """

    dimensions = 2


class ConstantPad3d(_ConstantPadNd):
    """Adds a number around the last 3 dimensions.

    Args:
        padding: how many elements, as one number or 6: before and after, last dimension first.
        value: the number added.

    Shape:
        input: ``(N, C, D, H, W)`` or ``(C, D, H, W)``.
        output: ``(N, C, D_out, H_out, W_out)`` or ``(C, D_out, H_out, W_out)``, where
            ``W_out = W + padding[0] + padding[1]``, ``H_out = H + padding[2] + padding[3]`` and
            ``D_out = D + padding[4] + padding[5]``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.ConstantPad3d(1, 3.5)(flow.ones(1, 1, 2, 3, 4)).shape
        oneflow.Size([1, 1, 4, 5, 6])
    """

    dimensions = 3


class ZeroPad1d(_Padding):
    """Adds zeros around the last 1 dimension.

    Args:
        padding: how many elements, as one number or 2: before and after, last dimension first.

    Shape:
        input: ``(N, C, L)`` or ``(C, L)``.
        output: ``(N, C, L_out)`` or ``(C, L_out)``, where
            ``L_out = L + padding[0] + padding[1]``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.ZeroPad1d(1)(flow.ones(1, 2, 4)).shape
        oneflow.Size([1, 2, 6])
    """

    dimensions = 1


class ZeroPad2d(_Padding):
    """Adds zeros around the last 2 dimensions.

    Args:
        padding: how many elements, as one number or 4: before and after, last dimension first.

    Shape:
        input: ``(N, C, H, W)`` or ``(C, H, W)``.
        output: ``(N, C, H_out, W_out)`` or ``(C, H_out, W_out)``, where
            ``W_out = W + padding[0] + padding[1]`` and ``H_out = H + padding[2] + padding[3]``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.ZeroPad2d(1)(flow.ones(1, 1, 3, 4)).shape
        oneflow.Size([1, 1, 5, 6])
    """

    dimensions = 2


class ZeroPad3d(_Padding):
    """Adds zeros around the last 3 dimensions.

    Args:
        padding: how many elements, as one number or 6: before and after, last dimension first.

    Shape:
        input: ``(N, C, D, H, W)`` or ``(C, D, H, W)``.
        output: ``(N, C, D_out, H_out, W_out)`` or ``(C, D_out, H_out, W_out)``, where
            ``W_out = W + padding[0] + padding[1]``, ``H_out = H + padding[2] + padding[3]`` and
            ``D_out = D + padding[4] + padding[5]``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.ZeroPad3d(1)(flow.ones(1, 1, 2, 3, 4)).shape
        oneflow.Size([1, 1, 4, 5, 6])
    """

    dimensions = 3


class ReflectionPad1d(_ReflectionPadNd):
    """Mirrors the input, without its border, around the last 1 dimension.

    Args:
        padding: how many elements, as one number or 2: before and after, last dimension first.

    Shape:
        input: ``(N, C, L)`` or ``(C, L)``.
        output: ``(N, C, L_out)`` or ``(C, L_out)``, where
            ``L_out = L + padding[0] + padding[1]``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.ReflectionPad1d(1)(flow.ones(1, 2, 4)).shape
        oneflow.Size([1, 2, 6])
    """

    dimensions = 1


class ReflectionPad2d(_ReflectionPadNd):
    """Mirrors the input, without its border, around the last 2 dimensions.

    Args:
        padding: how many elements, as one number or 4: before and after, last dimension first.

    Shape:
        input: ``(N, C, H, W)`` or ``(C, H, W)``.
        output: ``(N, C, H_out, W_out)`` or ``(C, H_out, W_out)``, where
            ``W_out = W + padding[0] + padding[1]`` and ``H_out = H + padding[2] + padding[3]``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.ReflectionPad2d(1)(flow.ones(1, 1, 3, 4)).shape
        oneflow.Size([1, 1, 5, 6])
    """

    dimensions = 2


class ReflectionPad3d(_ReflectionPadNd):
    """Mirrors the input, without its border, around the last 3 dimensions.

    Args:
        padding: how many elements, as one number or 6: before and after, last dimension first.

    Shape:
        input: ``(N, C, D, H, W)`` or ``(C, D, H, W)``.
        output: ``(N, C, D_out, H_out, W_out)`` or ``(C, D_out, H_out, W_out)``, where
            ``W_out = W + padding[0] + padding[1]``, ``H_out = H + padding[2] + padding[3]`` and
            ``D_out = D + padding[4] + padding[5]``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.ReflectionPad3d(1)(flow.ones(1, 1, 2, 3, 4)).shape
        oneflow.Size([1, 1, 4, 5, 6])
    """

    dimensions = 3


class ReplicationPad1d(_ReplicationPadNd):
    """Repeats the border around the last 1 dimension.

    Args:
        padding: how many elements, as one number or 2: before and after, last dimension first.

    Shape:
        input: ``(N, C, L)`` or ``(C, L)``.
        output: ``(N, C, L_out)`` or ``(C, L_out)``, where
            ``L_out = L + padding[0] + padding[1]``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.ReplicationPad1d(1)(flow.ones(1, 2, 4)).shape
        oneflow.Size([1, 2, 6])
    """

    dimensions = 1


class ReplicationPad2d(_ReplicationPadNd):
    """Repeats the border around the last 2 dimensions.

    Args:
        padding: how many elements, as one number or 4: before and after, last dimension first.

    Shape:
        input: ``(N, C, H, W)`` or ``(C, H, W)``.
        output: ``(N, C, H_out, W_out)`` or ``(C, H_out, W_out)``, where
            ``W_out = W + padding[0] + padding[1]`` and ``H_out = H + padding[2] + padding[3]``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.ReplicationPad2d(1)(flow.ones(1, 1, 3, 4)).shape
        oneflow.Size([1, 1, 5, 6])
    """

    dimensions = 2


class ReplicationPad3d(_ReplicationPadNd):
    """Repeats the border around the last 3 dimensions.

    Args:
        padding: how many elements, as one number or 6: before and after, last dimension first.

    Shape:
        input: ``(N, C, D, H, W)`` or ``(C, D, H, W)``.
        output: ``(N, C, D_out, H_out, W_out)`` or ``(C, D_out, H_out, W_out)``, where
            ``W_out = W + padding[0] + padding[1]``, ``H_out = H + padding[2] + padding[3]`` and
            ``D_out = D + padding[4] + padding[5]``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.ReplicationPad3d(1)(flow.ones(1, 1, 2, 3, 4)).shape
        oneflow.Size([1, 1, 4, 5, 6])
    """

    dimensions = 3


class CircularPad1d(_CircularPadNd):
    """Continues with the other end around the last 1 dimension.

    Args:
        padding: how many elements, as one number or 2: before and after, last dimension first.

    Shape:
        input: ``(N, C, L)`` or ``(C, L)``.
        output: ``(N, C, L_out)`` or ``(C, L_out)``, where
            ``L_out = L + padding[0] + padding[1]``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.CircularPad1d(1)(flow.ones(1, 2, 4)).shape
        oneflow.Size([1, 2, 6])
    """

    dimensions = 1


class CircularPad2d(_CircularPadNd):
    """Continues with the other end around the last 2 dimensions.

    Args:
        padding: how many elements, as one number or 4: before and after, last dimension first.

    Shape:
        input: ``(N, C, H, W)`` or ``(C, H, W)``.
        output: ``(N, C, H_out, W_out)`` or ``(C, H_out, W_out)``, where
            ``W_out = W + padding[0] + padding[1]`` and ``H_out = H + padding[2] + padding[3]``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.CircularPad2d(1)(flow.ones(1, 1, 3, 4)).shape
        oneflow.Size([1, 1, 5, 6])
    """

    dimensions = 2


class CircularPad3d(_CircularPadNd):
    """Continues with the other end around the last 3 dimensions.

    Args:
        padding: how many elements, as one number or 6: before and after, last dimension first.

    Shape:
        input: ``(N, C, D, H, W)`` or ``(C, D, H, W)``.
        output: ``(N, C, D_out, H_out, W_out)`` or ``(C, D_out, H_out, W_out)``, where
            ``W_out = W + padding[0] + padding[1]``, ``H_out = H + padding[2] + padding[3]`` and
            ``D_out = D + padding[4] + padding[5]``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.CircularPad3d(1)(flow.ones(1, 1, 2, 3, 4)).shape
        oneflow.Size([1, 1, 4, 5, 6])
    """

    dimensions = 3
