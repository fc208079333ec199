"""Reading and writing at positions that are data."""

from __future__ import annotations

import numpy as np

from oneflow_onnx.oneflow2onnx import operators as o
from oneflow_onnx.oneflow2onnx.builder import INT64, OnnxBuilder
from oneflow_onnx.oneflow2onnx.lowering import Call, Lowering, Unsupported, lowering
from oneflow_onnx.oneflow2onnx.reference import Ref
from oneflow_onnx.oneflow2onnx.schemas import SCATTER_REDUCTIONS, NeedsOpset
from oneflow_onnx.oneflow2onnx.sizes import Dim, broadcast_shapes

BOOL = np.dtype(bool)


@lowering("embedding")
def _embedding(b: OnnxBuilder, call: Call) -> Ref:
    indices, weight = call.operands
    return o.gather(b, weight, indices, 0)


@lowering("wrap_index")
def _wrap_index(b: OnnxBuilder, call: Call) -> Ref:
    return _from_front(b, b.cast(call.operands[0], INT64), call["size"])


def _from_front(b: OnnxBuilder, index: Ref, size: Dim) -> Ref:
    """Positions counted from the front; negative ones count from the end."""
    if index.constant is not None and not (index.constant < 0).any():
        return index
    negative = b.op("Less", index, b.constant(0, index.dtype), dtype=BOOL)
    return o.where(b, negative, b.op("Add", index, b.number(size, index.dtype)), index)


def _positions(b: OnnxBuilder, call: Call, x: Ref, indices: list[Ref]) -> Ref:
    """Index tensors as one, whose last dimension holds a position along each of `dims`."""
    shape = broadcast_shapes([ref.shape for ref in indices])
    columns = []
    for dim, index in zip(call["dims"], indices, strict=True):
        index = _from_front(b, b.cast(index, INT64), x.shape[dim])
        columns.append(o.unsqueeze(b, o.expand(b, index, shape), [len(shape)]))
    return o.concat(b, columns, len(shape))


@lowering("index")
def _index(b: OnnxBuilder, call: Call) -> Ref:
    x, *indices = call.operands
    dims = call["dims"]
    if len(indices) == 1:
        index = b.cast(indices[0], INT64)
        return o.gather(b, x, _from_front(b, index, x.shape[dims[0]]), dims[0])
    places = _positions(b, call, x, indices)
    rest = [d for d in range(x.rank) if d not in dims]
    moved = o.transpose(b, x, [*dims, *rest])
    batch = places.shape[:-1]
    shape = (*batch, *(x.shape[d] for d in rest))
    taken = b.op("GatherND", moved, places, shape=shape)
    return o.transpose(b, taken, _result_order(dims, len(batch), len(rest)))


def _result_order(dims: tuple[int, ...], num_indices: int, rest: int) -> list[int]:
    """The dimensions of index tensors go in place of `dims`, or first if they are apart."""
    is_contiguous = dims == tuple(range(dims[0], dims[-1] + 1))
    before = dims[0] if is_contiguous else 0
    others = list(range(num_indices, num_indices + rest))
    return [*others[:before], *range(num_indices), *others[before:]]


@lowering("index_put")
def _index_put(b: OnnxBuilder, call: Call) -> Ref:
    x, values, *indices = call.operands
    dims = call["dims"]
    places = _positions(b, call, x, indices)
    rest = [d for d in range(x.rank) if d not in dims]
    order = [*dims, *rest]
    moved = o.transpose(b, x, order)
    batch = places.shape[:-1]
    front = _result_order(dims, len(batch), len(rest))
    shape = (*batch, *(x.shape[d] for d in rest))
    values = o.expand(b, b.cast(values, x.dtype), [shape[place] for place in front])
    values = o.transpose(b, values, np.argsort(front).tolist())
    reduction = "add" if call["accumulate"] else None
    if reduction and b.opset < SCATTER_REDUCTIONS[reduction]:
        raise NeedsOpset(SCATTER_REDUCTIONS[reduction], "`ScatterND` that adds")
    written = b.op(
        "ScatterND", moved, places, values, shape=moved.shape, dtype=x.dtype, reduction=reduction
    )
    return o.transpose(b, written, np.argsort(order).tolist())


@lowering("gather")
def _gather(b: OnnxBuilder, call: Call) -> Ref:
    x, index = call.operands
    if not x.rank:
        return x
    return gathered(b, x, index, call["dim"])


def gathered(b: OnnxBuilder, x: Ref, index: Ref, dim: int) -> Ref:
    """The elements of `x` at `index` along `dim`, both of one rank."""
    return b.op("GatherElements", x, index, shape=index.shape, dtype=x.dtype, axis=dim)


def _scatter(reduction: str | None) -> Lowering:
    def lower(b: OnnxBuilder, call: Call) -> Ref:
        x, source, index = call.operands
        if not x.rank:
            raise Unsupported("scattering into a tensor without dimensions")
        source = o.expand(b, b.cast(source, x.dtype), _larger(source, index))
        if source.shape != index.shape:
            dims = [d for d in range(x.rank) if source.shape[d] != index.shape[d]]
            sizes = [index.shape[d] for d in dims]
            source = o.slice_(b, source, dims, [0] * len(dims), sizes)
        if reduction is None:
            return o.scatter_elements(b, x, index, source, call["dim"])
        if b.opset < SCATTER_REDUCTIONS[reduction]:
            raise NeedsOpset(SCATTER_REDUCTIONS[reduction], f"`ScatterElements` with `{reduction}`")
        options = {"axis": call["dim"], "reduction": reduction}
        if x.dtype == BOOL:  # as ONNX Runtime refuses
            x, source = b.cast(x, np.int32), b.cast(source, np.int32)
        return b.op("ScatterElements", x, index, source, shape=x.shape, **options)

    return lower


