"""Primitives that move elements without computing on them."""

from __future__ import annotations

import operator
from collections.abc import Sequence

import numpy as np

from oneflow_onnx.oneflow2onnx import operators as o
from oneflow_onnx.oneflow2onnx.builder import INT64, OnnxBuilder
from oneflow_onnx.oneflow2onnx.lowering import Call, Unsupported, lowering
from oneflow_onnx.oneflow2onnx.reference import Ref
from oneflow_onnx.oneflow2onnx.schemas import NeedsOpset
from oneflow_onnx.oneflow2onnx.sizes import (
    CapturedSize,
    Dim,
    Shape,
    combine,
    product,
    require_static,
)


@lowering("reshape")
def _reshape(b: OnnxBuilder, call: Call) -> Ref:
    (x,), shape = call.operands, call["shape"]
    squeezed = _ones_between(shape, x.shape)
    if squeezed:
        return o.squeeze(b, x, squeezed)
    added = _ones_between(x.shape, shape)
    return o.unsqueeze(b, x, added) if added else o.reshape(b, x, shape)


def _ones_between(short: Shape, long: Shape) -> list[int]:
    """The dimensions of size 1 that `long` has and `short` has not; empty if others differ, too."""
    if len(short) >= len(long):
        return []
    ones, place = [], 0
    for dim, size in enumerate(long):
        if place < len(short) and short[place] == size:
            place += 1
        elif size == 1:
            ones.append(dim)
        else:
            return []
    return ones if place == len(short) else []


@lowering("transpose")
def _transpose(b: OnnxBuilder, call: Call) -> Ref:
    return o.transpose(b, call.operands[0], call["perm"])


@lowering("broadcast_to")
def _broadcast_to(b: OnnxBuilder, call: Call) -> Ref:
    return o.expand(b, call.operands[0], call["shape"])


@lowering("sum_to")
def _sum_to(b: OnnxBuilder, call: Call) -> Ref:
    (x,), shape = call.operands, call["shape"]
    extra = x.rank - len(shape)
    dims = [*range(extra)]
    dims += [extra + d for d, dim in enumerate(shape) if dim == 1 and x.shape[extra + d] != 1]
    return o.reshape(b, o.reduce(b, "ReduceSum", x, dims), shape)


@lowering("slice")
def _slice(b: OnnxBuilder, call: Call) -> Ref:
    x, *starts = call.operands
    return o.slice_(b, x, call["dims"], starts, call["sizes"], call["steps"])


@lowering("select")
def _select(b: OnnxBuilder, call: Call) -> Ref:
    x, *indices = call.operands
    final = b.final_states.get(x)
    if final is not None and call["dims"] == (0,):
        return final
    for dim, index in sorted(zip(call["dims"], indices, strict=True), reverse=True, key=_first):
        x = o.gather(b, x, _scalar(b, index), dim)
    return x


def _first(pair: tuple[int, Ref]) -> int:
    return pair[0]


def _scalar(b: OnnxBuilder, index: Ref) -> Ref:
    return o.reshape(b, b.cast(index, INT64), ())


@lowering("slice_update")
def _slice_update(b: OnnxBuilder, call: Call) -> Ref:
    x, values, *starts = call.operands
    return written(b, x, values, call["dims"], starts, call["steps"])


@lowering("select_update")
def _select_update(b: OnnxBuilder, call: Call) -> Ref:
    x, values, *indices = call.operands
    dims = call["dims"]
    shape = tuple(1 if d in dims else dim for d, dim in enumerate(x.shape))
    return written(b, x, o.reshape(b, values, shape), dims, indices, (1,) * len(dims))


