"""Making nested tensors, by PyTorch's names."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from oneflow.base.dtype import DType
from oneflow.base.layout import Layout
from oneflow.functional.creation.from_data import tensor as make_tensor
from oneflow.nested.parts import NestedParts, RaggedSize
from oneflow.nested.tensor import NestedTensor, join, nested
from oneflow.tensor.tensor import Tensor


def _parts_of(layout: Layout | None, values: Tensor, ragged_dim: int = 1) -> NestedParts:
    if layout is Layout.jagged:
        return NestedParts(values, (), layout, RaggedSize(), ragged_dim)
    if layout not in (None, Layout.strided):
        raise RuntimeError(f"`layout` of a nested tensor is strided or jagged, got {layout}")
    return NestedParts(values, ())


def _nested_of(components: Sequence[Tensor], layout: Layout | None) -> NestedTensor:
    """A nested tensor with the history of its components.

    Raises:
        RuntimeError: they have other numbers of dimensions, or may not be jagged.
    """
    if not components:
        return join((), _parts_of(layout, make_tensor([])))
    for number, part in enumerate(components):
        if part.ndim != components[0].ndim:
            raise RuntimeError(
                "All Tensors given to nested_tensor must have the same dimension. Found dimension"
                f" {part.ndim} for Tensor at index {number} and dimension {components[0].ndim} for"
                " Tensor at index 0."
            )
    place = _ragged_dim([tuple(part.shape) for part in components])
    return join(components, _parts_of(layout, components[0], place))


def _ragged_dim(shapes: Sequence[tuple[int, ...]]) -> int:
    """The first dimension in which components differ, the first of theirs if in none."""
    ragged = (dim for dim, sizes in enumerate(zip(*shapes, strict=True), 1) if len(set(sizes)) > 1)
    return next(ragged, 1)


def nested_tensor(
    tensor_list: Sequence[Any],
    *,
    dtype: DType | None = None,
    layout: Layout | None = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> NestedTensor:
    """Return a nested tensor with copies of tensors, or of what `oneflow.tensor` takes: a leaf.

    Args:
        tensor_list: the components, which have as many dimensions.
        dtype: the dtype of all; by default that of the first.
        layout: `oneflow.strided`, or `oneflow.jagged` if they differ in one dimension only.
        device: where to put it; by default where the first is.
        requires_grad: whether its gradient is asked for.
        pin_memory: without effect.

    Raises:
        RuntimeError: numbers of dimensions differ, or components may not be jagged.

    Example:
        >>> import oneflow as flow
        >>> x = flow.nested.nested_tensor([flow.ones(2), flow.zeros(3)])
        >>> x.softmax(-1).unbind()[0].tolist(), x.size(0)
        ([0.5, 0.5], 2)
    """
    components = [
        part.detach() if isinstance(part, Tensor) else make_tensor(part) for part in tensor_list
    ]
    kind = dtype or (components[0].dtype if components else None)
    place = device or (components[0].device if components else None)
    result = _nested_of([part.to(place).to(kind) for part in components], layout)
    return result.requires_grad_(requires_grad)


def as_nested_tensor(
    ts: Any, dtype: DType | None = None, device: Any = None, layout: Layout | None = None
) -> NestedTensor:
    """Return tensors as a nested tensor, whose gradient flows to them.

    Args:
        ts: the components, or a tensor whose first dimension counts them, or a nested tensor.
        dtype: the dtype of all; by default that of the first.
        device: where to put it; by default where the first is.
        layout: the same as for `nested_tensor`.

    Raises:
        RuntimeError: as `nested_tensor`.

    Example:
        >>> import oneflow as flow
        >>> a, b = flow.ones(2, requires_grad=True), flow.ones(3, requires_grad=True)
        >>> (flow.nested.as_nested_tensor([a, b]) * 2).sum().backward()
        >>> a.grad.tolist()
        [2.0, 2.0]
    """
    if isinstance(ts, NestedTensor) and layout in (None, ts.layout):
        return ts.with_values(ts._parts.values.to(device or ts.device).to(dtype or ts.dtype))
    components = list(ts.unbind() if isinstance(ts, Tensor) else ts)
    kind = dtype or (components[0].dtype if components else None)
    place = device or (components[0].device if components else None)
    return _nested_of([part.to(place).to(kind) for part in components], layout)


def nested_tensor_from_jagged(
    values: Tensor,
    offsets: Tensor | None = None,
    lengths: Tensor | None = None,
    jagged_dim: int | None = None,
    min_seqlen: int | None = None,
    max_seqlen: int | None = None,
) -> NestedTensor:
    """Return the jagged tensor whose components lie one after another in a tensor.

    Args:
        values: the components, joined in one dimension.
        offsets: where each begins, from 0, and the end; by default computed from `lengths`.
        lengths: their lengths, if something lies between them.
        jagged_dim: the dimension of the result in which they differ, by default 1.
        min_seqlen: without effect.
        max_seqlen: without effect.

    Raises:
        RuntimeError: neither offsets nor lengths are given, or they do not divide the values.
        ValueError: the values have no such dimension.

    Example:
        >>> import oneflow as flow
        >>> values, offsets = flow.arange(6).reshape(3, 2), flow.tensor([0, 1, 3])
        >>> x = flow.nested.nested_tensor_from_jagged(values, offsets)
        >>> [part.tolist() for part in x.unbind()]
        [[[0, 1]], [[2, 3], [4, 5]]]
    """
    place = 1 if jagged_dim is None else jagged_dim
    if not 1 <= place <= values.ndim:
        raise ValueError(f"`jagged_dim` must be from 1 to {values.ndim}, got {place}")
    starts, counts = _starts_and_counts(offsets, lengths, values.shape[place - 1])
    like = _parts_of(Layout.jagged, values, place)
    if place == 1 and (lengths is None or offsets is None):
        shapes = tuple((count, *values.shape[1:]) for count in counts)
        return nested(NestedParts(values.reshape(-1), shapes, like.layout, like.ragged, place))
    pairs = zip(starts, counts, strict=False)  # the last start is the end
    return join([values.narrow(place - 1, start, count) for start, count in pairs], like)


def _starts_and_counts(
    offsets: Tensor | None, lengths: Tensor | None, extent: int
) -> tuple[list[int], list[int]]:
    """The places where components begin, with the end, and their lengths."""
    for name, tensor in (("offsets", offsets), ("lengths", lengths)):
        if tensor is not None and (tensor.ndim != 1 or tensor.dtype.is_floating_point):
            raise RuntimeError(
                f"`{name}` must have integers in one dimension, got {tensor.dtype} of shape"
                f" {tuple(tensor.shape)}"
            )
    if offsets is not None and lengths is not None:
        if len(offsets) != len(lengths) + 1:
            raise RuntimeError(
                "`offsets` must have one element more than `lengths`, got"
                f" {len(offsets)} and {len(lengths)}"
            )
        return offsets.tolist(), lengths.tolist()
    if offsets is not None:
        starts = offsets.tolist()
    elif lengths is not None:
        starts = list(itertools.accumulate(lengths.tolist(), initial=0))
    else:
        raise RuntimeError(
            "nested_tensor_from_jagged(): At least one of offsets or lengths is required."
        )
    counts = [end - start for start, end in itertools.pairwise(starts)]
    if min(counts, default=-1) < 0 or starts[0] != 0 or starts[-1] != extent:
        raise RuntimeError(
            f"`offsets` must ascend from 0 to {extent}, the size of `values`, and `lengths` add up"
            f" to it, got offsets {starts}"
        )
    return starts, counts


def narrow(
    tensor: Tensor, dim: int, start: Any, length: Any, layout: Layout = Layout.strided
) -> NestedTensor:
    """Return a part of each element of a tensor's first dimension, along the second.

    Args:
        tensor: a tensor of one size.
        dim: 1.
        start: where each part begins: a number, or one for each.
        length: how long it is, likewise.
        layout: `oneflow.jagged`.

    Raises:
        RuntimeError: `dim` is not 1, or the layout is another.

    Example:
        >>> import oneflow as flow
        >>> x = flow.arange(6).reshape(2, 3)
        >>> parts = flow.nested.narrow(x, 1, 0, flow.tensor([1, 2]), layout=flow.jagged)
        >>> [part.tolist() for part in parts.unbind()]
        [[0], [3, 4]]
    """
    if layout is not Layout.jagged or dim != 1:
        raise RuntimeError(f"`narrow` takes layout jagged and dim 1, got {layout} and {dim}")
    count = tensor.shape[0]
    starts, lengths = (
        value.tolist() if isinstance(value, Tensor) else [value] * count
        for value in (start, length)
    )
    components = [
        part.narrow(0, first, size)
        for part, first, size in zip(tensor.unbind(), starts, lengths, strict=True)
    ]
    return join(components, _parts_of(layout, tensor))


def masked_select(tensor: Tensor, mask: Tensor) -> NestedTensor:
    """Return the elements of each row that a mask selects, as a jagged tensor.

    Raises:
        RuntimeError: the mask does not broadcast to the tensor.

    Example:
        >>> import oneflow as flow
        >>> x = flow.arange(6).reshape(2, 3)
        >>> parts = flow.nested.masked_select(x, x % 2 == 0)
        >>> [part.tolist() for part in parts.unbind()]
        [[0, 2], [4]]
    """
    full_mask = mask.expand(tensor.shape)
    counts = full_mask.reshape(-1, math.prod(full_mask.shape[-1:])).sum(-1).tolist()
    shapes = tuple((count,) for count in counts)
    selected = tensor.masked_select(full_mask)
    return nested(NestedParts(selected, shapes, Layout.jagged, RaggedSize(), 1))
