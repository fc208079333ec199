"""Writing elements at positions that are data: scatter, index_add and its kin, masks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oneflow.base.dtype import bool_
from oneflow.base.limits import iinfo
from oneflow.base.shape import wrap_dim
from oneflow.functional.index.gather import check_index_shape, positions_of, same_rank
from oneflow.functional.index.in_place import write_along, write_at
from oneflow.functional.index.masked import masked_fill, number_value
from oneflow.functional.registry import attach_inplace_form, function
from oneflow.primitives.operators import indexing as p, scatter as s
from oneflow.primitives.operators.elementwise import where
from oneflow.program.value import Value
from oneflow.tensor.call import call, wrap
from oneflow.tensor.indexing import index_put_value, is_overlapping, put_item
from oneflow.tensor.methods import before_write, write_result
from oneflow.tensor.operands import as_scalar_of, is_one
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import filled_value
from oneflow.tensor.views import unwrap


def _as_source(source: Any, input: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The source of a write: a number everywhere, or a tensor, cropped to `shape`."""
    spec = input._value.spec
    if not isinstance(source, Tensor):
        return wrap(filled_value(source, shape, spec.dtype, spec.device))
    for dim, size in enumerate(shape):
        if source.shape[dim] != size:
            source = source.narrow(dim, 0, size)
    return source


def _scatter(
    primitive: Any, name: str, input: Tensor, dim: int, index: Tensor, source: Any
) -> Tensor:
    positions_of(index, name)
    at = wrap_dim(dim, input.ndim)
    if not index.numel():
        return input.clone()
    same_rank(input, index, name)
    if isinstance(source, Tensor):
        if source.dtype is not input.dtype:
            raise RuntimeError(f"{name}(): Expected self.dtype to be equal to src.dtype")
        same_rank(source, index, name)
    if not input.ndim or not index.ndim:
        flat = source.reshape(-1) if isinstance(source, Tensor) else source
        result = _scatter(primitive, name, input.reshape(-1), 0, index.reshape(-1), flat)
        return result.reshape(input.shape)
    check_index_shape(index, input, at, name, "self")
    if isinstance(source, Tensor):
        check_index_shape(index, source, None, name, "src")
    return call(primitive, input, _as_source(source, input, index.shape), index, dim=at)


@function()
def scatter(
    input: Tensor,
    dim: int,
    index: Tensor,
    src: Tensor | float | None = None,
    *,
    value: float | None = None,
    reduce: str | None = None,
    inplace: bool = False,
) -> Tensor:
    """A copy of `input` with `src` written at positions `index` along `dim`.

    Args:
        input: tensor.
        dim: dimension.
        index: int64 or int32 tensor of as many dimensions, not larger than `input` (except along
            `dim`) and `src`.
        src: tensor of the same dtype, or number.
        value: number, another name for `src`.
        reduce: ``"add"`` or ``"multiply"`` with what is there, in place of overwriting.
        inplace: write into `input`.

    Raises:
        RuntimeError: shapes or dtypes do not fit, or (at the next read of a value) a position does
            not exist.

    Example:
        >>> import oneflow as flow
        >>> flow.zeros(3).scatter(0, flow.tensor([2, 0]), flow.tensor([5.0, 6.0]))
        tensor([6., 0., 5.], dtype=oneflow.float32)
    """
    if src is not None and value is not None:
        raise TypeError("scatter() takes `src` or `value`, not both")
    source = value if src is None else src
    if source is None:
        raise TypeError("scatter() missing 1 required argument: 'src'")
    if inplace:
        return write_along(scatter, input, dim, index, source, reduce=reduce)
    if not reduce:
        return _scatter(s.scatter, "scatter", input, dim, index, source)
    primitive = {"add": s.scatter_add, "multiply": s.scatter_multiply}.get(reduce)
    if primitive is None:
        raise RuntimeError(f"reduce argument must be either add or multiply, got {reduce!r}")
    return _scatter(primitive, "scatter", input, dim, index, source)


attach_inplace_form(scatter)


@function()
def scatter_add(
    input: Tensor, dim: int, index: Tensor, src: Tensor, inplace: bool = False
) -> Tensor:
    """A copy of `input` with `src` added at positions `index` along `dim`.

    Example:
        >>> import oneflow as flow
        >>> flow.zeros(2).scatter_add(0, flow.tensor([1, 1]), flow.tensor([5.0, 6.0]))
        tensor([ 0., 11.], dtype=oneflow.float32)
    """
    if inplace:
        return write_along(scatter_add, input, dim, index, src)
    return _scatter(s.scatter_add, "scatter_add", input, dim, index, src)