def written(
    b: OnnxBuilder,
    x: Ref,
    values: Ref,
    dims: Sequence[int],
    starts: Sequence[Ref],
    steps: Sequence[int],
) -> Ref:
    """`x` with `values` written from `starts` on, every `steps`-th element along `dims`.

    Along several dimensions they are written into a slice of the first, which is then written.
    """
    places = [place for place, dim in enumerate(dims) if x.shape[dim] != values.shape[dim]]
    if not places:
        return values
    first, rest = places[0], places[1:]
    dim, start, step = dims[first], starts[first], steps[first]
    if rest:
        part = o.slice_(b, x, [dim], [start], [values.shape[dim]], [step])
        inner = [dims[place] for place in rest], [starts[place] for place in rest]
        values = written(b, part, values, *inner, [steps[place] for place in rest])
    if step == 1 and start.constant is not None:
        return _splice(b, x, values, dim, int(start.constant))
    along = o.positions(b, values.shape[dim])
    along = along if step == 1 else b.op("Mul", along, b.integers(step))
    along = b.op("Add", along, o.reshape(b, b.cast(start, INT64), (1,)))
    shape: list[Dim] = [1] * x.rank
    shape[dim] = values.shape[dim]
    indices = o.expand(b, o.reshape(b, along, shape), values.shape)
    return o.scatter_elements(b, x, indices, values, dim)


def _splice(b: OnnxBuilder, x: Ref, values: Ref, dim: int, start: int) -> Ref:
    """`x` with `values` in place of its elements from `start` on, along one dimension."""
    size, count = x.shape[dim], values.shape[dim]
    parts = [values]
    if start:
        parts.insert(0, o.slice_(b, x, [dim], [0], [start]))
    after = combine(combine(size, count, operator.sub), start, operator.sub)
    if after != 0:
        parts.append(o.slice_(b, x, [dim], [combine(count, start, operator.add)], [after]))
    return o.concat(b, parts, dim)


@lowering("concat")
def _concat(b: OnnxBuilder, call: Call) -> Ref:
    parts = [b.cast(operand, call.result.dtype) for operand in call.operands]
    return o.concat(b, parts, call["dim"])


@lowering("split")
def _split(b: OnnxBuilder, call: Call) -> list[Ref]:
    return o.split(b, call.operands[0], call["sizes"], call["dim"])


@lowering("stack")
def _stack(b: OnnxBuilder, call: Call) -> Ref:
    parts = [o.unsqueeze(b, operand, [call["dim"]]) for operand in call.operands]
    return o.concat(b, parts, call["dim"])


@lowering("unbind")
def _unbind(b: OnnxBuilder, call: Call) -> list[Ref]:
    (x,), dim = call.operands, call["dim"]
    indices = [b.constant(np.int64(number)) for number in range(len(call.results))]
    return [o.gather(b, x, index, dim) for index in indices]


@lowering("flip")
def _flip(b: OnnxBuilder, call: Call) -> Ref:
    return flipped(b, call.operands[0], call["dims"])


def flipped(b: OnnxBuilder, x: Ref, dims: tuple[int, ...]) -> Ref:
    """`x` in reverse order along `dims`."""
    if not dims:
        return x
    if b.opset < 10:
        raise NeedsOpset(10, "`Slice` with negative steps")
    count = len(dims)
    bounds = [b.integers(*[bound] * count) for bound in (-1, -(2**63 - 1))]
    return b.op("Slice", x, *bounds, b.integers(*dims), b.integers(*[-1] * count), shape=x.shape)


@lowering("pad")
def _pad(b: OnnxBuilder, call: Call) -> Ref:
    x, value = call.operands
    return o.pad(b, pad_interior(b, x, value, call["interior"]), value, call["low"], call["high"])


def pad_interior(b: OnnxBuilder, x: Ref, value: Ref, interior: Sequence[int]) -> Ref:
    """`x` with `interior` numbers between its elements."""
    for dim, count in enumerate(interior):
        if not count:
            continue
        size = x.shape[dim]
        (plain,) = require_static([size], "interior padding")
        after = [0] * (x.rank + 1)
        after[dim + 1] = count
        padded = o.pad(b, o.unsqueeze(b, x, [dim + 1]), value, [0] * (x.rank + 1), after)
        shape = (*x.shape[:dim], plain * (count + 1), *x.shape[dim + 1 :])
        x = o.slice_(b, o.reshape(b, padded, shape), [dim], [0], [plain * (count + 1) - count])
    return x


