"""Parts of arrays: by position, by value, in order, and as sets."""

from __future__ import annotations

from typing import NamedTuple

from oneflow.array_api.promotion import promoted
from oneflow.base.dtype import int64
from oneflow.functional.elementwise import clamp
from oneflow.functional.index import gather, search
from oneflow.functional.reduce.cumulative import cumsum
from oneflow.tensor.operands import cast_to
from oneflow.tensor.tensor import Tensor


class UniqueAll(NamedTuple):
    """Values, the first place of each, the place of each element's value, and how often it is."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """Values, and how often each is there."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """Values, and the place of each element's value among them."""

    values: Tensor
    inverse_indices: Tensor


def argsort(
    x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> Tensor:
    """Return the places of the elements in order.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.argsort(flow.tensor([3, 1, 2]))
        tensor([1, 2, 0], dtype=oneflow.int64)
    """
    return search.argsort(x, axis, descending, stable)


def sort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """Return the elements in order.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.sort(flow.tensor([3, 1, 2]), descending=True)
        tensor([3, 2, 1], dtype=oneflow.int64)
    """
    return search.sort(x, axis, descending, stable=stable)[0]


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """Return the positions of elements other than 0, an array of coordinates for each axis.

    Raises:
        ValueError: `x` has no dimensions.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.nonzero(flow.tensor([[0, 7], [8, 0]]))
        (tensor([0, 1], dtype=oneflow.int64), tensor([1, 0], dtype=oneflow.int64))
    """
    if not x.ndim:
        raise ValueError("nonzero(): an array without dimensions has no places")
    return tuple(search.nonzero(x, as_tuple=True))


def take(x: Tensor, indices: Tensor, /, *, axis: int | None = None) -> Tensor:
    """Return the parts of `x` at places along `axis`, which only a vector need not name.

    Raises:
        ValueError: no axis of an array of several is named.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.take(flow.tensor([5, 6, 7]), flow.tensor([2, -3]))
        tensor([7, 5], dtype=oneflow.int64)
    """
    if axis is None and x.ndim != 1:
        raise ValueError(f"take(): name an `axis` of {tuple(x.shape)}")
    at = 0 if axis is None else axis
    places = cast_to(indices.reshape(-1), int64)
    taken = gather.index_select(x, at, places.where(places >= 0, places + x.shape[at]))
    at %= x.ndim
    return taken.reshape((*x.shape[:at], *indices.shape, *x.shape[at + 1 :]))


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
    """Return the elements at indices along `axis`; every line has indices of its own.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([[3, 1], [2, 4]])
        >>> flow.array_api.take_along_axis(x, flow.array_api.argsort(x))
        tensor([[1, 3],
                [2, 4]], dtype=oneflow.int64)
    """
    places = cast_to(indices, int64)
    return gather.take_along_dim(x, places.where(places >= 0, places + x.shape[axis]), axis)


def where(condition: Tensor, x1: Tensor | complex, x2: Tensor | complex, /) -> Tensor:
    """Return `x1` where the condition holds and `x2` elsewhere.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([-1.0, 2.0])
        >>> flow.array_api.where(x > 0, x, 0)
        tensor([0., 2.], dtype=oneflow.float32)
    """
    return clamp.where(condition, *promoted(x1, x2))


def searchsorted(
    x1: Tensor, x2: Tensor | float, /, *, side: str = "left", sorter: Tensor | None = None
) -> Tensor:
    """Return the places at which `x2` belongs in the sorted vector `x1`.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.searchsorted(flow.tensor([1, 3, 5]), flow.tensor([3, 4]))
        tensor([1, 2], dtype=oneflow.int64)
    """
    edges, numbers = promoted(x1, x2)
    return search.searchsorted(edges, numbers, side=side, sorter=sorter)


def isin(x1: Tensor | int, x2: Tensor | int, /, *, invert: bool = False) -> Tensor:
    """Return True where an element of `x1` is one of `x2`, or none of them if `invert`.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.isin(flow.tensor([1, 2, 3]), flow.tensor([3, 4]))
        tensor([False, False,  True], dtype=oneflow.bool)
    """
    return search.isin(*promoted(x1, x2), invert=invert)


def unique_all(x: Tensor, /) -> UniqueAll:
    """Return the values of `x` in order, with their places and counts.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.unique_all(flow.tensor([5, 3, 5])).indices
        tensor([1, 0], dtype=oneflow.int64)
    """
    values, inverse, counts = search.unique(x, return_inverse=True, return_counts=True)
    first_of_each = cumsum(counts, 0) - counts
    places = search.argsort(inverse.reshape(-1), stable=True)
    return UniqueAll(values, places[first_of_each], inverse.reshape(x.shape), counts)


def unique_counts(x: Tensor, /) -> UniqueCounts:
    """Return the values of `x` in order, and how often each is there.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.unique_counts(flow.tensor([5, 3, 5])).counts
        tensor([1, 2], dtype=oneflow.int64)
    """
    return UniqueCounts(*search.unique(x, return_counts=True))


def unique_inverse(x: Tensor, /) -> UniqueInverse:
    """Return the values of `x` in order, and the place of each element's value among them.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.unique_inverse(flow.tensor([5, 3, 5])).inverse_indices
        tensor([1, 0, 1], dtype=oneflow.int64)
    """
    values, inverse = search.unique(x, return_inverse=True)
    return UniqueInverse(values, inverse.reshape(x.shape))


def unique_values(x: Tensor, /) -> Tensor:
    """Return the values of `x` in order, each once.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.unique_values(flow.tensor([5, 3, 5]))
        tensor([3, 5], dtype=oneflow.int64)
    """
    return search.unique(x)
