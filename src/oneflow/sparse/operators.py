"""Operators on sparse tensors, element by element and along dimensions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from oneflow.base.composed_operand import SparseOperandError
from oneflow.base.device import Device
from oneflow.base.dtype import DType, bool_
from oneflow.base.layout import Layout
from oneflow.base.placement import Placement
from oneflow.base.sbp import SbpLike
from oneflow.base.shape import Size, is_sequence, wrap_dim, wrap_dims
from oneflow.functional.creation.factory_functions import arange, zeros
from oneflow.functional.index.search import nonzero, searchsorted, unique
from oneflow.functional.registry import FUNCTIONS
from oneflow.functional.shape.concat import cat as cat_dense
from oneflow.functional.shape.rearrange import repeat_interleave
from oneflow.functional.shape.stack import meshgrid
from oneflow.sparse.creation import sparse_mask, to_dense, without_values
from oneflow.sparse.tensor import (
    SparseTensor,
    added_at,
    coordinates,
    flat_index,
    of_coordinates,
    reduced_at,
    shared,
    sparse,
)
from oneflow.tensor.tensor import Tensor

_TRANSPOSED = {Layout.sparse_csr: Layout.sparse_csc, Layout.sparse_csc: Layout.sparse_csr}


def unsupported(name: str, reason: str) -> SparseOperandError:
    """The error of an operator that a sparse tensor has, but not so."""
    return SparseOperandError(f"`{name}` of sparse tensors: {reason}")


def on_values(
    function: Callable[..., Tensor], input: SparseTensor, *args: Any, **kwargs: Any
) -> SparseTensor:
    """Apply an elementwise function with f(0) = 0 to the values of a sparse tensor."""
    coalesced = input.coalesce() if input.is_sparse else input
    return coalesced.with_values(function(coalesced._values(), *args, **kwargs))


def clone(input: SparseTensor, **options: Any) -> SparseTensor:
    """Copy the values."""
    return input.with_values(input._values().clone(**options))


def in_layout(result: SparseTensor, x: SparseTensor) -> SparseTensor:
    """A result of coordinates in the layout of an operand."""
    return result if x.is_sparse else result.to_sparse(layout=x.layout)


def in_coordinates(x: SparseTensor) -> SparseTensor:
    """The tensor in coordinates, on the same values."""
    return x if x.is_sparse else of_coordinates(coordinates(x), x._values(), x.shape)


def add(input: Any, other: Any, *, alpha: float = 1) -> Tensor:
    """Add two sparse tensors, or a dense one and a sparse one, which makes a dense one."""
    if not isinstance(input, Tensor) or not isinstance(other, Tensor):
        raise unsupported("add", "a number would be added to every element; use `to_dense()`")
    if not isinstance(input, SparseTensor) or not isinstance(other, SparseTensor):
        return to_dense(input) + alpha * to_dense(other)
    if input.shape != other.shape:
        raise unsupported("add", f"shapes must be equal, got {input.shape} and {other.shape}")
    parts = [in_coordinates(input), in_coordinates(other)]
    index = cat_dense([part._indices() for part in parts], 1)
    scaled = parts[1]._values() if alpha == 1 else parts[1]._values() * alpha
    values = cat_dense([parts[0]._values(), scaled])
    return in_layout(of_coordinates(index, values, input.shape).coalesce(), input)


def sub(input: Any, other: Any, *, alpha: float = 1) -> Tensor:
    """Subtract, as `add` adds."""
    return add(input, other, alpha=-alpha)


def mul(input: Any, other: Any) -> Tensor:
    """Multiply by a number, element by element by a dense tensor, or by a sparse one."""
    if not isinstance(input, SparseTensor):
        input, other = other, input
    if not isinstance(other, Tensor) or (not isinstance(other, SparseTensor) and other.ndim == 0):
        return input.with_values(input._values() * other)
    if not isinstance(other, SparseTensor):
        dense = other.expand(input.shape)
        return input.with_values(input._values() * sparse_mask(dense, input)._values())
    a, b = in_coordinates(input).coalesce(), in_coordinates(other).coalesce()
    if a.shape != b.shape:
        raise unsupported("mul", f"shapes must be equal, got {a.shape} and {b.shape}")
    if not a._nnz() or not b._nnz():
        return in_layout(a if not a._nnz() else b, input)
    keys, others = flat_index(a._indices(), a.shape), flat_index(b._indices(), b.shape)
    place = searchsorted(others, keys).clamp(max=b._nnz() - 1)
    both = nonzero(others.index_select(0, place) == keys).squeeze(1)
    values = a._values().index_select(0, both) * b._values().index_select(
        0, place.index_select(0, both)
    )
    index = a._indices().index_select(1, both)
    return in_layout(of_coordinates(index, values, a.shape, True), input)


def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """Divide by a number, or by a tensor without dimensions."""
    if not isinstance(input, SparseTensor) or isinstance(other, SparseTensor):
        raise unsupported("div", "only a number or a tensor without dimensions divides one")
    if isinstance(other, Tensor) and other.ndim:
        raise unsupported("div", f"a tensor of shape {tuple(other.shape)} may hold 0 elsewhere")
    return on_values(lambda x: x.div(other, rounding_mode=rounding_mode), input)


def pow(input: Any, exponent: Any) -> Tensor:
    """Raise to a power that is a positive number."""
    if isinstance(exponent, Tensor) or exponent <= 0:
        raise unsupported("pow", f"the exponent must be a positive number, got {exponent}")
    return on_values(lambda x: x.pow(exponent), input)


def new_zeros(
    input: SparseTensor,
    *size: Any,
    dtype: DType | None = None,
    device: Device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Return a tensor of another shape, and of the same layout, that stores nothing."""
    shape = zeros(*size, device="meta").shape
    options = {"dtype": dtype or input.dtype, "device": device or input.device}
    result = without_values(input.layout, shape, 0, **options)
    return result.requires_grad_() if requires_grad else result