@lowering("roll")
def _roll(b: OnnxBuilder, call: Call) -> Ref:
    x, *shifts = call.operands
    for dim, shift in zip(call["dims"], shifts, strict=True):
        if shift.constant is None:
            raise Unsupported("a shift that depends on values or on a symbolic size")
        size = x.shape[dim]
        amount = int(shift.constant)
        if isinstance(size, CapturedSize):
            if not 0 <= amount < min(size.values) and not 0 < -amount < min(size.values):
                raise Unsupported("a shift by more than a symbolic size")
            first = combine(size, amount, operator.sub) if amount > 0 else -amount
        else:
            first = -amount % size if size else 0
        if first == 0:
            continue
        rest = combine(size, first, operator.sub)
        parts = [o.slice_(b, x, [dim], [first], [rest]), o.slice_(b, x, [dim], [0], [first])]
        x = o.concat(b, parts, dim)
    return x


@lowering("tril", "triu")
def _triangle(b: OnnxBuilder, call: Call) -> Ref:
    x, diagonal = call.operands
    upper = call.primitive == "triu"
    if b.opset >= 14:
        return b.op("Trilu", x, b.cast(diagonal, INT64), shape=x.shape, upper=int(upper))
    rows, columns = (o.positions(b, dim) for dim in x.shape[-2:])
    row = o.unsqueeze(b, rows, [1])
    offset = b.op("Sub", o.unsqueeze(b, columns, [0]), row)
    limit = b.cast(diagonal, INT64)
    zero, kind = b.constant(0, x.dtype), np.dtype(bool)
    if upper:
        outside = b.op("Less", offset, limit, dtype=kind)
    else:
        outside = b.op("Greater", offset, limit, dtype=kind)
    return o.where(b, outside, zero, x)


@lowering("diagonal")
def _diagonal(b: OnnxBuilder, call: Call) -> Ref:
    (x,), (dim1, dim2) = call.operands, (call["dim1"], call["dim2"])
    order = [d for d in range(x.rank) if d not in (dim1, dim2)] + [dim1, dim2]
    moved = o.transpose(b, x, order)
    offset, columns = call["offset"], moved.shape[-1]
    first = product([-offset, columns]) if offset < 0 else offset
    places = o.arange(b, call.result.shape[-1], first, combine(columns, 1, operator.add))
    flat = o.reshape(b, moved, (*moved.shape[:-2], product(moved.shape[-2:])))
    return o.gather(b, flat, places, flat.rank - 1)


@lowering("unfold")
def _unfold(b: OnnxBuilder, call: Call) -> Ref:
    (x,), dim = call.operands, call["dim"]
    last = combine(x.shape[dim], call["size"], operator.sub)
    inside = np.arange(call["size"], dtype=INT64)
    if isinstance(last, CapturedSize):
        numbers = (b.constant(0, INT64), b.number(combine(last, 1, operator.add)))
        count = call.result.shape[dim]
        starts = b.op("Range", *numbers, b.constant(call["step"], INT64), shape=(count,))
        places = b.op("Add", o.unsqueeze(b, starts, [1]), b.constant(inside))
    else:
        places = b.constant(np.arange(0, last + 1, call["step"], dtype=INT64)[:, None] + inside)
    taken = o.gather(b, x, places, dim)
    return o.move_last(b, taken, dim + 1)


@lowering("as_strided")
def _as_strided(b: OnnxBuilder, call: Call) -> Ref:
    (x,) = call.operands
    shape = require_static(call["shape"], "a strided view")
    places = np.full(shape, call["offset"])
    for dim, (size, stride) in enumerate(zip(shape, call["strides"], strict=True)):
        places += (np.arange(size) * stride).reshape((-1,) + (1,) * (len(shape) - dim - 1))
    flat = o.reshape(b, x, (product(x.shape),))
    return o.gather(b, flat, b.constant(places.astype(INT64)), 0)
