"""Chains of views: reading replays one from its root, writing scatters back along it."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from oneflow.base.dtype import DType, int64, real_dtype
from oneflow.base.spec import TensorSpec
from oneflow.dispatch.call import record
from oneflow.dispatch.operand_casts import CASTING
from oneflow.primitives.operators.creation import range_integer, zeros
from oneflow.primitives.operators.elementwise import add, conj, eq, maximum, mul, sub, where
from oneflow.primitives.operators.indexing import index_put
from oneflow.primitives.operators.scatter import gather, scatter_amax
from oneflow.primitives.operators.shape import raise_overlap, reshape, slice_update
from oneflow.primitives.operators.strided import bitcast, view_as_complex, view_as_real
from oneflow.primitives.registry import Primitive
from oneflow.primitives.strides import StridedLayout, has_repeats, row_major
from oneflow.program.value import Value
from oneflow.runtime.eager import current
from oneflow.runtime.outside_capture import outside_capture

ViewCall = tuple[Primitive, tuple, dict[str, Any]]
Chain = tuple[ViewCall, ...]


# The result of `ViewRule.box`.
Box = dict[int, tuple[Any, int | None, int]]
_NUMBERS = frozenset({int})


class ViewChain(tuple[ViewCall, ...]):
    """The views that lead from a root to a tensor, and further facts about that tensor.

    Tensors seen the same way share one. It is compared by identity, so that tables have it as key.

    Attributes:
        operation: records the last view; None if it is not known.
        layout: where in a root of its own memory the tensor is; None if nobody has asked.
        is_kept: tables have it, so it holds no values.
        part: the part of the root that the tensor is, if its position is known; None if nobody has
            asked.
    """

    operation: Any = None
    layout: StridedLayout | None = None
    part: StridedBox | None = None
    is_kept = False
    __eq__ = object.__eq__
    __ne__ = object.__ne__
    __hash__ = object.__hash__


# The chain of a root.
NO_VIEWS = ViewChain()


class StridedBox(NamedTuple):
    """The elements that boxes within boxes select.

    Attributes:
        dims: the dimensions along which they are some.
        starts: the first along each of these.
        steps: the distances between them.
        sizes: their numbers along all dimensions.
    """

    dims: tuple[int, ...]
    starts: tuple[Any, ...]
    steps: tuple[int, ...]
    sizes: tuple[int, ...]


def joined(chain: ViewChain, view_calls: ViewChain) -> ViewChain:
    """Append `view_calls` to the views of `chain`."""
    if chain.is_kept and view_calls.is_kept:
        return _joined(chain, view_calls)
    if not view_calls:
        return chain
    return ViewChain((*chain, *view_calls)) if chain else view_calls


@functools.lru_cache(maxsize=1 << 12)
def _joined(chain: ViewChain, view_calls: ViewChain) -> ViewChain:
    return ViewChain((*chain, *view_calls))


def replay(value: Value, chain: Chain) -> Value:
    """The view at the end of `chain`."""
    if len(chain) == 1 and isinstance(chain, ViewChain) and not CASTING:
        operation = chain.operation
        if operation is not None and operation.simple and operation.in_specs[0] is value.spec:
            return record(operation, (value, *chain[0][1]))
    for primitive, numbers, attributes in chain:
        value = primitive(value, *numbers, **attributes)
    return value


def replay_memory(value: Value, chain: Chain) -> Value:
    """The view at the end of `chain`, for a tensor to hold.

    A tensor of the user's that is first asked for within a capture keeps its value behind that.
    """
    if current.capture is None or value.is_symbolic:
        return replay(value, chain)
    with outside_capture():
        return replay(value, chain)


def scatter_back(root: Value, chain: Chain, new: Value) -> Value:
    """Return the root after `new` was written into the view at the end of `chain`."""
    if not chain:
        return new
    if isinstance(chain, ViewChain) and chain.part is not None:
        return _write_part(root, chain.part, new)
    if len(chain) == 1:
        primitive, numbers, attributes = chain[0]
        return primitive.view_rule.write(root, new, *numbers, **attributes)
    if overlapping(chain[0]):
        return _put_where_seen(root, chain, new)
    boxes = _leading_boxes(chain)
    count = len(boxes) or 1
    if len(chain) > count:
        new = scatter_back(replay(root, chain[:count]), chain[count:], new)
    if count > 1:
        part = _part_of(root.spec.shape, boxes)
        is_all = len(chain) == count and _NUMBERS.issuperset(map(type, part.starts))
        if is_all and isinstance(chain, ViewChain):
            chain.part = part
        return _write_part(root, part, new)
    return scatter_back(root, chain[:1], new)


def is_conjugate(chain: Chain) -> bool:
    """Return whether the view at the end of `chain` conjugates the elements in memory."""
    return sum(view_call[0] is conj for view_call in chain) % 2 == 1


def seen_as(spec: TensorSpec, dtype: DType) -> Chain:
    """The views that reinterpret elements of `spec` in another dtype, in one dimension."""
    if dtype is spec.dtype:
        return ()
    view_calls: list[ViewCall] = []
    if spec.dtype.is_complex:
        view_calls += [(view_as_real, (), {}), (reshape, (), {"shape": (2 * spec.numel,)})]
    elif dtype.is_complex:
        view_calls += [(reshape, (), {"shape": (spec.numel // 2, 2)}), (view_as_complex, (), {})]
    else:
        view_calls.append((reshape, (), {"shape": (spec.numel,)}))
    shown = real_dtype(spec.dtype)
    if real_dtype(dtype) is not shown:
        view_calls.append((bitcast, (), {"dtype": dtype, "itemsize": shown.itemsize}))
    return tuple(view_calls)


def _leading_boxes(chain: Chain) -> list[Box]:
    """The boxes that the first views of `chain` select, up to one that is more than that."""
    boxes: list[Box] = []
    for primitive, numbers, attributes in chain:
        box = primitive.view_rule.box
        if box is None:
            break
        boxes.append(box(*numbers, **attributes))
    return boxes


def _part_of(shape: tuple[int, ...], boxes: list[Box]) -> StridedBox:
    """Return the last of nested `boxes` as a box in a root of that shape."""
    kept_dims = list(range(len(shape)))
    slices: dict[int, tuple[Any, int, int]] = {}
    for box in boxes:
        for dim, (start, size, step) in box.items():
            first, _, stride = slices.get(kept_dims[dim], (0, 0, 1))
            position = _position(first, stride, start)
            slices[kept_dims[dim]] = position, 1 if size is None else size, stride * step
        kept_dims = [
            at for dim, at in enumerate(kept_dims) if dim not in box or box[dim][1] is not None
        ]
    starts, _, steps = zip(*slices.values(), strict=True)
    sizes = tuple([slices[dim][1] if dim in slices else size for dim, size in enumerate(shape)])
    return StridedBox(tuple(slices), starts, steps, sizes)


def _write_part(root: Value, part: StridedBox, new: Value) -> Value:
    """Return `root` with the elements of `new` in one part."""
    dims, starts, steps, sizes = part
    values = new if new.spec.shape == sizes else reshape(new, shape=sizes)
    return slice_update(root, values, *starts, dims=dims, steps=steps)


def _position(first: int, stride: int, index: Any) -> Any:
    """The position of element `index`, a number or value, of those from `first` on."""
    if type(index) is Value:
        return add(mul(index, stride), first)
    return first + stride * index


def overlapping(view_call: ViewCall) -> bool:
    """Return True if a view made by `view_call` may show an element of its base several times."""
    return view_call[0].view_rule.has_overlap


def _put_where_seen(base: Value, chain: Chain, new: Value) -> Value:
    """`base` with `new` in the elements that the view at the end of `chain` shows.

    If elements of a view overlap, writing back step by step would let unchanged elements win over
    those written.

    Raises:
        RuntimeError: the view has the same element several times along a dimension, or it sees the
            elements as others of another dtype.
    """
    spec = base.spec
    layout = layout_without_copies(spec.shape, chain)
    seen = positions_seen(spec, chain, new.spec.dtype)
    new = conj(new) if is_conjugate(chain) else new
    seen, new = (reshape(value, shape=(value.spec.numel,)) for value in (seen, new))
    flat = reshape(base, shape=(spec.numel,))
    if layout is None or has_repeats(layout.shape, layout.strides):
        root = _put_last(flat, new, seen)
    else:
        root = index_put(flat, new, seen, dims=(0,), accumulate=False)
    return reshape(root, shape=spec.shape)


def layout_without_copies(shape: tuple[int, ...], chain: Chain) -> StridedLayout | None:
    """The layout of the view at the end of `chain`; None if no strides describe it.

    Raises:
        RuntimeError: a dimension shows one element several times.
    """
    layout = layout_within(shape, chain)
    if layout is not None and any(
        n > 1 and not step for n, step in zip(layout.shape, layout.strides, strict=True)
    ):
        raise_overlap()
    return layout


def layout_within(
    shape: tuple[int, ...], chain: Chain, strides: tuple[int, ...] | None = None
) -> StridedLayout | None:
    """The layout of the view at the end of `chain` in a base.

    Args:
        shape: the shape of the base.
        chain: the views that lead from the base.
        strides: the strides of the base, in elements; None if it is stored row by row.

    Returns:
        The layout; None if no strides describe it: PyTorch makes it a view because its base is not
        stored so.
    """
    layout = StridedLayout(shape, row_major(shape) if strides is None else strides)
    for primitive, numbers, attributes in chain:
        layout = primitive.view_rule.layout(layout, *numbers, **attributes)
        if layout.strides is None:
            return None
    return layout


def _put_last(base: Value, new: Value, positions: Value) -> Value:
    """`base` with `new` at `positions`, all of one dimension; the last element at a place counts.

    Only that one gets the gradient of the place.
    """
    empty_spec = {"shape": base.spec.shape, "dtype": int64, "device": base.spec.device}
    order = range_integer(1, 1, size=new.spec.numel, dtype=int64, device=new.spec.device)
    last = scatter_amax(zeros(**empty_spec), order, positions, dim=0)
    last_values = gather(new, maximum(sub(last, 1), 0), dim=0)
    return where(eq(last, 0), base, last_values)


def positions_seen(spec: TensorSpec, chain: Chain, dtype: DType) -> Value:
    """The position in the flattened base of each element of the view at the end of `chain`.

    Raises:
        RuntimeError: the view sees elements of the base as others of another dtype, `dtype`.
    """
    if dtype is not spec.dtype:
        raise_overlap()
    positions = range_integer(0, 1, size=spec.numel, dtype=int64, device=spec.device)
    return replay(reshape(positions, shape=spec.shape), chain)
