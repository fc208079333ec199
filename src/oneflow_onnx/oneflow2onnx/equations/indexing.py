"""JAX's `gather` and `scatter`, in the forms that indexing takes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from oneflow_onnx.oneflow2onnx import operators as o
from oneflow_onnx.oneflow2onnx.builder import INT64, OnnxBuilder
from oneflow_onnx.oneflow2onnx.equations.table import Equation, equation_lowering
from oneflow_onnx.oneflow2onnx.lowering import Unsupported
from oneflow_onnx.oneflow2onnx.reference import Ref
from oneflow_onnx.oneflow2onnx.schemas import SCATTER_REDUCTIONS, NeedsOpset
from oneflow_onnx.oneflow2onnx.sizes import Shape, product

BOOL = np.dtype(bool)
_COMBINE = {
    "scatter": None,
    "scatter-add": "add",
    "scatter_add": "add",
    "scatter-mul": "mul",
    "scatter_mul": "mul",
    "scatter-max": "max",
    "scatter_max": "max",
    "scatter-min": "min",
    "scatter_min": "min",
}


@equation_lowering("gather")
def _gather(b: OnnxBuilder, equation: Equation) -> Ref:
    x, starts = equation.operands
    numbers, sizes = equation["dimension_numbers"], equation["slice_sizes"]
    starts = _in_bounds(b, equation, x, b.cast(starts, INT64))
    if _is_aligned(equation, x, starts):
        return _gather_aligned(b, equation, x, starts)
    dims, collapsed = tuple(numbers.start_index_map), tuple(numbers.collapsed_slice_dims)
    is_full = all(sizes[d] == x.shape[d] for d in range(x.rank) if d not in dims)
    if not is_full or any(sizes[d] != 1 for d in dims) or set(collapsed) != set(dims):
        return _gather_blocks(b, equation, x, starts)
    batch = starts.shape[:-1]
    rest = [d for d in range(x.rank) if d not in dims]
    shape = (*batch, *(x.shape[d] for d in rest))
    if len(dims) == 1:
        moved = o.transpose(b, x, [*dims, *rest])
        taken = o.gather(b, moved, o.reshape(b, starts, batch), 0)
    else:
        moved = o.transpose(b, x, [*dims, *rest])
        taken = b.op("GatherND", moved, starts, shape=shape)
    return o.transpose(b, taken, _order(numbers.offset_dims, len(batch), len(rest)))


def _order(offset_dims: Sequence[int], num_indices: int, rest: int) -> list[int]:
    """The places of the indices' dimensions, and of the slices' dimensions, in the result."""
    indices, slices = iter(range(num_indices)), iter(range(num_indices, num_indices + rest))
    return [next(slices) if d in offset_dims else next(indices) for d in range(num_indices + rest)]


def _is_aligned(equation: Equation, x: Ref, starts: Ref) -> bool:
    """Return whether elements along one dimension are read, all others being aligned."""
    numbers = equation["dimension_numbers"]
    dims = list(numbers.start_index_map)
    others = [d for d in range(x.rank) if [d] != dims]
    aligned = len(others) == x.rank - 1 and list(numbers.operand_batching_dims) == others
    free = starts.rank - 1 - len(numbers.start_indices_batching_dims)
    return aligned and list(numbers.collapsed_slice_dims) == dims and free == 1


def _gather_aligned(b: OnnxBuilder, equation: Equation, x: Ref, starts: Ref) -> Ref:
    """Elements along one dimension, all others being aligned."""
    numbers = equation["dimension_numbers"]
    (dim,) = numbers.start_index_map
    batch = list(numbers.start_indices_batching_dims)
    (free,) = [d for d in range(starts.rank - 1) if d not in batch]
    index = o.reshape(b, starts, starts.shape[:-1])
    places = iter(batch)
    order = [free if d == dim else next(places) for d in range(x.rank)]
    index = o.transpose(b, index, order)
    taken = b.op("GatherElements", x, index, shape=index.shape, axis=dim)
    return o.transpose(b, taken, np.argsort(order).tolist())


def _gather_blocks(b: OnnxBuilder, equation: Equation, x: Ref, starts: Ref) -> Ref:
    """Blocks of any sizes: elements of the flattened tensor, at positions that are computed."""
    numbers, sizes = equation["dimension_numbers"], equation["slice_sizes"]
    batch, batching = starts.shape[:-1], list(numbers.operand_batching_dims)
    removed = {*numbers.collapsed_slice_dims, *batching}
    windows = [d for d in range(x.rank) if d not in removed]
    shape = (*batch, *(sizes[d] for d in windows))
    position = b.constant(np.int64(0))
    for dim in range(x.rank):
        parts = []
        if dim in numbers.start_index_map:
            component = b.constant(np.int64(numbers.start_index_map.index(dim)))
            start = o.gather(b, starts, component, starts.rank - 1)
            parts.append(o.reshape(b, start, (*batch, *[1] * len(windows))))
        if dim in windows:
            parts.append(_along(b, shape, len(batch) + windows.index(dim)))
        if dim in batching:
            parts.append(_along(b, shape, numbers.start_indices_batching_dims[batching.index(dim)]))
        stride = b.number(product(x.shape[dim + 1 :]))
        for part in parts:
            position = b.op("Add", position, b.op("Mul", part, stride))
    flat = o.reshape(b, x, (product(x.shape),))
    taken = o.gather(b, flat, o.expand(b, position, shape), 0)
    return o.transpose(b, taken, _order(numbers.offset_dims, len(batch), len(windows)))


def _along(b: OnnxBuilder, shape: Shape, dim: int) -> Ref:
    """The numbers from 0 along one dimension of a shape, the others being 1."""
    view_shape = [size if d == dim else 1 for d, size in enumerate(shape)]
    return o.reshape(b, o.positions(b, shape[dim]), view_shape)


def _in_bounds(b: OnnxBuilder, equation: Equation, x: Ref, starts: Ref) -> Ref:
    """Positions as JAX reads them: out of range they are moved to the last one."""
    if "clip" not in str(equation["mode"]).lower():
        return starts
    dims = equation["dimension_numbers"].start_index_map
    blocks = b.sizes([equation["slice_sizes"][d] for d in dims])
    last = b.op("Sub", b.sizes([x.shape[d] for d in dims]), blocks)
    starts = b.op("Max", starts, b.constant(0, INT64))
    return b.op("Min", starts, last)


@equation_lowering(*_COMBINE)
def _scatter(b: OnnxBuilder, equation: Equation) -> Ref:
    x, starts, updates = equation.operands
    numbers = equation["dimension_numbers"]
    dims = tuple(numbers.scatter_dims_to_operand_dims)
    if numbers.operand_batching_dims or set(numbers.inserted_window_dims) != set(dims):
        raise Unsupported("a writing step that writes blocks")
    reduction = _COMBINE[equation.name]
    if reduction is not None and b.opset < SCATTER_REDUCTIONS[reduction]:
        raise NeedsOpset(SCATTER_REDUCTIONS[reduction], f"`ScatterND` with `{reduction}`")
    rest = [d for d in range(x.rank) if d not in dims]
    windows = list(numbers.update_window_dims)
    batch = [d for d in range(updates.rank) if d not in windows]
    values = o.transpose(b, updates, [*batch, *windows])
    order = [*dims, *rest]
    moved = o.transpose(b, x, order)
    starts = b.cast(starts, INT64)
    # Updates out of range are dropped: they go to a spare row, which is cut off again.
    drop_outside = "FILL_OR_DROP" in str(equation["mode"]) and starts.constant is None
    if drop_outside:
        starts, moved = _pad_row(b, starts, moved, len(dims))
    result = b.op(
        "ScatterND", moved, starts, values, shape=moved.shape, dtype=x.dtype, reduction=reduction
    )
    if drop_outside:
        sizes = [x.shape[d] for d in dims]
        result = o.slice_(b, result, range(len(dims)), [0] * len(dims), sizes)
    return o.transpose(b, result, np.argsort(order).tolist())


def _pad_row(b: OnnxBuilder, starts: Ref, moved: Ref, count: int) -> tuple[Ref, Ref]:
    """Positions with those out of range at the end, and the tensor with one more row there."""
    sizes = b.sizes(moved.shape[:count])
    below = b.op("Less", starts, b.constant(0, INT64), dtype=BOOL)
    starts = o.where(b, below, o.expand(b, sizes, starts.shape), starts)
    starts = b.op("Min", starts, sizes)
    more = [1 if d < count else 0 for d in range(moved.rank)]
    zero = b.constant(0, moved.dtype)
    return starts, o.pad(b, moved, zero, [0] * moved.rank, more)