attach_inplace_form(scatter_add)


_REDUCTIONS = {
    "sum": s.scatter_add,
    "prod": s.scatter_multiply,
    "amax": s.scatter_amax,
    "amin": s.scatter_amin,
    "mean": s.scatter_add,
}
# The identity element of each reduction; `amax` and `amin` have the dtype's extreme number.
_IDENTITY = {"sum": 0, "prod": 1, "mean": 0}


@function()
def scatter_reduce(
    input: Tensor,
    dim: int,
    index: Tensor,
    src: Tensor,
    reduce: str,
    *,
    include_self: bool = True,
    inplace: bool = False,
) -> Tensor:
    """A copy of `input` with `src` reduced into positions `index` along `dim`.

    Args:
        input: tensor.
        dim: dimension.
        index: positions, as in `scatter`.
        src: tensor of the same dtype.
        reduce: ``"sum"``, ``"prod"``, ``"mean"``, ``"amax"`` or ``"amin"``.
        include_self: what is in `input` takes part; otherwise it is replaced where something is
            written.
        inplace: write into `input`.

    Raises:
        RuntimeError: there is no such reduction, or shapes do not fit.

    Example:
        >>> import oneflow as flow
        >>> x = flow.ones(2)
        >>> x.scatter_reduce(0, flow.tensor([0, 0]), flow.tensor([5.0, 6.0]), "amax")
        tensor([6., 1.], dtype=oneflow.float32)
    """
    primitive = _REDUCTIONS.get(reduce)
    if primitive is None:
        raise RuntimeError(f"reduce argument must be one of {sorted(_REDUCTIONS)}, got {reduce!r}")
    if inplace:
        return write_along(
            scatter_reduce, input, dim, index, src, reduce=reduce, include_self=include_self
        )
    start = input
    if not include_self:
        # Start from the identity element of the reduction at the positions that are written.
        identity = _IDENTITY.get(reduce, _extreme(input, lowest=reduce == "amax"))
        start = _scatter(s.scatter, "scatter_reduce", input, dim, index, identity)
    result = _scatter(primitive, "scatter_reduce", start, dim, index, src)
    if reduce != "mean":
        return result
    ones = input.new_ones(input.shape)
    if not include_self:
        ones = _scatter(s.scatter, "scatter_reduce", ones, dim, index, 0)
    count = _scatter(s.scatter_add, "scatter_reduce", ones, dim, index, src.new_ones(src.shape))
    count = count.masked_fill(count == 0, 1)
    if input.dtype.is_floating_point or input.dtype.is_complex:
        return result / count
    return result.div(count, rounding_mode="floor")


attach_inplace_form(scatter_reduce)


def _extreme(input: Tensor, lowest: bool) -> float:
    dtype = input.dtype
    if dtype.is_floating_point:
        return float("-inf") if lowest else float("inf")
    if dtype is bool_:
        return not lowest
    limits = iinfo(dtype)
    return limits.min if lowest else limits.max


def _index_and_dim(input: Tensor, dim: int, index: Tensor, name: str) -> tuple[Tensor, int]:
    positions_of(index, name)
    if index.ndim > 1:
        raise IndexError(f"{name}(): Index should have dimension 1 or 0 (got {index.ndim})")
    return index.reshape(-1), wrap_dim(dim, input.ndim)


