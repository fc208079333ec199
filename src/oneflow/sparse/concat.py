"""Sparse tensors side by side, and parts of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oneflow.base.shape import wrap_dim
from oneflow.functional.creation.factory_functions import zeros
from oneflow.functional.index.search import nonzero
from oneflow.functional.shape.concat import cat as cat_dense
from oneflow.sparse.operators import in_coordinates, unsqueeze, unsupported
from oneflow.sparse.tensor import SparseTensor, of_coordinates
from oneflow.tensor.tensor import Tensor


def _check_sparse(name: str, tensors: Sequence[Any]) -> None:
    if not all(isinstance(tensor, SparseTensor) for tensor in tensors):
        raise unsupported(name, "all must be sparse")


def cat(tensors: Sequence[Any], dim: int = 0) -> SparseTensor:
    """Concatenate sparse tensors along a dimension."""
    _check_sparse("cat", tensors)
    parts = [in_coordinates(tensor) for tensor in tensors]
    place = wrap_dim(dim, parts[0].ndim)
    kinds = {(part.sparse_dim(), *part.shape[:place], *part.shape[place + 1 :]) for part in parts}
    if len(kinds) > 1:
        shapes = [tuple(part.shape) for part in parts]
        raise RuntimeError(
            f"`cat`: all dimensions but {place} must be equal, sparse and dense ones, got {shapes}"
        )
    extent = sum(part.shape[place] for part in parts)
    size = [*parts[0].shape[:place], extent, *parts[0].shape[place + 1 :]]
    rows, values, begin = [], [], 0
    for part in parts:
        index, numbers = part._indices(), part._values()
        if place < part.sparse_dim():
            index = cat_dense([index[:place], index[place : place + 1] + begin, index[place + 1 :]])
        else:
            numbers = _padded(numbers, place - part.sparse_dim() + 1, begin, extent)
        rows.append(index)
        values.append(numbers)
        begin += part.shape[place]
    return of_coordinates(cat_dense(rows, 1), cat_dense(values), size)


def _padded(values: Tensor, axis: int, begin: int, extent: int) -> Tensor:
    """Values at a place of a longer dimension, among zeros."""
    lengths = begin, extent - begin - values.shape[axis]
    before, after = (
        zeros(
            *values.shape[:axis],
            length,
            *values.shape[axis + 1 :],
            dtype=values.dtype,
            device=values.device,
        )
        for length in lengths
    )
    return cat_dense([before, values, after], axis)


def stack(tensors: Sequence[Any], dim: int = 0) -> SparseTensor:
    """Put sparse tensors of equal shapes side by side along a new dimension."""
    _check_sparse("stack", tensors)
    for place, tensor in enumerate(tensors):
        if tensor.shape != tensors[0].shape:
            raise RuntimeError(
                "stack expects each tensor to be equal size, but got"
                f" {list(tensors[0].shape)} at entry 0 and {list(tensor.shape)} at entry {place}"
            )
    place = wrap_dim(dim, tensors[0].ndim + 1)
    return cat([unsqueeze(tensor, place) for tensor in tensors], place)


def narrow_copy(input: SparseTensor, dim: int, start: int, length: int) -> SparseTensor:
    """Copy the elements with coordinates from `start` on in a dimension, `length` of them.

    Raises:
        RuntimeError: the coordinates are outside of the dimension.
    """
    parts, place = in_coordinates(input), wrap_dim(dim, input.ndim)
    extent = input.shape[place]
    if not 0 <= start <= start + length <= extent:
        raise RuntimeError(
            "Invalid range to narrow. range(start, start+length) must be a subset of"
            f" range(0, {extent}), got {start} and {length}"
        )
    size = [*input.shape[:place], length, *input.shape[place + 1 :]]
    index, values = parts._indices(), parts._values()
    if place >= parts.sparse_dim():
        values = values.narrow(place - parts.sparse_dim() + 1, start, length).clone()
        return of_coordinates(index, values, size, parts._parts.coalesced)
    row = index[place]
    inside = nonzero((row >= start) & (row < start + length)).squeeze(1)
    index = index.index_select(1, inside)
    moved = [index[:place], index[place : place + 1] - start, index[place + 1 :]]
    values = values.index_select(0, inside)
    return of_coordinates(cat_dense(moved), values, size, parts._parts.coalesced)
