"""Numbers of elements and their coordinates."""

from __future__ import annotations

from collections.abc import Sequence

from oneflow.base.dtype import Category
from oneflow.functional.creation.factory_functions import ones_like
from oneflow.functional.index.search import sort
from oneflow.functional.registry import function
from oneflow.functional.shape.concat import cat
from oneflow.functional.shape.stack import stack
from oneflow.tensor.operands import require_tensor
from oneflow.tensor.tensor import Tensor


@function(method=False)
def unravel_index(indices: Tensor, shape: int | Sequence[int]) -> tuple[Tensor, ...]:
    """Coordinates of elements that are given by their numbers in row-major order.

    Args:
        indices: numbers of elements.
        shape: the shape of the tensor that they are elements of.

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
    if not all(isinstance(size, int) for size in sizes):
        raise TypeError(f"unravel_index expected integers as `shape`, got {shape!r}")
    if any(size < 0 for size in sizes):
        raise ValueError(f"unravel_index: a size of `shape` is negative: {sizes}")
    rest, coordinates = indices.long(), []
    for size in reversed(sizes):
        coordinates.append(rest % size)
        rest = rest // size
    return tuple(reversed(coordinates))


@function()
def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """Positions of non-zero elements: exactly `size` of them, cut off or filled up.

    Unlike `nonzero` it waits for no values, and a graph can record it.

    Args:
        input: tensor.
        size: the number of rows; further ones are left out.
        fill_value: stands for the coordinates of those that are missing.

    Returns:
        An int64 tensor ``[size, input.ndim]``.

    Raises:
        RuntimeError: `size` is negative.

    Example:
        >>> import oneflow as flow
        >>> flow.nonzero_static(flow.tensor([[0, 5], [7, 0]]), size=3).tolist()
        [[0, 1], [1, 0], [-1, -1]]
    """
    require_tensor(input, "nonzero_static")
    if size < 0:
        raise RuntimeError(f"nonzero_static: `size` must be 0 or more, got {size}")
    is_zero = (input == 0).flatten()
    places = sort(is_zero, stable=True).indices[:size]
    if not input.ndim:
        return places.new_empty((size, 0))
    missing = places.new_full((size - places.shape[0], input.ndim), fill_value)
    if not places.shape[0]:
        return missing
    is_found = ones_like(places).cumsum(0) <= is_zero.logical_not().sum()
    rows = stack(unravel_index(places, input.shape), 1)
    return cat((rows.where(is_found.unsqueeze(1), fill_value), missing))
