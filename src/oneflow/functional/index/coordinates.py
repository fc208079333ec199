"""Numbers of elements and their coordinates."""

from __future__ import annotations

from collections.abc import Sequence

from oneflow.base.dtype import Category
from oneflow.functional.registry import function
from oneflow.tensor.operands import require_tensor
from oneflow.tensor.tensor import Tensor


@function(method=False)
def unravel_index(indices: Tensor, shape: int | Sequence[int]) -> tuple[Tensor, ...]:
    """Coordinates of elements that are given by their numbers in row-major order.

    Args:
        indices: numbers of elements.
        shape: of the tensor that they are elements of.

    Returns:
        An int64 tensor of the shape of `indices` for each dimension.

    Raises:
        TypeError: `indices` or `shape` are not integers.
        ValueError: a size is negative.

    Example:
        >>> import oneflow as flow
        >>> flow.unravel_index(flow.tensor([4, 1]), (2, 3))
        (tensor([1, 0], dtype=oneflow.int64), tensor([1, 1], dtype=oneflow.int64))
    """
    require_tensor(indices, "unravel_index")
    if indices._value.spec.dtype.category is not Category.INTEGER:
        raise TypeError(f"unravel_index expected integers as `indices`, got {indices.dtype!r}")
    sizes = tuple(shape) if isinstance(shape, Sequence) else (shape,)
    if not all(isinstance(each, int) for each in sizes):
        raise TypeError(f"unravel_index expected integers as `shape`, got {shape!r}")
    if any(each < 0 for each in sizes):
        raise ValueError(f"unravel_index: a size of `shape` is negative: {sizes}")
    rest, coordinates = indices.long(), []
    for size in reversed(sizes):
        coordinates.append(rest % size)
        rest = rest // size
    return tuple(reversed(coordinates))