def _larger(source: Ref, index: Ref) -> tuple:
    return source.shape if source.rank else index.shape


for _primitive, _reduction in {
    "scatter": None,
    "scatter_add": "add",
    "scatter_multiply": "mul",
    "scatter_amax": "max",
    "scatter_amin": "min",
}.items():
    lowering(_primitive)(_scatter(_reduction))


@lowering("bag_offsets")
def _bag_offsets(b: OnnxBuilder, call: Call) -> Ref:
    return call.operands[0]


@lowering("embedding_bag")
def _embedding_bag(b: OnnxBuilder, call: Call) -> Ref:
    """Sums of rows, by a product with a matrix that says which index is in which bag."""
    indices, weight, offsets, *factors = call.operands
    bag_count, width = call.result.shape
    count = indices.shape[0]
    place = o.unsqueeze(b, o.positions(b, count), [0])
    offsets = b.cast(offsets, INT64)
    end = o.slice_(b, offsets, [0], [bag_count], [1]) if call["include_last"] else None
    offsets = o.slice_(b, offsets, [0], [0], [bag_count])
    before = b.op("Less", place, o.unsqueeze(b, offsets, [1]), dtype=BOOL)
    # A bag reaches up to the start of the next one.
    has_started = b.cast(b.op("Not", before), INT64)
    bag = b.op("Sub", o.reduce(b, "ReduceSum", has_started, [0]), b.constant(1, INT64))
    member = b.op("Equal", bag, o.unsqueeze(b, o.positions(b, bag_count), [1]), dtype=BOOL)
    padding = b.constant(call["padding"], indices.dtype)
    is_valid = b.op("Not", b.op("Equal", indices, padding, dtype=BOOL))
    member = b.op("And", member, o.unsqueeze(b, is_valid, [0]))
    if end is not None:
        member = b.op("And", member, b.op("Less", place, end, dtype=BOOL))
    rows = o.gather(b, weight, indices, 0)
    if call["mode"] == "max":
        shape = (bag_count, count, width)
        lowest = b.constant(-np.inf, rows.dtype)
        members = o.where(b, o.unsqueeze(b, member, [2]), o.expand(b, rows, shape), lowest)
        best = o.reduce(b, "ReduceMax", members, [1], keepdim=False)
        empty = b.op("Equal", best, lowest, dtype=BOOL)
        return o.where(b, empty, b.constant(0, rows.dtype), best)
    rows = b.op("Mul", rows, o.unsqueeze(b, factors[0], [1])) if factors else rows
    weights = b.cast(member, rows.dtype)
    total = o.matmul(b, weights, rows)
    if call["mode"] == "sum":
        return total
    number = o.reduce(b, "ReduceSum", weights, [1])
    return b.op("Div", total, b.op("Max", number, b.constant(1, rows.dtype)))


@lowering("pick_along")
def _pick_along(b: OnnxBuilder, call: Call) -> Ref:
    x, index = call.operands
    return gathered(b, x, index, call["dim"]) if x.rank else x


@lowering("put_along")
def _put_along(b: OnnxBuilder, call: Call) -> Ref:
    values, index = call.operands
    if not values.rank:
        return values
    dim = call["dim"]
    along = o.reshape(
        b, o.positions(b, call["size"]), [-1 if d == dim else 1 for d in range(values.rank)]
    )
    return o.where(b, b.op("Equal", index, along, dtype=BOOL), values, b.constant(0, values.dtype))


@lowering("one_hot")
def _one_hot(b: OnnxBuilder, call: Call) -> Ref:
    (index,) = call.operands
    if not index.rank:
        classes = b.cast(o.positions(b, call["classes"]), index.dtype)
        return b.cast(b.op("Equal", classes, index, dtype=BOOL), INT64)
    values, depth = b.integers(0, 1), b.sizes([call["classes"]])
    shape = (*index.shape, call["classes"])
    return b.op("OneHot", index, depth, values, shape=shape, dtype=INT64, axis=-1)


@lowering("positions")
def _dim_positions(b: OnnxBuilder, call: Call) -> Ref:
    (x,), dim = call.operands, call["dim"]
    along = o.positions(b, x.shape[dim])
    shape = [x.shape[d] if d == dim else 1 for d in range(x.rank)]
    return o.expand(b, o.reshape(b, along, shape), x.shape)


@lowering("nonzero")
def _nonzero(b: OnnxBuilder, call: Call) -> list[Ref]:
    """The rows of ONNX's result, as many as there are; `count` is a number of the capture only."""
    (x,), count = call.operands, call["count"]
    positions = b.op("NonZero", x, shape=(x.rank, count), dtype=INT64)
    return [o.gather(b, positions, b.constant(np.int64(dim)), 0) for dim in range(x.rank)]