new_empty = new_zeros


def norm(
    input: SparseTensor,
    p: Any = "fro",
    dim: Any = None,
    keepdim: bool = False,
    dtype: DType | None = None,
) -> Tensor:
    """Return the norm of all elements, of which those that are not stored are 0.

    Raises:
        SparseOperandError: `dim` names some dimensions only, or another option is given.
    """
    dims = None if is_sequence(dim) and not dim else dim
    if len(wrap_dims(dims, input.ndim)) < input.ndim:
        raise unsupported("norm", f"`dim` must be all dimensions, got {dim}")
    if keepdim or dtype is not None:
        raise unsupported("norm", "`keepdim` must be False, and `dtype` None")
    if isinstance(p, str) and p != "fro":
        raise unsupported("norm", f"`p` must be 'fro' or a number, got {p!r}")
    coalesced = input.coalesce() if input.is_sparse else input
    return coalesced._values().flatten().norm(2 if p in ("fro", None) else p)


def any(input: SparseTensor) -> Tensor:
    """Return whether one element is not 0."""
    return input.coalesce().values().any() if input.is_sparse else input.values().any()


def zeros_like(
    input: SparseTensor,
    dtype: DType | None = None,
    device: Device | str | None = None,
    placement: Placement | None = None,
    sbp: SbpLike | None = None,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> SparseTensor:
    """Return a tensor of the same shape and layout that stores nothing.

    Raises:
        SparseOperandError: the tensor would be global.
    """
    if placement is not None or sbp is not None:
        raise unsupported("zeros_like", "sparse tensors are local")
    options = {"dtype": dtype or input.dtype, "device": device or input.device}
    result = without_values(input.layout, input.shape, input.dense_dim(), **options)
    return result.requires_grad_() if requires_grad else result


empty_like = zeros_like


def zero(input: SparseTensor) -> SparseTensor:
    """Return zeros that store nothing, through which gradients of 0 flow."""
    return sparse(replace(zeros_like(input)._parts, values=input._values()[:0]))


def transpose(input: SparseTensor, dim0: int, dim1: int) -> SparseTensor:
    """Exchange two sparse dimensions."""
    order = list(range(input.ndim))
    dim0, dim1 = wrap_dim(dim0, input.ndim), wrap_dim(dim1, input.ndim)
    order[dim0], order[dim1] = order[dim1], order[dim0]
    return permute(input, order)


def t(input: SparseTensor) -> SparseTensor:
    """Transpose a matrix."""
    return transpose(input, 0, 1) if input.ndim == 2 else input


def adjoint(input: SparseTensor) -> SparseTensor:
    """Exchange the two last dimensions, with conjugate values."""
    transposed = transpose(input, -2, -1)
    return transposed.with_values(transposed._values().conj()) if input.is_complex() else transposed


def centered_components(input: SparseTensor, *args: Any, **kwargs: Any) -> tuple[Tensor, ...]:
    """Return what `pca_lowrank` returns; without its mean, a sparse matrix is no longer sparse."""
    return FUNCTIONS["pca_lowrank"](to_dense(input), *args, **kwargs)


def reversed_dimensions(input: SparseTensor) -> SparseTensor:
    """Put the dimensions in reverse order."""
    return permute(input, range(input.ndim)[::-1])


def permute(input: SparseTensor, *dims: Any) -> SparseTensor:
    """Put the sparse dimensions in another order."""
    order = dims[0] if len(dims) == 1 and not isinstance(dims[0], int) else dims
    order = list(wrap_dims(order, input.ndim))
    count = input.sparse_dim()
    if sorted(order[:count]) != list(range(count)) or order[count:] != [*range(count, input.ndim)]:
        raise unsupported(
            "permute", f"dimensions of values stay where they are, got {tuple(order)}"
        )
    size = Size(input.shape[dim] for dim in order)
    if input.layout in _TRANSPOSED:
        layout = _TRANSPOSED[input.layout] if order[0] else input.layout
        values = shared(input._values())
        return sparse(replace(input._parts, layout=layout, values=values, size=size))
    index = cat_dense([input._indices()[dim].unsqueeze(0) for dim in order[:count]])
    in_order = input._parts.coalesced and order == sorted(order)
    return of_coordinates(index, input._values().clone(), size, in_order)


def unsqueeze(input: SparseTensor, dim: int) -> SparseTensor:
    """Add a dimension of size 1."""
    check_coordinates("unsqueeze", input)
    place, count = wrap_dim(dim, input.ndim + 1), input.sparse_dim()
    size = [*input.shape[:place], 1, *input.shape[place:]]
    if place > count:
        values = input._values().unsqueeze(place - count + 1)
        return of_coordinates(input._indices(), values, size, input._parts.coalesced)
    old = input._indices()
    new = zeros(1, old.shape[1], dtype=old.dtype, device=old.device)
    index = cat_dense([old[:place], new, old[place:]])
    return of_coordinates(index, input._values(), size, input._parts.coalesced)


def broadcast_to(input: SparseTensor, size: Sequence[int]) -> SparseTensor:
    """Repeat the elements along dimensions of size 1, and along new ones in front.

    Raises:
        RuntimeError: the sizes do not fit.
    """
    check_coordinates("broadcast_to", input)
    new_dims = len(size) - input.ndim
    old_sizes = (*[1] * new_dims, *input.shape)
    for old, new in zip(old_sizes, size, strict=False):
        if new_dims < 0 or old not in (1, new):
            raise RuntimeError(
                f"The expanded size of the tensor ({new}) must match the existing size ({old}) in"
                f" each dimension that is not 1: {tuple(input.shape)} for {tuple(size)}"
            )
    count = input.sparse_dim() + new_dims
    repeated = [d for d in range(count) if d < new_dims or old_sizes[d] != size[d]]
    values = input._values().expand(input._nnz(), *size[count:])
    if not repeated:
        return of_coordinates(input._indices(), values, size, input._parts.coalesced)
    places = meshgrid(*[arange(size[d], device=input.device) for d in repeated])
    copies, nnz = Size(size[d] for d in repeated).numel(), input._nnz()
    rows = []
    for d in range(count):
        if d in repeated:
            rows.append(places[repeated.index(d)].reshape(1, -1).repeat(1, nnz))
        else:
            own = input._indices()[d - new_dims].unsqueeze(0)
            rows.append(own.repeat_interleave(copies, 1))
    fixed = [d for d in range(count) if d not in repeated and size[d] > 1]
    in_order = input._parts.coalesced and max(fixed, default=-1) < min(repeated)
    return of_coordinates(cat_dense(rows), values.repeat_interleave(copies, 0), size, in_order)


def check_coordinates(name: str, x: SparseTensor) -> None:
    """Refuse a tensor whose positions are compressed."""
    if not x.is_sparse:
        raise unsupported(name, f"layout {x.layout} has none; `to_sparse()` gives coordinates")


def select(input: SparseTensor, dim: int, index: int) -> Tensor:
    """Return the elements with one coordinate in a dimension, without that dimension."""
    coordinate_form = in_coordinates(input)
    place, count = wrap_dim(dim, input.ndim), coordinate_form.sparse_dim()
    extent = input.shape[place]
    if not -extent <= index < extent:
        raise IndexError(f"`index` {index} is out of range for a dimension of size {extent}")
    size = [*input.shape[:place], *input.shape[place + 1 :]]
    if place >= count:
        values = coordinate_form._values().select(place - count + 1, index)
        return of_coordinates(
            coordinate_form._indices(), values, size, coordinate_form._parts.coalesced
        )
    positions = nonzero(coordinate_form._indices()[place] == index % extent).squeeze(1)
    values = coordinate_form._values().index_select(0, positions)
    if count == 1:
        return values.any(0) if values.dtype is bool_ else values.sum(0, dtype=values.dtype)
    rows = [coordinate_form._indices()[row] for row in range(count) if row != place]
    old = cat_dense([row.index_select(0, positions).unsqueeze(0) for row in rows])
    return of_coordinates(old, values, size, coordinate_form._parts.coalesced)


def get_item(input: SparseTensor, place: Any) -> Tensor:
    """Index by numbers, one after the other."""
    result: Any = input
    for index in place if isinstance(place, tuple) else (place,):
        if not isinstance(index, int) or isinstance(index, bool):
            raise unsupported("indexing", f"only by numbers, got {index!r}; use `index_select`")
        result = result.select(0, index)
    return result


def joined(keys: Tensor, others: Tensor) -> tuple[Tensor, Tensor]:
    """The places in `keys`, and in the sorted `others`, of all pairs of equal numbers."""
    first, last = searchsorted(others, keys), searchsorted(others, keys, right=True)
    counts = last - first
    left = repeat_interleave(counts)
    before = counts.cumsum(0) - counts
    right = (first - before).index_select(0, left) + arange(left.shape[0], device=keys.device)
    return left, right


def _check_index(index: Tensor, extent: int) -> None:
    if index.numel() and not -extent <= int(index.min()) <= int(index.max()) < extent:
        raise IndexError(
            f"`index_select`: `index` is out of range for a dimension of size {extent}, got"
            f" {int(index.min())} to {int(index.max())}"
        )


def index_select(input: SparseTensor, dim: int, index: Tensor) -> SparseTensor:
    """Return the elements with the given coordinates in a dimension."""
    coordinate_form = in_coordinates(input).coalesce()
    place, count = wrap_dim(dim, input.ndim), coordinate_form.sparse_dim()
    size = [*input.shape[:place], index.shape[0], *input.shape[place + 1 :]]
    if place >= count:
        values = coordinate_form._values().index_select(place - count + 1, index)
        return of_coordinates(coordinate_form._indices(), values, size, True)
    _check_index(index, input.shape[place])
    ordered, order = coordinate_form._indices()[place].sort(stable=True)
    new, matches = joined(index.long() % input.shape[place], ordered)
    positions = order.index_select(0, matches)
    rows = coordinate_form._indices().index_select(1, positions)
    rows = cat_dense([rows[:place], new.unsqueeze(0), rows[place + 1 :]])
    values = coordinate_form._values().index_select(0, positions)
    return in_layout(of_coordinates(rows, values, size).coalesce(), input)


def sum(
    input: SparseTensor, dim: Any = None, keepdim: bool = False, dtype: DType | None = None
) -> Tensor:
    """Return the sum of the elements, along some dimensions or all.

    Args:
        input: a sparse tensor.
        dim: the dimensions; all by default.
        keepdim: must be False.
        dtype: the type of the result; that of the tensor, or int64 of integers, by default.

    Returns:
        A tensor without dimensions or with dense ones only, or a sparse tensor.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([[0.0, 2.0], [3.0, 0.0]]).to_sparse()
        >>> flow.sparse.sum(x).item(), flow.sparse.sum(x, dim=0).to_dense().tolist()
        (5.0, [3.0, 2.0])
    """
    if keepdim:
        raise unsupported("sum", "`keepdim` must be False")
    coordinate_form = in_coordinates(input)
    values, count = coordinate_form._values(), coordinate_form.sparse_dim()
    values = values if dtype is None else values.to(dtype)
    dims = wrap_dims(dim, input.ndim)
    dense = [axis - count + 1 for axis in dims if axis >= count]
    if dense:
        values = values.sum(dense)
    kept_dims = [axis for axis in range(count) if axis not in dims]
    if not kept_dims:
        return values.sum(0)
    index = cat_dense([coordinate_form._indices()[axis].unsqueeze(0) for axis in kept_dims])
    size = [length for place, length in enumerate(input.shape) if place not in dims]
    return of_coordinates(index, values, size).coalesce()


def softmax(input: SparseTensor, dim: int, *, dtype: DType | None = None) -> SparseTensor:
    """Return the softmax along a dimension of the values that are stored.

    Args:
        input: a sparse tensor; elements that are not stored count as minus infinity.
        dim: the dimension.
        dtype: the type of the result; that of the tensor by default.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([[1.0, 1.0], [3.0, 0.0]]).to_sparse()
        >>> flow.sparse.softmax(x, dim=1).to_dense().tolist()
        [[0.5, 0.5], [1.0, 0.0]]
    """
    return _normalized(input, dim, dtype, is_log=False)


def log_softmax(input: SparseTensor, dim: int, *, dtype: DType | None = None) -> SparseTensor:
    """Return the logarithm of `softmax`.

    Args:
        input: a sparse tensor; elements that are not stored count as minus infinity.
        dim: the dimension.
        dtype: the type of the result; that of the tensor by default.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([[0.0, 0.0], [3.0, 0.0]]).to_sparse()
        >>> flow.sparse.log_softmax(x, dim=1).values().tolist()
        [0.0]
    """
    return _normalized(input, dim, dtype, is_log=True)


def _normalized(input: SparseTensor, dim: int, dtype: DType | None, is_log: bool) -> SparseTensor:
    coordinate_form = in_coordinates(input).coalesce()
    values = coordinate_form._values() if dtype is None else coordinate_form._values().to(dtype)
    place, count = wrap_dim(dim, input.ndim), coordinate_form.sparse_dim()
    if place >= count:
        along = place - count + 1
        normalized = values.log_softmax(along) if is_log else values.softmax(along)
        return coordinate_form.with_values(normalized)
    index = coordinate_form._indices().clone()
    index[place] = 0
    keys, group = unique(flat_index(index, coordinate_form.shape), return_inverse=True)
    most = reduced_at(group, values.detach(), keys.shape[0], "amax")
    shifted = values - most.index_select(0, group)
    exp_values = shifted.exp()
    sums = added_at(group, exp_values, keys.shape[0]).index_select(0, group)
    result = shifted - sums.log() if is_log else exp_values / sums
    return in_layout(coordinate_form.with_values(result), input)
