"""New tensors whose elements lie in memory in a given order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oneflow.functional.creation.factory_functions import empty
from oneflow.functional.creation.options import sizes_of
from oneflow.functional.registry import function
from oneflow.functional.shape.strided_views import as_strided
from oneflow.primitives.strides import row_major
from oneflow.tensor.methods import attach
from oneflow.tensor.tensor import Tensor


@function(method=False)
def empty_strided(size: Sequence[int], stride: Sequence[int], **options: Any) -> Tensor:
    """A tensor with these strides, in memory that is just large enough; its values are undefined.

    Args:
        size: the shape.
        stride: distance between neighbours along each dimension, in elements.
        **options: options of `empty`.

    Raises:
        RuntimeError: a stride is negative, or there are not as many as sizes.

    Example:
        >>> import oneflow as flow
        >>> x = flow.empty_strided((2, 3), (1, 2))
        >>> x.shape, x.stride()
        (oneflow.Size([2, 3]), (1, 2))
    """
    shape, strides = sizes_of((size,), "size"), sizes_of((stride,), "stride")
    if len(shape) != len(strides) or min(strides, default=0) < 0:
        raise RuntimeError(
            "empty_strided: `stride` must have a number of at least 0 for each size, got "
            f"{list(strides)} for {list(shape)}"
        )
    last = sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
    return as_strided(empty(0 if 0 in shape else last + 1, **options), shape, strides, 0)


@function(method=False)
def empty_permuted(size: Sequence[int], physical_layout: Sequence[int], **options: Any) -> Tensor:
    """A tensor whose dimensions lie in memory in another order; its values are undefined.

    Args:
        size: the shape.
        physical_layout: the dimensions, from the one with the largest stride on.
        **options: options of `empty`.

    Raises:
        RuntimeError: `physical_layout` is not an order of the dimensions.

    Example:
        >>> import oneflow as flow
        >>> flow.empty_permuted((2, 3, 4), (0, 2, 1)).stride()
        (12, 1, 3)
    """
    shape, order = sizes_of((size,), "size"), tuple(physical_layout)
    if sorted(order) != list(range(len(shape))):
        raise RuntimeError(
            "empty_permuted: `physical_layout` must be an order of the dimensions of "
            f"{list(shape)}, got {list(order)}"
        )
    in_memory = row_major(tuple([shape[dim] for dim in order]))
    strides = dict(zip(order, in_memory, strict=True))
    return empty_strided(shape, [strides[dim] for dim in range(len(shape))], **options)


def new_empty_strided(
    self: Tensor, size: Sequence[int], stride: Sequence[int], **options: Any
) -> Tensor:
    """`oneflow.empty_strided` with the dtype and device of this tensor.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(1, dtype=flow.int32).new_empty_strided((2, 2), (1, 2)).dtype
        oneflow.int32
    """
    return empty_strided(size, stride, **{"dtype": self.dtype, "device": self.device, **options})


attach("new_empty_strided", new_empty_strided)
