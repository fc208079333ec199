"""Grids, products and stacks of several tensors."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from oneflow.base import shape as base_shape
from oneflow.base.device import Device
from oneflow.base.dtype import DType, int64
from oneflow.base.placement import parse_device
from oneflow.base.shape import Size, as_integer
from oneflow.functional.creation.options import checked_dtype, sizes_of
from oneflow.functional.registry import function
from oneflow.functional.shape.concat import cat, sequence_of_tensors, stack
from oneflow.tensor.operands import promote_operands
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import import_array
from oneflow.tuning.host_memory import require_host_memory


def _as_list(tensors: tuple) -> list[Tensor]:
    """Tensors given one by one or as one sequence."""
    if len(tensors) == 1 and isinstance(tensors[0], Sequence):
        return list(tensors[0])
    return list(tensors)


@function(method=False)
def meshgrid(*tensors: Any, indexing: str | None = "ij") -> tuple[Tensor, ...]:
    """For vectors of coordinates, grids that hold each point's coordinate.

    Args:
        tensors: 0-dim or 1-dim tensors.
        indexing: ``"ij"`` (default, or None): the first vector runs along dimension 0; ``"xy"``:
            along dimension 1.

    Raises:
        RuntimeError: no tensors, too many dimensions, another `indexing`, or tensors of several
            dtypes, devices or placements.

    Example:
        >>> import oneflow as flow
        >>> rows, columns = flow.meshgrid(flow.arange(2), flow.arange(3), indexing="ij")
        >>> rows.tolist()
        [[0, 0, 0], [1, 1, 1]]
    """
    vectors = _as_list(tensors)
    if not vectors:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    if indexing not in ("ij", "xy", None):
        raise RuntimeError(
            f'meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}'
        )
    if any(vector.ndim > 1 for vector in vectors):
        raise RuntimeError("Expected 0D or 1D tensor in the tensor list")
    if any(vector.dtype is not vectors[0].dtype for vector in vectors):
        raise RuntimeError("meshgrid expects all tensors to have the same dtype")
    if any(vector._value.spec.device != vectors[0]._value.spec.device for vector in vectors):
        raise RuntimeError("meshgrid expects all tensors to have the same device or placement")
    swap = indexing == "xy" and len(vectors) >= 2
    if swap:
        vectors[:2] = vectors[1::-1]
    shape = [vector.numel() for vector in vectors]
    grids = [
        vector.reshape(*(1,) * dim, -1, *(1,) * (len(vectors) - dim - 1)).expand(shape)
        for dim, vector in enumerate(vectors)
    ]
    if swap:
        grids[:2] = grids[1::-1]
    return tuple(grids)


@function(method=False)
def broadcast_shapes(*shapes: Any) -> Size:
    """The shape that tensors of these shapes broadcast to.

    Raises:
        RuntimeError: they do not.

    Example:
        >>> import oneflow as flow
        >>> flow.broadcast_shapes((2, 1), (3,))
        oneflow.Size([2, 3])
    """
    sizes = [(shape,) if isinstance(shape, int) else tuple(sizes_of((shape,))) for shape in shapes]
    return Size(base_shape.broadcast_shapes(*sizes, error=_shape_error))


def _shape_error(result: list[int], index: int, shape: tuple[int, ...], dim: int) -> str:
    return (
        f"Attempting to broadcast a dimension of length {shape[dim]} at {dim}! "
        f"Mismatching argument at index {index} had {shape}; but expected shape should be "
        f"broadcastable to {result}"
    )


@function(method=False)
def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """Views of the tensors, expanded to one shape.

    Raises:
        RuntimeError: the shapes do not broadcast.

    Example:
        >>> import oneflow as flow
        >>> [x.shape for x in flow.broadcast_tensors(flow.ones(2, 1), flow.ones(3))]
        [oneflow.Size([2, 3]), oneflow.Size([2, 3])]
    """
    operands = _as_list(tensors)
    shape = base_shape.broadcast_shapes(*[operand.shape for operand in operands])
    return tuple(operand.expand(shape) for operand in operands)


@function(method=False)
def broadcast_like(x: Tensor, like: Tensor, broadcast_axes: Sequence[int] = ()) -> Tensor:
    """`x` expanded to the shape of `like`; `broadcast_axes` are new dimensions of it.

    Example:
        >>> import oneflow as flow
        >>> flow.broadcast_like(flow.ones(3), flow.ones(2, 3), (0,)).shape
        oneflow.Size([2, 3])
    """
    for axis in sorted(base_shape.wrap_dims(tuple(broadcast_axes), like.ndim)):
        if x.ndim < like.ndim:
            x = x.unsqueeze(axis)
    return x.expand(like.shape)


@function(method=False, namespace="_C")
def broadcast_dim_like(x: Tensor, like: Tensor, dim: int = 0) -> Tensor:
    """`x` with dimension `dim`, of one element, expanded to the size that it has in `like`.

    Raises:
        RuntimeError: `x` has neither one element in the dimension nor as many as `like`.

    Example:
        >>> import oneflow as flow
        >>> flow._C.broadcast_dim_like(flow.tensor([7.0]), flow.ones(2, 3), dim=0)
        tensor([7., 7.], dtype=oneflow.float32)
    """
    sizes = [-1] * x.ndim
    sizes[dim] = like.shape[dim]
    return x.expand(sizes)


@function(method=False)
def cartesian_prod(*tensors: Any) -> Tensor:
    """All combinations of one element of each vector, one per row.

    Example:
        >>> import oneflow as flow
        >>> flow.cartesian_prod(flow.tensor([1, 2]), flow.tensor([3])).tolist()
        [[1, 3], [2, 3]]
    """
    vectors = _as_list(tensors)
    if any(vector.ndim != 1 for vector in vectors):
        raise RuntimeError(
            f"Expect a 1D vector, but got shapes {[tuple(v.shape) for v in vectors]}"
        )
    if len(vectors) == 1:
        return vectors[0]
    return stack([grid.reshape(-1) for grid in meshgrid(*vectors, indexing="ij")], 1)


@function(method=False)
def combinations(input: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All choices of `r` elements of a vector, one per row.

    Example:
        >>> import oneflow as flow
        >>> flow.combinations(flow.tensor([1, 2, 3])).tolist()
        [[1, 2], [1, 3], [2, 3]]
    """
    if input.ndim != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(input.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if r == 0:
        return input.new_empty(0)
    length = len(input) + r - 1 if with_replacement else len(input)
    count = math.comb(max(length, 0), r) * r
    require_host_memory("combinations", count)
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    numbers = itertools.chain.from_iterable(choose(range(len(input)), r))
    rows = np.fromiter(numbers, np.int64, count)
    return input[import_array(rows.reshape(-1, r), None, input.device)]


def _triangle(
    name: str, row: int, col: int, offset: int, dtype: DType | None, device: Any
) -> Tensor:
    row, col = as_integer(row, "row"), as_integer(col, "col")
    offset = as_integer(offset, "offset")
    if row < 0 or col < 0:
        raise RuntimeError(f"{name}: row and col must be non-negative, got {row} and {col}")
    # A truth value for each place, and two numbers for those found.
    require_host_memory(name, row * col, 1)
    lower = np.tri(row, col, offset if name == "tril_indices" else offset - 1, dtype=bool)
    positions = np.nonzero(lower if name == "tril_indices" else ~lower)
    return import_array(np.stack(positions), checked_dtype(dtype, int64), parse_device(device))


@function(method=False)
def tril_indices(
    row: int,
    col: int,
    offset: int = 0,
    *,
    dtype: DType | None = None,
    device: Device | str | None = None,
    layout: Any = None,
) -> Tensor:
    """Row and column numbers of the lower triangle of a matrix; `layout` is `oneflow.strided`.

    Example:
        >>> import oneflow as flow
        >>> flow.tril_indices(2, 2).tolist()
        [[0, 1, 1], [0, 0, 1]]
    """
    return _triangle("tril_indices", row, col, offset, dtype, device)


@function(method=False)
def triu_indices(
    row: int,
    col: int,
    offset: int = 0,
    *,
    dtype: DType | None = None,
    device: Device | str | None = None,
    layout: Any = None,
) -> Tensor:
    """Row and column numbers of the upper triangle of a matrix; `layout` is `oneflow.strided`.

    Example:
        >>> import oneflow as flow
        >>> flow.triu_indices(2, 2).tolist()
        [[0, 0, 1], [0, 1, 1]]
    """
    return _triangle("triu_indices", row, col, offset, dtype, device)


def _at_least(tensors: tuple, shape_of: Any) -> Any:
    operands = _as_list(tensors)
    shapes = tuple(shape_of(operand) for operand in operands)
    return shapes[0] if len(tensors) == 1 and isinstance(tensors[0], Tensor) else shapes


@function(method=False)
def atleast_1d(*tensors: Any) -> Any:
    """Tensors with at least 1 dimension; a single tensor gives a tensor, several a tuple.

    Example:
        >>> import oneflow as flow
        >>> flow.atleast_1d(flow.tensor(1)).shape
        oneflow.Size([1])
    """
    return _at_least(tensors, lambda x: x if x.ndim else x.reshape(1))


def _two_dims(x: Tensor) -> Tensor:
    return x if x.ndim >= 2 else x.reshape(1, -1)


def _three_dims(x: Tensor) -> Tensor:
    return x if x.ndim >= 3 else x.unsqueeze(-1) if x.ndim == 2 else x.reshape(1, -1, 1)


@function(method=False)
def atleast_2d(*tensors: Any) -> Any:
    """Tensors with at least 2 dimensions, new ones in front.

    Example:
        >>> import oneflow as flow
        >>> flow.atleast_2d(flow.tensor([1, 2])).shape
        oneflow.Size([1, 2])
    """
    return _at_least(tensors, _two_dims)


@function(method=False)
def atleast_3d(*tensors: Any) -> Any:
    """Tensors with at least 3 dimensions.

    Example:
        >>> import oneflow as flow
        >>> flow.atleast_3d(flow.tensor([1, 2])).shape
        oneflow.Size([1, 2, 1])
    """
    return _at_least(tensors, _three_dims)


@function(method=False)
def hstack(tensors: Sequence[Tensor]) -> Tensor:
    """The tensors side by side: along dimension 1, or 0 for vectors.

    Example:
        >>> import oneflow as flow
        >>> flow.hstack([flow.tensor([1]), flow.tensor([2])])
        tensor([1, 2], dtype=oneflow.int64)
    """
    parts = [atleast_1d(tensor) for tensor in sequence_of_tensors(tensors, "hstack")]
    return cat(parts, 0 if parts[0].ndim == 1 else 1)


@function(method=False, also=("row_stack",))
def vstack(tensors: Sequence[Tensor]) -> Tensor:
    """The tensors below each other, along dimension 0; vectors are rows.

    Example:
        >>> import oneflow as flow
        >>> flow.vstack([flow.tensor([1]), flow.tensor([2])]).tolist()
        [[1], [2]]
    """
    return cat([_two_dims(tensor) for tensor in sequence_of_tensors(tensors, "vstack")], 0)


row_stack = vstack


@function(method=False)
def dstack(tensors: Sequence[Tensor]) -> Tensor:
    """The tensors behind each other, along dimension 2.

    Example:
        >>> import oneflow as flow
        >>> flow.dstack([flow.tensor([1]), flow.tensor([2])]).tolist()
        [[[1, 2]]]
    """
    return cat([_three_dims(tensor) for tensor in sequence_of_tensors(tensors, "dstack")], 2)


@function(method=False)
def column_stack(tensors: Sequence[Tensor]) -> Tensor:
    """The tensors side by side; vectors and numbers are columns.

    Example:
        >>> import oneflow as flow
        >>> flow.column_stack([flow.tensor([1, 2]), flow.tensor([3, 4])]).tolist()
        [[1, 3], [2, 4]]
    """
    parts = sequence_of_tensors(tensors, "column_stack")
    return cat([tensor if tensor.ndim >= 2 else tensor.reshape(-1, 1) for tensor in parts], 1)


@function(method=False)
def block_diag(*tensors: Tensor) -> Tensor:
    """A matrix with the given matrices on its diagonal and zeros elsewhere.

    Example:
        >>> import oneflow as flow
        >>> flow.block_diag(flow.tensor([[1]]), flow.tensor([[2, 3]])).tolist()
        [[1, 0, 0], [0, 2, 3]]
    """
    for position, tensor in enumerate(tensors):
        if tensor.ndim > 2:
            raise RuntimeError(
                f"block_diag: Input tensors must have 2 or fewer dimensions. Input {position} has "
                f"{tensor.ndim} dimensions"
            )
    blocks = (
        [_two_dims(tensor) for tensor in promote_operands(tensors)]
        if tensors
        else [import_array(np.zeros((1, 0), np.float32))]
    )
    width = sum(block.shape[1] for block in blocks)
    rows, start = [], 0
    for block in blocks:
        height, size = block.shape
        parts = (
            block.new_zeros(height, start),
            block,
            block.new_zeros(height, width - start - size),
        )
        rows.append(cat(parts, 1))
        start += size
    return cat(rows, 0)


def _slices(ranges: Sequence[Sequence[int | None]]) -> tuple[slice, ...]:
    """OneFlow's lists of ``(start, stop, step)``."""
    return tuple(
        slice(*[None if n is None else operator.index(n) for n in bounds]) for bounds in ranges
    )


@function(method=False, also=("logical_slice",))
def slice_(input: Tensor, slice_tup_list: Sequence[Sequence[int | None]]) -> Tensor:
    """The part that lists of ``(start, stop, step)``, one per dimension, select.

    Example:
        >>> import oneflow as flow
        >>> flow.slice(flow.arange(5), [(1, 5, 2)])
        tensor([1, 3], dtype=oneflow.int64)
    """
    return input[_slices(slice_tup_list)]


@function(method=False, also=("logical_slice_assign",))
def slice_update(
    input: Tensor, update: Tensor, slice_tup_list: Sequence[Sequence[int | None]]
) -> Tensor:
    """Write `update` into the part that lists of ``(start, stop, step)`` select; returns `input`.

    Example:
        >>> import oneflow as flow
        >>> flow.slice_update(flow.zeros(4), flow.ones(2), [(1, 4, 2)])
        tensor([0., 1., 0., 1.], dtype=oneflow.float32)
    """
    input[_slices(slice_tup_list)] = update
    return input


logical_slice = slice_
logical_slice_assign = slice_update