@function()
def index_reduce(
    input: Tensor,
    dim: int,
    index: Tensor,
    source: Tensor,
    reduce: str,
    *,
    include_self: bool = True,
    inplace: bool = False,
) -> Tensor:
    """A copy of `input` with slices of `source` reduced into the slices `index` along `dim`.

    Args:
        input: tensor.
        dim: dimension.
        index: a position for each slice of `source`.
        source: tensor of the dtype and, apart from `dim`, of the shape of `input`.
        reduce: ``"prod"``, ``"mean"``, ``"amax"`` or ``"amin"``.
        include_self: what is in `input` takes part; otherwise it is replaced where something is
            written.
        inplace: write into `input`.

    Raises:
        RuntimeError: there is no such reduction, or shapes do not fit.

    Example:
        >>> import oneflow as flow
        >>> x, source = flow.ones(2, 2), flow.tensor([[5.0, 0.0], [6.0, 1.0]])
        >>> x.index_reduce(0, flow.tensor([0, 0]), source, "amax")
        tensor([[6., 1.],
                [1., 1.]], dtype=oneflow.float32)
    """
    name = "index_reduce"
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(
            f"{name}(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}."
        )
    if inplace:
        options = {"reduce": reduce, "include_self": include_self}
        return write_along(index_reduce, input, dim, index, source, slices=True, **options)
    flat, at = _index_and_dim(input, dim, index, name)
    if not input.ndim:
        one, flat_source = input.reshape(-1), source.reshape(-1)
        return index_reduce(one, 0, flat, flat_source, reduce, include_self=include_self).reshape(
            ()
        )
    expected = (*input.shape[:at], flat.shape[0], *input.shape[at + 1 :])
    if tuple(source.shape) != expected:
        raise RuntimeError(
            f"{name}(): source must have one slice for each index and the other sizes of the "
            f"input, which is a shape of {list(expected)}, got {list(source.shape)}"
        )
    shape = [-1 if d == at else 1 for d in range(input.ndim)]
    positions = flat.long().reshape(shape).expand(source.shape)
    return scatter_reduce(input, at, positions, source, reduce, include_self=include_self)


attach_inplace_form(index_reduce)


def _put_slices(
    input: Tensor, dim: int, index: Tensor, values: Value, accumulate: bool, negative: bool
) -> Tensor:
    """Slices written or added at `index` along `dim`."""
    if not input.ndim:
        flat = _put_slices(input.reshape(1), 0, index, values, accumulate, negative)
        return flat.reshape(())
    return wrap(
        p.index_put(
            unwrap(input),
            values,
            unwrap(index),
            dims=(dim,),
            accumulate=accumulate,
            negative=negative,
        )
    )


def _check_slices(input: Tensor, dim: int, index: Tensor, source: Tensor, name: str) -> None:
    if source.dtype is not input.dtype:
        raise RuntimeError(
            f"{name}(): self ({input.dtype!r}) and source ({source.dtype!r}) must have the same "
            "scalar type"
        )
    want = list(input.shape)
    if want:
        want[dim] = index.numel()
    if list(source.shape) != want:
        raise RuntimeError(
            f"{name}(): Source shape {list(source.shape)} must match {want}: `self` with the "
            f"number of indices along dimension {dim}"
        )


@function()
def index_add(
    input: Tensor,
    dim: int,
    index: Tensor,
    source: Tensor,
    alpha: float = 1,
    inplace: bool = False,
) -> Tensor:
    """A copy of `input` with slices of `source`, times `alpha`, added at `index` along `dim`.

    The fraction of `alpha` is dropped for tensors of integers.

    Raises:
        RuntimeError: shapes or dtypes do not fit.
        IndexError: (at the next read of a value) a position does not exist.

    Example:
        >>> import oneflow as flow
        >>> flow.zeros(2).index_add(0, flow.tensor([1, 1]), flow.ones(2), alpha=3)
        tensor([0., 6.], dtype=oneflow.float32)
    """
    if inplace:
        return write_along(index_add, input, dim, index, source, slices=True, alpha=alpha)
    indices, at = _index_and_dim(input, dim, index, "index_add")
    _check_slices(input, at, indices, source, "index_add")
    scaled = source if is_one(alpha) else source * as_scalar_of(source, alpha)
    if not source.ndim:
        scaled = scaled.reshape(1)
    return _put_slices(input, at, indices, unwrap(scaled), accumulate=True, negative=False)


attach_inplace_form(index_add, "index_add_")


@function()
def index_copy(
    input: Tensor, dim: int, index: Tensor, source: Tensor, inplace: bool = False
) -> Tensor:
    """A copy of `input` with slices of `source` written at `index` along `dim`.

    Raises:
        RuntimeError: shapes or dtypes do not fit.
        IndexError: (at the next read of a value) a position does not exist.

    Example:
        >>> import oneflow as flow
        >>> flow.zeros(3).index_copy(0, flow.tensor([2, 0]), flow.tensor([1.0, 2.0]))
        tensor([2., 0., 1.], dtype=oneflow.float32)
    """
    if inplace:
        return write_along(index_copy, input, dim, index, source, slices=True)
    indices, at = _index_and_dim(input, dim, index, "index_copy")
    if source.numel() == indices.numel() == 1 == max(source.ndim, input.ndim):
        source = source.reshape((1,) * input.ndim)  # one element is as good without a dimension
    if source.ndim == input.ndim > 0 and source.shape[at] != indices.numel():
        raise IndexError(
            f"index_copy(): Number of indices ({indices.numel()}) should be equal to "
            f"source.size(dim) ({source.shape[at]})"
        )
    _check_slices(input, at, indices, source, "index_copy")
    values = source if source.ndim else source.reshape(1)
    return _put_slices(input, at, indices, unwrap(values), accumulate=False, negative=False)


