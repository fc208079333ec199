"""Padding as TensorFlow does it, where the size of the input decides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oneflow import Tensor, nn


def get_padding(kernel_size: int, stride: int = 1, dilation: int = 1, **_: Any) -> int:
    """Return the padding on both sides that keeps the size at a stride of 1.

    Example:
        >>> from flowvision.layers.blocks.padding import get_padding
        >>> get_padding(3), get_padding(3, dilation=2)
        (1, 2)
    """
    return ((stride - 1) + dilation * (kernel_size - 1)) // 2


def get_same_padding(x: int, k: int, s: int, d: int) -> int:
    """Return the padding of both sides together for an output of size `x` / `s`, rounded up.

    Args:
        x: the size of the input.
        k: the size of the kernel.
        s: the stride.
        d: the dilation.

    Example:
        >>> from flowvision.layers.blocks.padding import get_same_padding
        >>> get_same_padding(8, 3, 2, 1)
        1
    """
    return max((-(-x // s) - 1) * s + (k - 1) * d + 1 - x, 0)


def is_static_pad(kernel_size: int, stride: int = 1, dilation: int = 1, **_: Any) -> bool:
    """Return whether TensorFlow's padding is the same for all sizes, and on both sides.

    Example:
        >>> from flowvision.layers.blocks.padding import is_static_pad
        >>> is_static_pad(3), is_static_pad(3, stride=2)
        (True, False)
    """
    return stride == 1 and (dilation * (kernel_size - 1)) % 2 == 0


def pad_same(
    x: Tensor, k: Sequence[int], s: Sequence[int], d: Sequence[int] = (1, 1), value: float = 0
) -> Tensor:
    """Pad images as TensorFlow's "SAME" does: an odd element goes to the bottom and the right.

    Args:
        x: a tensor of shape (N, C, H, W).
        k: height and width of the kernel.
        s: the strides.
        d: the dilations.
        value: what to pad with.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.layers.blocks.padding import pad_same
        >>> pad_same(flow.ones(1, 1, 8, 8), (3, 3), (2, 2)).shape
        oneflow.Size([1, 1, 9, 9])
    """
    rows, columns = zip(x.shape[2:], k, s, d, strict=True)
    height, width = get_same_padding(*rows), get_same_padding(*columns)
    pads = (width // 2, width - width // 2, height // 2, height - height // 2)
    return nn.functional.pad(x, pads, value=value) if height or width else x


def get_padding_value(
    padding: str | int | Sequence[int], kernel_size: int, **kwargs: Any
) -> tuple[int | Sequence[int], bool]:
    """Return the padding for a name or a number, and whether it depends on the size of the input.

    Args:
        padding: "same" (as in TensorFlow), "valid", "" for `get_padding`, or the padding itself.
        kernel_size: the kernel size of the convolution.
        **kwargs: `stride` and `dilation` of the convolution.

    Raises:
        ValueError: if there is no such name.

    Example:
        >>> from flowvision.layers.blocks.padding import get_padding_value
        >>> get_padding_value("same", 3), get_padding_value("same", 3, stride=2)
        ((1, False), (0, True))
    """
    if not isinstance(padding, str):
        return padding, False
    name = padding.lower()
    if name not in ("same", "valid", ""):
        raise ValueError(f"`padding` must be 'same', 'valid', '' or a number, not {padding!r}")
    if name == "valid":
        return 0, False
    if name == "same" and not is_static_pad(kernel_size, **kwargs):
        return 0, True
    return get_padding(kernel_size, **kwargs), False
