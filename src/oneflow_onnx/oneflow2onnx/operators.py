"""Nodes whose form depends on the opset, as functions of a builder and values."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from oneflow_onnx.oneflow2onnx.builder import INT64, OnnxBuilder
from oneflow_onnx.oneflow2onnx.reference import Ref, is_float
from oneflow_onnx.oneflow2onnx.schemas import NeedsOpset
from oneflow_onnx.oneflow2onnx.sizes import (
    CapturedSize,
    Dim,
    DynamicSizeError,
    Shape,
    broadcast_shapes,
    combine,
    require_static,
    static,
)

# Operators of one tensor that treat all elements alike.
_BY_ELEMENT = frozenset(
    ["Relu", "LeakyRelu", "Elu", "Selu", "Sigmoid", "HardSigmoid", "Tanh", "Softplus", "Exp", "Neg"]
)


def reshape(b: OnnxBuilder, x: Ref, shape: Sequence[Dim]) -> Ref:
    """`x` in another shape."""
    shape = tuple(shape)
    if shape == x.shape:
        return x
    plain = static(shape)
    if x.constant is not None and plain is not None:
        return b.constant(x.constant.reshape(plain))
    before = b.reshaped.get(x)
    if before is not None and before.shape == shape:
        return before
    options = {}
    if any(dim == 0 and x.shape[place : place + 1] != (0,) for place, dim in enumerate(shape)):
        if b.opset < 14:
            raise NeedsOpset(14, "`Reshape` to a size of 0")
        options["allowzero"] = 1
    result = b.op("Reshape", x, _reshape_target(b, x, shape), shape=shape, **options)
    b.reshaped[result] = x
    return result


def _reshape_target(b: OnnxBuilder, x: Ref, shape: Shape) -> Ref:
    """The second input of `Reshape`: 0 copies a size, and -1 is the remaining one."""
    target: list[Dim] = list(shape)
    if 0 not in shape:
        for place, dim in enumerate(shape):
            if isinstance(dim, CapturedSize) and place < x.rank and x.shape[place] == dim:
                target[place] = 0
    symbols = [place for place, dim in enumerate(target) if isinstance(dim, CapturedSize)]
    if len(symbols) == 1 and 0 not in shape:
        target[symbols[0]] = -1
    return b.sizes(target)


def transpose(b: OnnxBuilder, x: Ref, perm: Sequence[int]) -> Ref:
    """`x` with its dimensions in another order."""
    perm = list(perm)
    if perm == list(range(x.rank)):
        return x
    before = _before_transpose(b, x, perm)
    if before is not None:
        return before
    shape = tuple(x.shape[dim] for dim in perm)
    return b.op("Transpose", x, shape=shape, perm=perm)


def _before_transpose(b: OnnxBuilder, x: Ref, perm: list[int]) -> Ref | None:
    """`x` in another order where it was in that order before; None if it was not.

    So the transpositions around a layer for channels-last images cancel with those of the next one,
    whatever is done with each element in between.
    """
    if x not in b.sources:
        return None
    name, (source, *_), attributes = b.sources[x]
    if source is None or source.dtype != x.dtype:
        return None
    if name == "Transpose":
        inner = attributes["perm"]
        return source if [inner[dim] for dim in perm] == list(range(x.rank)) else None
    if name not in _BY_ELEMENT:
        return None
    before = _before_transpose(b, source, perm)
    return None if before is None else b.op(name, before, **attributes)


def move_last(b: OnnxBuilder, x: Ref, dim: int) -> Ref:
    """`x` with dimension `dim` moved to the end."""
    return transpose(b, x, [*(d for d in range(x.rank) if d != dim), dim])


def move_back(b: OnnxBuilder, x: Ref, dim: int) -> Ref:
    """Undo `move_last`."""
    order = list(range(x.rank - 1))
    return transpose(b, x, [*order[:dim], x.rank - 1, *order[dim:]])


def move_first(b: OnnxBuilder, x: Ref, dim: int) -> Ref:
    """`x` with dimension `dim` first."""
    return transpose(b, x, [dim, *[d for d in range(x.rank) if d != dim]])


def move_first_back(b: OnnxBuilder, x: Ref, dim: int) -> Ref:
    """`x` with its first dimension as `dim`."""
    return transpose(b, x, [*range(1, dim + 1), 0, *range(dim + 1, x.rank)])


def extreme(dtype: np.dtype, largest: bool) -> float:
    """The largest or smallest number of a type: infinity if it has that."""
    if is_float(dtype):
        return math.inf if largest else -math.inf
    limits = np.iinfo(dtype)
    return int(limits.max if largest else limits.min)


def expand(b: OnnxBuilder, x: Ref, shape: Sequence[Dim]) -> Ref:
    """`x` broadcast to a shape."""
    shape = tuple(shape)
    if x.shape == shape:
        return x
    return b.op("Expand", x, b.sizes(shape), shape=shape)


def unsqueeze(b: OnnxBuilder, x: Ref, dims: Sequence[int]) -> Ref:
    """`x` with new dimensions of size 1, at these places of the result."""
    if not dims:
        return x
    rest = iter(x.shape)
    shape = tuple(1 if d in dims else next(rest) for d in range(x.rank + len(dims)))
    if x.constant is not None:
        return b.constant(np.expand_dims(x.constant, tuple(dims)))
    if b.opset < 13:
        return b.op("Unsqueeze", x, shape=shape, axes=list(dims))
    return b.op("Unsqueeze", x, b.integers(*dims), shape=shape)


def squeeze(b: OnnxBuilder, x: Ref, dims: Sequence[int]) -> Ref:
    """`x` without these dimensions of size 1."""
    if not dims:
        return x
    shape = tuple(dim for d, dim in enumerate(x.shape) if d not in dims)
    if b.opset < 13:
        return b.op("Squeeze", x, shape=shape, axes=list(dims))
    return b.op("Squeeze", x, b.integers(*dims), shape=shape)


def slice_(
    b: OnnxBuilder,
    x: Ref,
    dims: Sequence[int],
    starts: Sequence[Dim | Ref],
    sizes: Sequence[Dim],
    steps: Sequence[int] | None = None,
) -> Ref:
    """`sizes[i]` elements from `starts[i]` along `dims[i]`, every `steps[i]`-th."""
    steps = [1] * len(dims) if steps is None else steps
    shape = list(x.shape)
    for dim, size in zip(dims, sizes, strict=True):
        shape[dim] = size
    if tuple(shape) == x.shape and all(step == 1 for step in steps):
        return x
    begin = _vector(b, starts)
    lengths = [
        size if step == 1 else _span(x.shape[dim], start, size, step)
        for dim, start, size, step in zip(dims, starts, sizes, steps, strict=True)
    ]
    end = _sum(b, begin, b.sizes(lengths))
    if b.opset < 10:
        if begin.constant is None or end.constant is None:
            raise NeedsOpset(10, "`Slice` at positions that are computed")
        if any(step != 1 for step in steps):
            raise NeedsOpset(10, "`Slice` with steps")
        bounds = {"starts": begin.constant.tolist(), "ends": end.constant.tolist()}
        return b.op("Slice", x, shape=tuple(shape), axes=list(dims), **bounds)
    inputs = [x, begin, end, b.integers(*dims)]
    if any(step != 1 for step in steps):
        inputs.append(b.integers(*steps))
    return b.op("Slice", *inputs, shape=tuple(shape))


def _span(length: Dim, start: Dim | Ref, size: Dim, step: int) -> Dim:
    """The extent of `size` elements, every `step`-th; a symbolic number of them reach the end."""
    if not isinstance(size, CapturedSize):
        return (size - 1) * step + 1 if size else 0
    first = start.number if isinstance(start, Ref) else start
    if first is not None and not isinstance(first, float):
        rest = combine(length, first, operator.sub)
        if combine(rest, step, lambda one, other: -(-one // other)) == size:
            return rest
    raise DynamicSizeError("a slice with steps ends at a place that depends on a symbolic size")


def _vector(b: OnnxBuilder, numbers: Sequence[Dim | Ref]) -> Ref:
    """Numbers and values without dimensions as one vector of int64."""
    numbers = [
        int(number.number) if isinstance(number, Ref) and number.number is not None else number
        for number in numbers
    ]
    plain = [number for number in numbers if not isinstance(number, Ref)]
    if len(plain) == len(numbers):
        return b.sizes(plain)
    parts = [
        reshape(b, b.cast(number, INT64), (1,)) if isinstance(number, Ref) else b.sizes([number])
        for number in numbers
    ]
    return parts[0] if len(parts) == 1 else concat(b, parts, 0)


def _sum(b: OnnxBuilder, one: Ref, other: Ref) -> Ref:
    if one.constant is not None and other.constant is not None:
        return b.constant(one.constant + other.constant)
    if one.constant is not None and not one.constant.any():
        return other
    return b.op("Add", one, other)


def concat(b: OnnxBuilder, parts: Sequence[Ref], dim: int) -> Ref:
    """Values one after the other along `dim`."""
    if len(parts) == 1:
        return parts[0]
    shape = list(parts[0].shape)
    along = [part.shape[dim] for part in parts]
    total: Any = along[0]
    for size in along[1:]:
        total = _plus(total, size)
    shape[dim] = total
    return b.op("Concat", *parts, shape=tuple(shape), axis=dim)


def _plus(one: Dim, other: Dim) -> Dim:
    return combine(one, other, operator.add)


def split(b: OnnxBuilder, x: Ref, sizes: Sequence[Dim], dim: int) -> list[Ref]:
    """`x` in parts of these sizes along `dim`."""
    if len(sizes) == 1:
        return [x]
    shapes = [(*x.shape[:dim], size, *x.shape[dim + 1 :]) for size in sizes]
    outputs = [(shape, x.dtype) for shape in shapes]
    plain = static(sizes)
    if b.opset < 13:
        if plain is None:
            raise NeedsOpset(13, "`Split` to sizes that are computed")
        return b.multiple("Split", [x], outputs, axis=dim, split=list(plain))
    return b.multiple("Split", [x, b.sizes(sizes)], outputs, axis=dim)


def gather(b: OnnxBuilder, x: Ref, indices: Ref, dim: int) -> Ref:
    """Slices of `x` along `dim`, at `indices`."""
    shape = (*x.shape[:dim], *indices.shape, *x.shape[dim + 1 :])
    return b.op("Gather", x, indices, shape=shape, axis=dim)


def kept(shape: Shape, dims: Sequence[int], keepdim: bool) -> Shape:
    """The shape after a reduction over `dims`."""
    if keepdim:
        return tuple(1 if d in dims else dim for d, dim in enumerate(shape))
    return tuple(dim for d, dim in enumerate(shape) if d not in dims)


# Reductions whose axes became an input, with the opset in which they did.
_AXES_AS_INPUT = {"ReduceSum": 13}


def reduce(b: OnnxBuilder, name: str, x: Ref, dims: Sequence[int], keepdim: bool = True) -> Ref:
    """A reduction, such as ``ReduceSum``, over `dims`."""
    if not dims:
        return x
    shape = kept(x.shape, dims, keepdim)
    if b.opset < _AXES_AS_INPUT.get(name, 18):
        return b.op(name, x, shape=shape, axes=list(dims), keepdims=int(keepdim))
    return b.op(name, x, b.integers(*dims), shape=shape, keepdims=int(keepdim))


def where(b: OnnxBuilder, condition: Ref, x: Ref, y: Ref) -> Ref:
    """`x` where the condition holds, else `y`."""
    shape = broadcast_shapes([condition.shape, x.shape, y.shape])
    return b.op("Where", as_bool(b, condition), x, y, shape=shape, dtype=x.dtype)


def as_bool(b: OnnxBuilder, x: Ref) -> Ref:
    """True where elements are not zero."""
    return b.cast(x, np.bool_)


def any_nonzero(b: OnnxBuilder, x: Ref, dims: Sequence[int], keepdim: bool = True) -> Ref:
    """True where an element along `dims` is not 0; False where there is none."""
    return as_bool(b, reduce(b, "ReduceSum", b.cast(as_bool(b, x), np.int32), dims, keepdim))


def clip(b: OnnxBuilder, x: Ref, low: Ref | None, high: Ref | None) -> Ref:
    """`x` limited to an interval by numbers without dimensions."""
    low, high = (None if bound is None else b.cast(bound, x.dtype) for bound in (low, high))
    if b.opset >= 11:
        return b.op("Clip", x, low, high, shape=x.shape)
    limits = {"min": low, "max": high}
    computed = any(bound is not None and bound.constant is None for bound in limits.values())
    # ONNX Runtime has no kernel of `Clip` for float64 in these opsets.
    if computed or not x.is_float or x.dtype == np.float64:
        x = x if low is None else b.op("Max", x, low)
        return x if high is None else b.op("Min", x, high)
    numbers = {name: bound.number for name, bound in limits.items() if bound is not None}
    finite: dict[str, Any] = {
        name: float(number)
        for name, number in numbers.items()
        if number is not None and math.isfinite(number)
    }
    return b.op("Clip", x, shape=x.shape, **finite)


def pad(b: OnnxBuilder, x: Ref, value: Ref, low: Sequence[Dim], high: Sequence[Dim]) -> Ref:
    """`x` surrounded by a number; negative amounts crop."""
    shape = tuple(
        _plus(_plus(dim, before), after)
        for dim, before, after in zip(x.shape, low, high, strict=True)
    )
    if shape == x.shape and not any(low):
        return x
    if b.opset >= 11:
        widths = b.sizes([*low, *high])
        return b.op("Pad", x, widths, b.cast(value, x.dtype), shape=shape)
    if value.constant is None:
        raise NeedsOpset(11, "`Pad` with a number that is computed")
    pads = list(require_static([*low, *high], "padding"))
    return b.op("Pad", x, shape=shape, pads=pads, value=float(value.constant))


def scatter_elements(b: OnnxBuilder, x: Ref, indices: Ref, updates: Ref, dim: int) -> Ref:
    """`x` with `updates` written at `indices` along `dim`."""
    name = "ScatterElements" if b.opset >= 11 else "Scatter"
    return b.op(name, x, indices, updates, shape=x.shape, axis=dim)


def filled(b: OnnxBuilder, shape: Sequence[Dim], value: Any, dtype: np.dtype) -> Ref:
    """A tensor of one number."""
    shape = tuple(shape)
    plain = static(shape)
    if plain is not None and math.prod(plain) <= 64:
        return b.constant(np.full(plain, value, dtype))
    return expand(b, b.constant(np.full((), value, dtype)), shape)


def positions(b: OnnxBuilder, size: Dim) -> Ref:
    """The numbers from 0 to `size` - 1, int64."""
    if not isinstance(size, CapturedSize):
        return b.constant(np.arange(size, dtype=INT64))
    zero, one = b.constant(np.int64(0)), b.constant(np.int64(1))
    return b.op("Range", zero, b.number(size), one, shape=(size,))


def arange(b: OnnxBuilder, count: Dim, start: Dim, step: Dim) -> Ref:
    """`count` numbers from `start` on, each `step` more than the one before, int64."""
    if not (
        isinstance(count, CapturedSize)
        or isinstance(start, CapturedSize)
        or isinstance(step, CapturedSize)
    ):
        return b.constant(start + step * np.arange(count, dtype=INT64))
    scaled = b.op("Mul", positions(b, count), b.number(step)) if step != 1 else positions(b, count)
    return scaled if start == 0 else b.op("Add", scaled, b.number(start))


def single_rounding(b: OnnxBuilder, name: str, *operands: Ref, dtype: np.dtype) -> Ref:
    """The operator `name` in the widest type of its float operands, with a result of `dtype`."""
    floats = [operand.dtype for operand in operands if operand.is_float]
    common_dtype = max((dtype, *floats), key=lambda kind: kind.itemsize)
    return b.cast(b.op(name, *(b.cast(operand, common_dtype) for operand in operands)), dtype)


def matmul(b: OnnxBuilder, x: Ref, y: Ref) -> Ref:
    """The product of matrices, leading dimensions broadcast."""
    left, right = x.shape, y.shape
    batch = broadcast_shapes([left[:-2], right[:-2]])
    shape = (*batch, *left[-2:-1], *(right[-1:] if len(right) > 1 else ()))
    return b.op("MatMul", x, y, shape=shape)