attach_inplace_form(index_copy)


@function()
def index_fill(input: Tensor, dim: int, index: Tensor, value: Any, inplace: bool = False) -> Tensor:
    """A copy of `input` with a number (or 0-dim tensor) written at `index` along `dim`.

    Args:
        input: tensor.
        dim: dimension along which `index` counts.
        index: positions.
        value: the number.
        inplace: write it into `input`.

    Raises:
        IndexError: (at the next read of a value) a position does not exist.

    Example:
        >>> import oneflow as flow
        >>> flow.zeros(3).index_fill(0, flow.tensor([0, 2]), 7)
        tensor([7., 0., 7.], dtype=oneflow.float32)
    """
    if inplace and is_overlapping(input):
        return masked_fill(input, _filled(input, dim, index), value, inplace=True)
    if inplace:
        filled = index_fill(before_write(input), dim, index, value)
        return write_result(input, filled, "index_fill_")
    if isinstance(value, Tensor):
        # In the gradient of `value` an element counts once, however often `index` names it.
        filled = unwrap(_filled(input, dim, index))
        filled_source = number_value(value, input, input._value.spec.shape, "index_fill")
        return wrap(where(filled, filled_source, unwrap(input)))
    indices, at = _index_and_dim(input, dim, index, "index_fill")
    shape = list(input.shape) or [1]
    shape[at] = indices.numel()
    values = number_value(value, input, tuple(shape), "index_fill")
    return _put_slices(input, at, indices, values, accumulate=False, negative=True)


def _filled(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """The mask of the elements that `index_fill` replaces."""
    none = wrap(filled_value(False, input._value.spec.shape, bool_, input.device))
    return index_fill(none, dim, index, True)


attach_inplace_form(index_fill)


@function()
def index_put(
    input: Tensor,
    indices: Sequence[Tensor | None],
    values: Tensor,
    accumulate: bool = False,
    inplace: bool = False,
) -> Tensor:
    """A copy of `input` with `values` written (or added) where ``input[indices]`` would read.

    Args:
        input: tensor.
        indices: index tensors and masks, None for whole dimensions.
        values: what is written.
        accumulate: add it, as often as a position is given.
        inplace: write into `input`.

    Raises:
        RuntimeError: `values` does not broadcast to the selection, or has another dtype.
        IndexError: (at the next read of a value) a position does not exist.

    Example:
        >>> import oneflow as flow
        >>> flow.zeros(3).index_put((flow.tensor([1]),), flow.tensor(5.0))
        tensor([0., 5., 0.], dtype=oneflow.float32)
    """
    entries = tuple(slice(None) if index is None else index for index in indices)
    if inplace:
        put_item(input, entries, values, accumulate)
        return input
    return wrap(index_put_value(input, entries, values, accumulate))


attach_inplace_form(index_put, "index_put_")


@function()
def put(
    input: Tensor,
    index: Tensor,
    source: Tensor,
    accumulate: bool = False,
    inplace: bool = False,
) -> Tensor:
    """A copy of `input` with `source` written (or added) at positions of the flattened tensor.

    Raises:
        RuntimeError: `source` has another dtype.
        IndexError: `index` and `source` differ in size, or (at the next read of a value) a position
            does not exist.

    Example:
        >>> import oneflow as flow
        >>> flow.zeros(2, 2).put(flow.tensor([3, 0]), flow.tensor([5.0, 6.0])).tolist()
        [[6.0, 0.0], [0.0, 5.0]]
    """
    if inplace:
        return write_at(put, input, index, source, accumulate=accumulate)
    if index.numel() != source.numel():
        raise IndexError(
            f"put_(): Expected source and index to have the same number of elements, but got "
            f"{source.numel()} and {index.numel()}"
        )
    flat = index_put(
        input.reshape(-1), (index.reshape(-1),), source.reshape(-1), accumulate=accumulate
    )
    return flat.reshape(input.shape)


attach_inplace_form(put)
