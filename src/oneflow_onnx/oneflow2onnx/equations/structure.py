"""Shapes, reductions, products and loops over a dimension."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from oneflow_onnx.oneflow2onnx import operators as o
from oneflow_onnx.oneflow2onnx.builder import INT64, OnnxBuilder
from oneflow_onnx.oneflow2onnx.equations.table import Equation, equation_lowering
from oneflow_onnx.oneflow2onnx.loops import scan
from oneflow_onnx.oneflow2onnx.lowering import Unsupported
from oneflow_onnx.oneflow2onnx.lowerings.movement import flipped, pad_interior, written
from oneflow_onnx.oneflow2onnx.reference import Ref
from oneflow_onnx.oneflow2onnx.sizes import Dim, product

BOOL = np.dtype(bool)
_REDUCTIONS = {
    "reduce_sum": "ReduceSum",
    "reduce_max": "ReduceMax",
    "reduce_min": "ReduceMin",
    "reduce_prod": "ReduceProd",
}


@equation_lowering("reshape", "squeeze", "expand_dims")
def _reshape(b: OnnxBuilder, equation: Equation) -> Ref:
    return o.reshape(b, equation.operands[0], equation.shape)


@equation_lowering("transpose")
def _transpose(b: OnnxBuilder, equation: Equation) -> Ref:
    return o.transpose(b, equation.operands[0], equation["permutation"])


@equation_lowering("broadcast_in_dim")
def _broadcast(b: OnnxBuilder, equation: Equation) -> Ref:
    x, shape = equation.operands[0], equation.shape
    view_shape: list[Dim] = [1] * len(shape)
    for dim, place in enumerate(equation["broadcast_dimensions"]):
        view_shape[place] = x.shape[dim]
    return o.expand(b, o.reshape(b, x, view_shape), shape)


@equation_lowering("concatenate")
def _concatenate(b: OnnxBuilder, equation: Equation) -> Ref:
    return o.concat(b, equation.operands, equation["dimension"])


@equation_lowering("stack")
def _stack(b: OnnxBuilder, equation: Equation) -> Ref:
    parts = [o.unsqueeze(b, operand, [equation["axis"]]) for operand in equation.operands]
    return o.concat(b, parts, equation["axis"])


@equation_lowering("unstack")
def _unstack(b: OnnxBuilder, equation: Equation) -> Sequence[Ref]:
    dim = equation["axis"]
    places = [b.constant(np.int64(place)) for place in range(len(equation.shapes))]
    return [o.gather(b, equation.operands[0], place, dim) for place in places]


@equation_lowering("split")
def _split(b: OnnxBuilder, equation: Equation) -> Sequence[Ref]:
    return o.split(b, equation.operands[0], equation["sizes"], equation["axis"])


@equation_lowering("rev")
def _rev(b: OnnxBuilder, equation: Equation) -> Ref:
    return flipped(b, equation.operands[0], tuple(equation["dimensions"]))


@equation_lowering("pad")
def _pad(b: OnnxBuilder, equation: Equation) -> Ref:
    x, value = equation.operands
    low, high, interior = zip(*equation["padding_config"], strict=True)
    return o.pad(b, pad_interior(b, x, value, interior), value, low, high)


@equation_lowering("slice")
def _slice(b: OnnxBuilder, equation: Equation) -> Ref:
    (x,) = equation.operands
    all_steps = equation["strides"] or (1,) * x.rank
    dims = [d for d in range(x.rank) if x.shape[d] != equation.shape[d]]
    starts, sizes = [equation["start_indices"][d] for d in dims], [equation.shape[d] for d in dims]
    return o.slice_(b, x, dims, starts, sizes, [all_steps[d] for d in dims])


@equation_lowering("dynamic_slice")
def _dynamic_slice(b: OnnxBuilder, equation: Equation) -> Ref:
    x, *starts = equation.operands
    dims = [d for d in range(x.rank) if x.shape[d] != equation.shape[d]]
    return o.slice_(b, x, dims, [starts[d] for d in dims], [equation.shape[d] for d in dims])


@equation_lowering("dynamic_update_slice")
def _dynamic_update_slice(b: OnnxBuilder, equation: Equation) -> Ref:
    x, values, *starts = equation.operands
    return written(b, x, values, range(x.rank), starts, [1] * x.rank)


@equation_lowering("iota")
def _iota(b: OnnxBuilder, equation: Equation) -> Ref:
    dim, shape = equation["dimension"], equation.shape
    along = b.cast(o.positions(b, shape[dim]), equation.dtype)
    view_shape = [size if d == dim else 1 for d, size in enumerate(shape)]
    return o.expand(b, o.reshape(b, along, view_shape), shape)


@equation_lowering("reduce_sum", "reduce_max", "reduce_min", "reduce_prod")
def _reduce(b: OnnxBuilder, equation: Equation) -> Ref:
    return o.reduce(
        b, _REDUCTIONS[equation.name], equation.operands[0], equation["axes"], keepdim=False
    )


@equation_lowering("reduce_and")
def _reduce_and(b: OnnxBuilder, equation: Equation) -> Ref:
    number = b.cast(equation.operands[0], np.int32)
    return b.cast(o.reduce(b, "ReduceMin", number, equation["axes"], keepdim=False), BOOL)


@equation_lowering("reduce_or")
def _reduce_or(b: OnnxBuilder, equation: Equation) -> Ref:
    return o.any_nonzero(b, equation.operands[0], equation["axes"], keepdim=False)


@equation_lowering("argmax", "argmin")
def _arg(b: OnnxBuilder, equation: Equation) -> Ref:
    name = "ArgMax" if equation.name == "argmax" else "ArgMin"
    (dim,) = equation["axes"]
    place = b.op(
        name, equation.operands[0], shape=equation.shape, dtype=INT64, axis=dim, keepdims=0
    )
    return b.cast(place, equation.dtype)


@equation_lowering("cumsum")
def _cumsum(b: OnnxBuilder, equation: Equation) -> Ref:
    (x,) = equation.operands
    dim = b.constant(np.int64(equation["axis"]))
    return b.op("CumSum", x, dim, shape=x.shape, reverse=int(equation["reverse"]))


_CUMULATIVE = {"cumprod": "Mul", "cummax": "Max", "cummin": "Min"}


@equation_lowering("cumprod", "cummax", "cummin")
def _cumulative(b: OnnxBuilder, equation: Equation) -> Ref:
    """Each element with the one 1, 2, 4, ... before it (Hillis and Steele, 1986)."""
    (x,), dim = equation.operands, equation["axis"]
    size, operator = x.shape[dim], _CUMULATIVE[equation.name]
    if not isinstance(size, int):
        return _by_rows(b, x, dim, operator, equation["reverse"])
    x = flipped(b, x, (dim,)) if equation["reverse"] else x
    step = 1
    while step < size:
        head = o.slice_(b, x, [dim], [0], [step])
        ends = [o.slice_(b, x, [dim], [start], [size - step]) for start in (step, 0)]
        x = o.concat(b, [head, b.op(operator, *ends)], dim)
        step *= 2
    return flipped(b, x, (dim,)) if equation["reverse"] else x


def _by_rows(b: OnnxBuilder, x: Ref, dim: int, operator: str, reverse: bool) -> Ref:
    """Each element with all before it, a row at a time."""
    rows = o.move_first(b, x, dim)
    start = o.filled(b, rows.shape[1:], _identity_value(operator, x), x.dtype)

    def step(values: list[Ref]) -> list[Ref]:
        reduced = b.op(operator, *values)
        return [reduced, reduced]

    kinds = [(start.shape, start.dtype)]
    return o.move_first_back(
        b, scan(b, [start], [rows], kinds, x.shape[dim], reverse, step)[1], dim
    )


def _identity_value(operator: str, x: Ref) -> float:
    """The number that an operator leaves the other operand with."""
    return 1 if operator == "Mul" else o.extreme(x.dtype, largest=operator == "Min")


@equation_lowering("cumlogsumexp")
def _cumlogsumexp(b: OnnxBuilder, equation: Equation) -> Ref:
    (x,), dim = equation.operands, equation["axis"]
    if equation["reverse"]:
        raise Unsupported("a reverse cumulative logarithm of sums")
    top = o.reduce(b, "ReduceMax", x, [dim])
    place = b.constant(np.int64(dim))
    powers = b.op("Exp", b.op("Sub", x, top))
    total = b.op("CumSum", powers, place, shape=x.shape)
    return b.op("Add", b.op("Log", total), top)


@equation_lowering("dot_general")
def _dot_general(b: OnnxBuilder, equation: Equation) -> Ref:
    """A product of matrices, batched: ``[batch, rows, summed] @ [batch, summed, columns]``."""
    x, y = (b.cast(operand, equation.dtype) for operand in equation.operands)
    (x_sum, y_sum), (x_batch, y_batch) = equation["dimension_numbers"]
    x_free = [d for d in range(x.rank) if d not in (*x_sum, *x_batch)]
    y_free = [d for d in range(y.rank) if d not in (*y_sum, *y_batch)]
    batch = [x.shape[d] for d in x_batch]
    rows, columns = [x.shape[d] for d in x_free], [y.shape[d] for d in y_free]
    summed = product([x.shape[d] for d in x_sum])
    left = o.transpose(b, x, [*x_batch, *x_free, *x_sum])
    right = o.transpose(b, y, [*y_batch, *y_sum, *y_free])
    left = o.reshape(b, left, [*batch, product(rows), summed])
    right = o.reshape(b, right, [*batch, summed, product(columns)])
    return o.reshape(b, o.matmul(b, left, right), [*batch, *rows, *columns])


@equation_lowering("top_k")
def _top_k(b: OnnxBuilder, equation: Equation) -> Sequence[Ref]:
    (x,) = equation.operands
    outputs = [(equation.shapes[0], x.dtype), (equation.shapes[1], INT64)]
    values, places = b.multiple("TopK", [x, b.sizes(equation.shape[-1:])], outputs, axis=x.rank - 1)
    return values, b.cast(places, equation.dtypes[1])


@equation_lowering("sort")
def _sort(b: OnnxBuilder, equation: Equation) -> Sequence[Ref]:
    keys, *others = equation.operands
    dim = equation["dimension"]
    if equation["num_keys"] != 1:
        raise Unsupported("sorting by several keys")
    outputs = [(keys.shape, keys.dtype), (keys.shape, INT64)]
    count = b.sizes([keys.shape[dim]])
    options = {"axis": dim, "largest": 0, "sorted": 1}
    values, places = b.multiple("TopK", [keys, count], outputs, **options)
    rest = [b.op("GatherElements", x, places, shape=x.shape, axis=dim) for x in others]
    return [values, *rest]


@equation_lowering("platform_index")
def _platform_index(b: OnnxBuilder, equation: Equation) -> Ref:
    """The number of the implementation that is for every platform, or else for CPUs."""
    for number, platforms in enumerate(equation["platforms"]):
        if platforms is None or "cpu" in platforms:
            return b.constant(number, equation.dtype)
    raise Unsupported("a choice between platforms without one for CPUs")
