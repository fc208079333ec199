"""Views: other shapes, orders and extents of the same memory.

Writing to a view writes to its base.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence
from typing import Any, cast

from oneflow.base.dtype import Category, DType, int64
from oneflow.base.shape import wrap_dim, wrap_dims
from oneflow.functional.creation.options import sizes_of
from oneflow.functional.registry import function
from oneflow.functional.shape.byte_views import may_copy, view_as_type
from oneflow.primitives.operators import shape as p
from oneflow.primitives.operators.reduce import sum_to
from oneflow.primitives.strides import reshaped_strides
from oneflow.tensor.call import call, call_view
from oneflow.tensor.methods import attach
from oneflow.tensor.operands import cast_to
from oneflow.tensor.strides import is_view, strided_layout
from oneflow.tensor.tensor import Tensor


@functools.lru_cache(maxsize=1 << 12)
def _completed(sizes: tuple[int, ...], numel: int) -> tuple[int, ...]:
    """`sizes`, of so many elements together, with its -1 worked out."""
    product = 1
    for size in sizes:
        if size < -1:
            raise RuntimeError(f"invalid shape dimension {size}")
        product *= 1 if size == -1 else size
    missing = sizes.count(-1)
    if missing > 1:
        raise RuntimeError(f"only one dimension can be inferred, but -1 stands {missing} times")
    if missing:
        if product == 0 and numel == 0:
            raise RuntimeError(
                f"cannot reshape tensor of 0 elements into shape {list(sizes)} because the "
                "unspecified dimension size -1 can be any value and is ambiguous"
            )
        if product and numel % product == 0:
            return tuple(numel // product if size == -1 else size for size in sizes)
    elif product == numel:
        return sizes
    raise RuntimeError(f"shape '{list(sizes)}' is invalid for input of size {numel}")


def try_view(input: Tensor, shape: tuple[int, ...]) -> Tensor | None:
    """`input` with another shape, sharing its memory; None if its strides do not allow that."""
    if is_view(input):
        layout = strided_layout(input)
        if reshaped_strides(layout.shape, layout.strides, shape) is None:
            return None
    return call_view(p.reshape, input, shape=shape)


@function(also=("_C.reshape",))
def reshape(input: Tensor, shape: Any, *more: int) -> Tensor:
    """`input` with another shape; shares memory where `view` could, otherwise a copy.

    Args:
        input: tensor.
        shape: sizes, as one sequence or separate numbers; one of them may be -1: whatever is left.
        more: the sizes behind the first, if they are separate numbers.

    Raises:
        RuntimeError: the number of elements differs.

    Example:
        >>> import oneflow as flow
        >>> flow.arange(6).reshape(2, -1)
        tensor([[0, 1, 2],
                [3, 4, 5]], dtype=oneflow.int64)
    """
    sizes = sizes_of((shape, *more), "shape")
    return _reshaped(input, _completed(sizes, input._value.spec.numel))


def _reshaped(input: Tensor, shape: tuple[int, ...]) -> Tensor:
    """`input` with another shape of as many elements."""
    result = try_view(input, shape)
    return call(p.reshape, input, shape=shape) if result is None else result


@function(keyword_aliases={"dtype": "shape"})
def view(input: Tensor, shape: Any, *more: int) -> Tensor:
    """The same memory with another shape, or, given a dtype, with its bytes read as that type.

    A global tensor, or any tensor within ``nn.Graph.build``, is copied where the strides do not
    allow a view.

    Raises:
        RuntimeError: the number of elements differs, or the strides of a local tensor do not allow
            it (use `reshape`).

    Example:
        >>> import oneflow as flow
        >>> x = flow.zeros(2, 2)
        >>> y = x.view(-1)
        >>> y[0] = 5
        >>> x[0, 0].item()
        5.0
    """
    if isinstance(shape, DType):
        return view_as_type(input, shape)
    sizes = sizes_of((shape, *more), "shape")
    completed = _completed(sizes, input._value.spec.numel)
    result = try_view(input, completed)
    if result is not None:
        return result
    if not may_copy(input):
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one "
            "dimension spans across two contiguous subspaces). Use .reshape(...) instead."
        )
    return call(p.reshape, input, shape=completed)


@function(namespace=None)
def view_as(input: Tensor, other: Tensor) -> Tensor:
    """``input.view(other.shape)``.

    Example:
        >>> import oneflow as flow
        >>> flow.tensor([1, 2]).view_as(flow.zeros(2, 1))
        tensor([[1],
                [2]], dtype=oneflow.int64)
    """
    return view(input, other.shape)


@function(namespace=None)
def reshape_as(input: Tensor, other: Tensor) -> Tensor:
    """``input.reshape(other.shape)``.

    Example:
        >>> import oneflow as flow
        >>> flow.tensor([1, 2]).reshape_as(flow.zeros(2, 1))
        tensor([[1],
                [2]], dtype=oneflow.int64)
    """
    return reshape(input, other.shape)


@functools.cache
def reversed_order(ndim: int) -> tuple[int, ...]:
    """So many dimensions, the last one first."""
    return tuple(reversed(range(ndim)))


def permuted(input: Tensor, perm: tuple[int, ...]) -> Tensor:
    """View with the dimensions in another order, counted from the front."""
    return call_view(p.transpose, input, perm=perm)


@function()
def permute(input: Tensor, dims: Any, *more: int) -> Tensor:
    """View with the dimensions in the order `dims`.

    Raises:
        RuntimeError: `dims` does not name each dimension once.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2, 3, 4).permute(2, 0, 1).shape
        oneflow.Size([4, 2, 3])
    """
    return permuted(input, _order(sizes_of((dims, *more), "dims"), input._value.spec.ndim))


@functools.lru_cache(maxsize=1 << 10)
def _order(dims: tuple[int, ...], ndim: int) -> tuple[int, ...]:
    """All dimensions in the order `dims`, counted from the front."""
    if len(dims) != ndim:
        raise RuntimeError(
            "permute: number of dimensions in the tensor input does not match the length of the "
            f"desired ordering of dimensions i.e. input.dim() = {ndim} is not equal to "
            f"len(dims) = {len(dims)}"
        )
    return wrap_dims(dims, ndim)


@function(
    aliases=("swapaxes", "swapdims"),
    keyword_aliases={"perm": "dim0", "axis0": "dim0", "axis1": "dim1"},
    also=("_C.transpose",),
)
def transpose(input: Tensor, dim0: Any, dim1: int | None = None) -> Tensor:
    """View with two dimensions swapped; or, given one sequence, `permute`.

    Raises:
        IndexError: a dimension is out of range.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2, 3).transpose(0, 1).shape
        oneflow.Size([3, 2])
    """
    if dim1 is None:
        return permute(input, dim0)
    dims = operator.index(dim0), operator.index(dim1)
    return permuted(input, _swapped(*dims, input._value.spec.ndim))


@functools.lru_cache(maxsize=1 << 10)
def _swapped(dim0: int, dim1: int, ndim: int) -> tuple[int, ...]:
    """All dimensions in order, but for two that are swapped."""
    first, second = wrap_dim(dim0, ndim), wrap_dim(dim1, ndim)
    order = list(range(ndim))
    if ndim:
        order[first], order[second] = second, first
    return tuple(order)


swapaxes = swapdims = transpose


@function()
def t(input: Tensor) -> Tensor:
    """A matrix transposed; tensors of fewer dimensions as they are.

    Raises:
        RuntimeError: more than 2 dimensions.

    Example:
        >>> import oneflow as flow
        >>> flow.t(flow.tensor([[1, 2], [3, 4]]))
        tensor([[1, 3],
                [2, 4]], dtype=oneflow.int64)
    """
    if input.ndim > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {input.ndim}D")
    return permuted(input, reversed_order(input._value.spec.ndim))


@function(aliases=("moveaxis",))
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor:
    """View with dimensions moved from `source` to `destination`, the others keeping their order.

    Raises:
        RuntimeError: the two name different numbers of dimensions, or one twice.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2, 3, 4).movedim(0, -1).shape
        oneflow.Size([3, 4, 2])
    """
    source_dims, target_dims = wrap_dims(source, input.ndim), wrap_dims(destination, input.ndim)
    if len(source_dims) != len(target_dims):
        raise RuntimeError(
            "movedim: Invalid source or destination dims: source "
            f"({list(source_dims)} dims) should contain the same number of dims as destination "
            f"({list(target_dims)} dims)"
        )
    target = dict(zip(target_dims, source_dims, strict=True))
    rest = iter(dim for dim in range(input.ndim) if dim not in source_dims)
    return permuted(
        input, tuple(target[dim] if dim in target else next(rest) for dim in range(input.ndim))
    )


@function()
def squeeze(x: Tensor, dim: int | Sequence[int] | None = None, *more: int) -> Tensor:
    """View without dimensions of size 1: all of them, or those in `dim` that have size 1.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(1, 2, 1).squeeze(0).shape
        oneflow.Size([2, 1])
    """
    shape = x._value.spec.shape
    dims = wrap_dims((cast(int, dim), *more) if more else dim, len(shape))
    new_shape = tuple([size for at, size in enumerate(shape) if size != 1 or at not in dims])
    return _same_memory(x, new_shape)


@function()
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """View with a new dimension of size 1 at `dim`.

    Raises:
        IndexError: `dim` is out of range.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2, 3).unsqueeze(1).shape
        oneflow.Size([2, 1, 3])
    """
    shape = input._value.spec.shape
    at = wrap_dim(operator.index(dim), len(shape) + 1)
    return _same_memory(input, (*shape[:at], 1, *shape[at:]))


def _same_memory(input: Tensor, shape: tuple[int, ...]) -> Tensor:
    """View that only adds or drops dimensions of size 1, which all strides allow."""
    return call_view(p.reshape, input, shape=shape)


@function()
def flatten(x: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """The dimensions from `start_dim` to `end_dim` made one; shares memory where possible.

    Raises:
        RuntimeError: `start_dim` comes after `end_dim`.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2, 3, 4).flatten(1).shape
        oneflow.Size([2, 12])
    """
    shape = x._value.spec.shape
    flat = _flattened(shape, operator.index(start_dim), operator.index(end_dim))
    return x if flat == shape else _reshaped(x, flat)


@functools.lru_cache(maxsize=1 << 12)
def _flattened(shape: tuple[int, ...], start_dim: int, end_dim: int) -> tuple[int, ...]:
    """`shape` with the dimensions from `start_dim` to `end_dim` made one."""
    start, end = wrap_dim(start_dim, len(shape)), wrap_dim(end_dim, len(shape))
    if start > end:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    return (*shape[:start], math.prod(shape[start : end + 1]), *shape[end + 1 :])


@function()
def ravel(input: Tensor) -> Tensor:
    """All elements in one dimension; shares memory where possible.

    Example:
        >>> import oneflow as flow
        >>> flow.ravel(flow.tensor([[1, 2], [3, 4]]))
        tensor([1, 2, 3, 4], dtype=oneflow.int64)
    """
    return reshape(input, -1) if input._value.spec.numel else reshape(input, 0)


@function()
def unflatten(input: Tensor, dim: int, sizes: Sequence[int]) -> Tensor:
    """View with dimension `dim` split into `sizes`; one of the sizes may be -1.

    Raises:
        RuntimeError: the sizes do not multiply to the dimension's.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2, 12).unflatten(1, (3, -1)).shape
        oneflow.Size([2, 3, 4])
    """
    shape = input._value.spec.shape
    at = wrap_dim(dim, len(shape))
    new_sizes = sizes_of((sizes,), "sizes")
    known_product = 1
    for size in new_sizes:
        known_product *= 1 if size == -1 else size
    if -1 in new_sizes and known_product:
        new_sizes = tuple(shape[at] // known_product if size == -1 else size for size in new_sizes)
    product = 1
    for size in new_sizes:
        product *= size
    if not new_sizes or product != shape[at]:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {dim} "
            f"({shape[at]}) in the input tensor"
        )
    return view(input, (*shape[:at], *new_sizes, *shape[at + 1 :]))


@function(keyword_aliases={"size": "sizes", "expand_size": "sizes", "shape": "sizes"})
def expand(input: Tensor, sizes: Any, *more: int) -> Tensor:
    """View with dimensions of size 1 repeated, and new ones in front; -1 keeps a size.

    Raises:
        RuntimeError: a dimension that is not 1 would change, or -1 stands for a new dimension.

    Example:
        >>> import oneflow as flow
        >>> flow.tensor([[1], [2]]).expand(-1, 3)
        tensor([[1, 1, 1],
                [2, 2, 2]], dtype=oneflow.int64)
    """
    shape = input._value.spec.shape
    new_sizes = sizes_of((sizes, *more), "sizes")
    added = len(new_sizes) - len(shape)
    if added < 0:
        raise RuntimeError(
            f"expand({list(new_sizes)}): the number of sizes provided ({len(new_sizes)}) must be "
            "greater "
            f"or equal to the number of dimensions in the tensor ({len(shape)})"
        )
    target = []
    for at, size in enumerate(new_sizes):
        have = shape[at - added] if at >= added else 1
        if size == -1 and at < added:
            raise RuntimeError(
                f"expand({list(new_sizes)}): -1 is not allowed in a leading, non-existing "
                "dimension "
                f"{at}"
            )
        if size < -1:
            raise RuntimeError(
                f"expand({list(new_sizes)}): sizes must not be negative; -1 keeps what there is"
            )
        if size != -1 and size != have and have != 1:
            raise RuntimeError(
                f"The expanded size of the tensor ({size}) must match the existing size ({have}) "
                f"at non-singleton dimension {at}. Target sizes: {list(new_sizes)}. "
                f"Tensor sizes: {list(shape)}"
            )
        target.append(have if size == -1 else size)
    return call_view(p.broadcast_to, input, shape=tuple(target))


@function(namespace=None)
def expand_as(input: Tensor, other: Tensor) -> Tensor:
    """``input.expand(other.shape)``.

    Example:
        >>> import oneflow as flow
        >>> flow.tensor([1, 2]).expand_as(flow.zeros(2, 2))
        tensor([[1, 2],
                [1, 2]], dtype=oneflow.int64)
    """
    return expand(input, other.shape)


def sum_to_size(self: Tensor, *size: Any) -> Tensor:
    """The tensor summed over what broadcasting from `size` to its shape repeated.

    With its own shape it is the tensor itself. Sums of integers and bools are int64; a single
    number counts as one.

    Raises:
        RuntimeError: `size` does not broadcast to the shape.

    Example:
        >>> import oneflow as flow
        >>> flow.ones(2, 3).sum_to_size(1, 3)
        tensor([[2., 2., 2.]], dtype=oneflow.float32)
    """
    shape, target = self._value.spec.shape, sizes_of(size)
    pairs = zip(reversed(shape), reversed(target), strict=False)
    if len(target) > len(shape) or any(want not in (have, 1) for have, want in pairs):
        raise RuntimeError(f"size {list(target)} is not expandable to size {list(shape)}")
    if target and target == tuple(shape):
        return self
    is_integer = self._value.spec.dtype.category <= Category.INTEGER
    return call(sum_to, cast_to(self, int64) if is_integer else self, shape=target)


attach("sum_to_size", sum_to_size)


@function()
def broadcast_to(input: Tensor, shape: Any, *more: int) -> Tensor:
    """``input.expand(shape)``.

    Example:
        >>> import oneflow as flow
        >>> flow.broadcast_to(flow.tensor([1, 2]), (2, 2))
        tensor([[1, 2],
                [1, 2]], dtype=oneflow.int64)
    """
    return expand(input, shape, *more)
