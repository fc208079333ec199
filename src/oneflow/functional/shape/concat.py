"""Putting tensors together, and taking them apart into views."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

from oneflow.base.dtype import bool_
from oneflow.base.shape import as_integer, wrap_dim
from oneflow.functional.registry import function
from oneflow.primitives.operators import shape as p
from oneflow.program.value import Value
from oneflow.tensor.call import call, call_view, wrap
from oneflow.tensor.methods import attach, attach_method
from oneflow.tensor.operands import cast_to, on_one_device
from oneflow.tensor.promotion import result_type
from oneflow.tensor.sample_views import SAMPLES, stack_samples
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import join, unwrap
from oneflow.tuning.host_memory import OBJECT_SIZE, require_host_memory

# This number of results of one instruction is traced and run quickly.
_GROUP = 128
# PyTorch names the number of parts and the positions of splits apart.
_SPLITS = {"sections": "indices_or_sections", "indices": "indices_or_sections"}


def sequence_of_tensors(tensors: Any, name: str) -> list[Tensor]:
    """The tensors to put together.

    Raises:
        TypeError: not a sequence of tensors.
        RuntimeError: there is none (ValueError for `cat`, as in PyTorch).
    """
    if isinstance(tensors, Tensor) or not isinstance(tensors, Sequence):
        raise TypeError(
            f"{name}(): argument 'tensors' must be tuple of Tensors, not {type(tensors).__name__}"
        )
    for position, tensor in enumerate(tensors):
        if not isinstance(tensor, Tensor):
            raise TypeError(
                f"expected Tensor as element {position} in argument 0, but got "
                f"{type(tensor).__name__}"
            )
    if not tensors:
        kind = ValueError if name == "cat" else RuntimeError
        raise kind(f"{name}(): expected a non-empty list of Tensors")
    return list(tensors)


def _promoted(tensors: list[Tensor]) -> list[Tensor]:
    """Tensors cast to their common dtype."""
    first = tensors[0]._value.spec
    if all(
        tensor._value.spec.dtype is first.dtype and tensor._value.spec.device is first.device
        for tensor in tensors
    ):
        return tensors
    tensors = list(on_one_device(tuple(tensors)))
    dtype = result_type(*tensors)
    return [cast_to(tensor, dtype) for tensor in tensors]


@function(method=False, also=("concat", "concatenate"))
def cat(inputs: Sequence[Tensor], dim: int = 0) -> Tensor:
    """The tensors one after the other along an existing dimension.

    Args:
        inputs: tensors of equal sizes in all other dimensions; empty 1-dim tensors are skipped.
        dim: dimension.

    Raises:
        RuntimeError: sizes differ.
        ValueError: there are no tensors.

    Example:
        >>> import oneflow as flow
        >>> flow.cat([flow.zeros(1, 2), flow.ones(1, 2)])
        tensor([[0., 0.],
                [1., 1.]], dtype=oneflow.float32)
    """
    promoted = _promoted(sequence_of_tensors(inputs, "cat"))
    real = [tensor for tensor in promoted if tensor._value.spec.shape != (0,)] or promoted[:1]
    shape = real[0]._value.spec.shape
    if not all(tensor._value.spec.shape for tensor in promoted):
        position = next(i for i, tensor in enumerate(promoted) if not tensor.ndim)
        raise RuntimeError(
            f"zero-dimensional tensor (at position {position}) cannot be concatenated"
        )
    # Empty tensors of one dimension are skipped along any dimension, even if there are no others.
    at = 0 if shape == (0,) else wrap_dim(operator.index(dim), len(shape))
    for position, tensor in enumerate(real):
        _check_shape(tensor._value.spec.shape, shape, at, position)
    if len(real) < len(promoted):
        # The skipped tensors join as empty tensors so that they get gradients, too.
        empty_shape = (*shape[:at], 0, *shape[at + 1 :])
        real += [
            call(p.reshape, tensor, shape=empty_shape)
            for tensor in promoted
            if tensor.requires_grad and tensor._value.spec.shape == (0,)
        ]
    return call(p.concat, *real, dim=at)


concat = concatenate = cat


def _check_shape(have: tuple, want: tuple, dim: int, position: int) -> None:
    if len(have) != len(want):
        raise RuntimeError(
            f"Tensors must have same number of dimensions: got {len(want)} and {len(have)}"
        )
    for at, (size, expected) in enumerate(zip(have, want, strict=True)):
        if at != dim and size != expected:
            raise RuntimeError(
                f"Sizes of tensors must match except in dimension {dim}. Expected size {expected} "
                f"but got size {size} for tensor number {position} in the list."
            )


@function(method=False)
def stack(inputs: Sequence[Tensor], dim: int = 0) -> Tensor:
    """The tensors one after the other along a new dimension.

    Raises:
        RuntimeError: shapes differ, or there are no tensors.

    Example:
        >>> import oneflow as flow
        >>> flow.stack([flow.zeros(2), flow.ones(2)], dim=1)
        tensor([[0., 1.],
                [0., 1.]], dtype=oneflow.float32)
    """
    promoted = _promoted(sequence_of_tensors(inputs, "stack"))
    shape = promoted[0]._value.spec.shape
    for position, tensor in enumerate(promoted):
        if tensor._value.spec.shape != shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(shape)} at entry 0 and "
                f"{list(tensor.shape)} at entry {position}"
            )
    dim = wrap_dim(operator.index(dim), len(shape) + 1)
    batch = stack_samples(promoted, dim) if SAMPLES.is_active else None
    return call(p.stack, *promoted, dim=dim) if batch is None else batch


def split_views(input: Tensor, sizes: Sequence[int], dim: int) -> tuple[Tensor, ...]:
    """Views of consecutive parts along `dim`; few are computed by one instruction."""
    values = _values_of_parts(unwrap(input), tuple(sizes), dim)
    parts, start = [], 0
    for value, size in zip(values, sizes, strict=True):
        step = (p.slice_, (start,), {"dims": (dim,), "sizes": (size,), "steps": (1,)})
        parts.append(join(wrap(value), input, step))
        start += size
    return tuple(parts)


def _group_size(count: int) -> int:
    """The results of one instruction, so that `count` of them take time in proportion."""
    return count if count <= 2 * _GROUP else max(_GROUP, math.isqrt(count))


def _values_of_parts(value: Value, sizes: tuple[int, ...], dim: int) -> Sequence[Value]:
    group = _group_size(len(sizes))
    if group >= len(sizes):
        return p.split(value, sizes=sizes, dim=dim)
    groups = [sizes[start : start + group] for start in range(0, len(sizes), group)]
    parts = p.split(value, sizes=tuple(map(sum, groups)), dim=dim)
    pairs = zip(parts, groups, strict=True)
    return [
        part for joined, part_sizes in pairs for part in p.split(joined, sizes=part_sizes, dim=dim)
    ]


def _values_of_slices(value: Value, dim: int) -> Sequence[Value]:
    count = value.spec.shape[dim]
    group = _group_size(count)
    if group >= count:
        return p.unbind(value, dim=dim)
    sizes = tuple([min(group, count - start) for start in range(0, count, group)])
    return [row for part in p.split(value, sizes=sizes, dim=dim) for row in p.unbind(part, dim=dim)]


@function(
    keyword_aliases={
        "tensor": "x",
        "split_size": "split_size_or_sections",
        "split_sizes": "split_size_or_sections",
    },
    aliases=("unsafe_split", "unsafe_split_with_sizes"),
    also=("split_with_sizes",),
)
def split(
    x: Tensor, split_size_or_sections: int | Sequence[int], dim: int = 0
) -> tuple[Tensor, ...]:
    """Views of parts along `dim`, all of one size (the last may be smaller) or of given sizes.

    Raises:
        RuntimeError: sizes that are negative or do not add up.

    Example:
        >>> import oneflow as flow
        >>> [part.tolist() for part in flow.arange(5).split(2)]
        [[0, 1], [2, 3], [4]]
    """
    if not x.ndim:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    at = wrap_dim(dim, x.ndim)
    total = x._value.spec.shape[at]
    if isinstance(split_size_or_sections, Sequence):
        sizes = [operator.index(size) for size in split_size_or_sections]
        if sum(sizes) != total or any(size < 0 for size in sizes):
            raise RuntimeError(
                f"split_with_sizes expects split_sizes to sum exactly to {total} (input tensor's "
                f"size at dimension {dim}) with no negative size, but got split_sizes={sizes}"
            )
        return split_views(x, sizes, at)
    size = operator.index(split_size_or_sections)
    if size < 0 or (size == 0 and total):
        raise RuntimeError(f"split expects split_size be positive, but got split_size={size}")
    if size < total:
        require_host_memory("split", -(-total // size), OBJECT_SIZE)
    sizes = [min(size, total - start) for start in range(0, total, size)] if total else [0]
    return split_views(x, sizes, at)


attach("split_with_sizes", split)


@function(aliases=("unsafe_chunk",))
def chunk(x: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """At most `chunks` views of equal parts along `dim`; the last may be smaller.

    Raises:
        RuntimeError: `chunks` is not positive.

    Example:
        >>> import oneflow as flow
        >>> [part.tolist() for part in flow.arange(5).chunk(2)]
        [[0, 1, 2], [3, 4]]
    """
    chunks = as_integer(chunks, "chunks")
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    if not x.ndim:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    at = wrap_dim(dim, x.ndim)
    total = x._value.spec.shape[at]
    if not total:
        require_host_memory("chunk", chunks, OBJECT_SIZE)
        return split_views(x, [0] * chunks, at)
    return split(x, -(-total // chunks), at)


@function(keyword_aliases=_SPLITS)
def tensor_split(
    input: Tensor, indices_or_sections: int | Sequence[int], dim: int = 0
) -> tuple[Tensor, ...]:
    """Views of nearly equal parts, or of the parts between the given indices.

    Raises:
        RuntimeError: no sections, or a tensor that is neither an integer nor a row of integers.

    Example:
        >>> import oneflow as flow
        >>> [part.tolist() for part in flow.arange(5).tensor_split(3)]
        [[0, 1], [2, 3], [4]]
    """
    if not input.ndim:
        raise RuntimeError(
            "tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims"
        )
    at = wrap_dim(dim, input.ndim)
    total = input._value.spec.shape[at]
    if isinstance(indices_or_sections, Tensor):
        indices_or_sections = _integers(indices_or_sections)
    if isinstance(indices_or_sections, Sequence):
        edges = [0, *(slice(i).indices(total)[1] for i in indices_or_sections), total]
        parts = [(low, max(high - low, 0)) for low, high in pairwise(edges)]
        return tuple(slice_dim(input, at, start, size) for start, size in parts)
    sections = operator.index(indices_or_sections)
    if sections <= 0:
        raise RuntimeError(f"number of sections must be larger than 0, got {sections}")
    require_host_memory("tensor_split", sections, OBJECT_SIZE)
    small, larger = divmod(total, sections)
    return split_views(input, [small + (index < larger) for index in range(sections)], at)


def slice_dim(input: Tensor, dim: int, start: int, length: int, step: int = 1) -> Tensor:
    """View of `length` elements from `start` along `dim`; all checked before."""
    return call_view(p.slice_, input, start, dims=(dim,), sizes=(length,), steps=(step,))


def _integers(indices_or_sections: Tensor) -> Any:
    dtype, ndim = indices_or_sections.dtype, indices_or_sections.ndim
    if dtype.is_floating_point or dtype.is_complex or dtype is bool_ or ndim > 1:
        raise RuntimeError(
            "tensor_split: `indices_or_sections` must be a number, or a tensor of integers with at "
            f"most one dimension, got a tensor of {dtype} with {ndim} dimensions"
        )
    return indices_or_sections.tolist()


def _split_at(name: str, input: Tensor, indices_or_sections: Any, dim: int) -> tuple[Tensor, ...]:
    if isinstance(indices_or_sections, int) and (
        indices_or_sections <= 0 or input.shape[dim] % indices_or_sections
    ):
        raise RuntimeError(
            f"torch.{name} attempted to split along dimension {dim}, but the size of the dimension "
            f"{input.shape[dim]} is not divisible by the split_size {indices_or_sections}!".replace(
                "torch.", ""
            )
        )
    return tensor_split(input, indices_or_sections, dim)


@function(keyword_aliases=_SPLITS)
def hsplit(input: Tensor, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """Parts along dimension 1 (dimension 0 of 1-dim tensors).

    Raises:
        RuntimeError: a 0-dim tensor, or a size that the sections do not divide.

    Example:
        >>> import oneflow as flow
        >>> flow.hsplit(flow.tensor([1, 2, 3, 4]), 2)
        (tensor([1, 2], dtype=oneflow.int64), tensor([3, 4], dtype=oneflow.int64))
    """
    if not input.ndim:
        raise RuntimeError(
            "hsplit requires a tensor with at least 1 dimension, but got 0 dimensions"
        )
    return _split_at("hsplit", input, indices_or_sections, min(1, input.ndim - 1))


@function(keyword_aliases=_SPLITS)
def vsplit(input: Tensor, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """Parts along dimension 0.

    Raises:
        RuntimeError: fewer than 2 dimensions, or a size that the sections do not divide.

    Example:
        >>> import oneflow as flow
        >>> flow.vsplit(flow.tensor([[1, 2], [3, 4]]), 2)
        (tensor([[1, 2]], dtype=oneflow.int64), tensor([[3, 4]], dtype=oneflow.int64))
    """
    if input.ndim < 2:
        raise RuntimeError(
            f"vsplit requires a tensor with at least 2 dimension, but got {input.ndim} dimensions"
        )
    return _split_at("vsplit", input, indices_or_sections, 0)


@function(keyword_aliases=_SPLITS)
def dsplit(input: Tensor, indices_or_sections: int | Sequence[int]) -> tuple[Tensor, ...]:
    """Parts along dimension 2.

    Raises:
        RuntimeError: fewer than 3 dimensions, or a size that the sections do not divide.

    Example:
        >>> import oneflow as flow
        >>> [part.shape for part in flow.dsplit(flow.zeros(1, 1, 4), [1])]
        [oneflow.Size([1, 1, 1]), oneflow.Size([1, 1, 3])]
    """
    if input.ndim < 3:
        raise RuntimeError(
            f"dsplit requires a tensor with at least 3 dimension, but got {input.ndim} dimensions"
        )
    return _split_at("dsplit", input, indices_or_sections, 2)


@function()
def unbind(x: Tensor, dim: int = 0) -> tuple[Tensor, ...]:
    """Views of the slices along `dim`, which they do not have.

    Raises:
        IndexError: a 0-dim tensor.

    Example:
        >>> import oneflow as flow
        >>> [row.tolist() for row in flow.arange(4).reshape(2, 2).unbind()]
        [[0, 1], [2, 3]]
    """
    if not x.ndim:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    at = wrap_dim(dim, x.ndim)
    count = x._value.spec.shape[at]
    if not count:
        return ()
    require_host_memory("unbind", count, OBJECT_SIZE)
    return slices_of(x, _values_of_slices(unwrap(x), at), at)


def slices_of(x: Tensor, values: Iterable[Value], dim: int) -> tuple[Tensor, ...]:
    """The views of `x` that are its slices along `dim`, whose values are given."""
    attributes = {"dims": (dim,)}
    return tuple(
        [join(wrap(v), x, (p.select, (index,), attributes)) for index, v in enumerate(values)]
    )


def stack_rows(self: Tensor, dim: int = 0) -> Tensor:
    """`stack` of the parts along the first dimension, as in OneFlow 0.5: it becomes `dim`.

    Example:
        >>> import oneflow as flow
        >>> flow.tensor([[1, 2], [3, 4]]).stack(dim=1)
        tensor([[1, 3],
                [2, 4]], dtype=oneflow.int64)
    """
    return stack(unbind(self), dim)


attach_method("stack", stack_rows)
