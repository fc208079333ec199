"""Reductions. `dims` are counted from the front and sorted; `keepdim` keeps them with size 1."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import jax.numpy as jnp
import numpy as np
from jax import lax

from oneflow.base.dtype import DType
from oneflow.base.spec import TensorSpec
from oneflow.primitives.operation import Operation
from oneflow.primitives.operators.elementwise import (
    cast,
    div,
    eq,
    isnan,
    logical_not,
    ne,
    wide_value,
)
from oneflow.primitives.operators.lax_functions import (
    as_type,
    count_true,
    index_dtype,
    is_true,
    sum_in,
    sum_of_rows,
    wide,
)
from oneflow.primitives.operators.materialize import materialize_array
from oneflow.primitives.operators.rounding import quotient
from oneflow.primitives.operators.shape import broadcast_to, keepdim_shape, reshape
from oneflow.primitives.registry import Primitive, primitive
from oneflow.primitives.shard_index import ShardIndex, global_index
from oneflow.primitives.sharding.axes import Axes, free_dims, reduced_axes, sum_to_axes
from oneflow.primitives.sharding.linearity import converted
from oneflow.primitives.traits import Decomposition, Positional, Precision


def expanded(array, shape: tuple[int, ...], dims: tuple[int, ...]):
    """A reduction's result broadcast to the shape before the reduction."""
    return jnp.broadcast_to(array.reshape(keepdim_shape(shape, dims)), shape)


def count_of(shape: tuple[int, ...], dims: tuple[int, ...]) -> int:
    """Number of elements that are reduced to one."""
    count = 1
    for dim in dims:
        count *= shape[dim]
    return count


def keepdim_axes(operation: Operation) -> Axes:
    """Gradients of reductions over `dims`: the dimensions that were kept may be split."""
    (out,), dims = operation.out_specs, operation.attributes["dims"]
    full = tuple(None if dim in dims else f"d{dim}" for dim in range(out.ndim))
    kept_names = tuple(name for name in full if name is not None)
    inputs = [
        {out.ndim: full, len(kept_names): kept_names}.get(s.ndim, ()) for s in operation.in_specs
    ]
    return Axes(tuple(inputs), (full,))


def reduction_gradient_axes(operation: Operation) -> Axes:
    """Gradients of reductions over `dims` that are found element by element: all may be split."""
    (out,), dims = operation.out_specs, operation.attributes["dims"]
    full = tuple(f"d{dim}" for dim in range(out.ndim))
    kept_names = tuple(name for dim, name in enumerate(full) if dim not in dims)

    def names_of(spec: TensorSpec) -> tuple[str | None, ...]:
        if spec.ndim != out.ndim:
            return kept_names if spec.ndim == len(kept_names) else ()
        pairs = zip(full, spec.shape, out.shape, strict=True)
        return tuple(name if size == full_size else None for name, size, full_size in pairs)

    return Axes(tuple(map(names_of, operation.in_specs)), (full,))


# --- sums and means


def _sum(x, *, dims: tuple[int, ...], keepdim: bool = False, dtype: DType | None = None):
    out = dtype.numpy if dtype is not None else x.dtype
    return sum_in(out, x, dims, keepdim)


def _mean(x, *, dims: tuple[int, ...], keepdim: bool = False, count: int | None = None):
    """The mean of `count` elements; `x` has a part of them; None: `x` has all."""
    wide = np.dtype(np.float32) if x.dtype.itemsize < 4 else x.dtype
    total = sum_in(wide, x, dims, keepdim)
    return quotient(total, count_of(x.shape, dims) if count is None else count).astype(x.dtype)


def _mean_axes(operation: Operation) -> Axes:
    """Means of parts that divide by the number of all elements are partial sums."""
    axes = reduced_axes(is_sum=True)(operation)
    count = count_of(operation.in_specs[0].shape, operation.attributes["dims"])
    return replace(axes, global_attributes={"count": count})


def _broadcast(
    value,
    *,
    shape: tuple[int, ...],
    dims: tuple[int, ...],
    average: bool,
    count: int | None = None,
):
    """Every reduced element gets its result's gradient, or an equal share of it.

    `count` is the number of elements that share it, if `shape` is that of a part.
    """
    if average:
        value = quotient(value, count_of(shape, dims) if count is None else count)
    return expanded(value, shape, dims)


def _broadcast_axes(operation: Operation) -> Axes:
    """Each reduced element's value is the same: its dimension is the result's alone."""
    shape, dims = operation.out_specs[0].shape, operation.attributes["dims"]
    names = tuple(f"d{dim}" for dim in range(len(shape)))
    operand_names = tuple(name for dim, name in enumerate(names) if dim not in dims)
    if operation.in_specs[0].ndim == len(shape):
        operand_names = tuple(None if dim in dims else name for dim, name in enumerate(names))
    return Axes((operand_names,), (names,), {"shape": names}, {"count": count_of(shape, dims)})


sum_ = primitive(
    "sum", _sum, axes=reduced_axes(is_sum=True), linear=converted, precision=Precision.FULL_OFF_CPU
)


@sum_.lowering("cuda")
def _sum_on_gpu(x, *, dims: tuple[int, ...], keepdim: bool = False, dtype: DType | None = None):
    return sum_in(dtype.numpy if dtype is not None else x.dtype, x, dims, keepdim, sum_of_rows)


sum_.gradient(
    x=lambda g, x_spec, dims: broadcast_along(g, shape=x_spec.shape, dims=dims, average=False)
)
mean = primitive("mean", _mean, axes=_mean_axes, linear=("x",), precision=Precision.FULL_OFF_CPU)
mean.gradient(
    x=lambda g, x_spec, dims: broadcast_along(g, shape=x_spec.shape, dims=dims, average=True)
)
broadcast_along = primitive("broadcast_along", _broadcast, axes=_broadcast_axes, linear=("value",))
broadcast_along.gradient(
    value=lambda g, value_spec, shape, dims, average: (mean if average else sum_)(
        g, dims=dims, keepdim=value_spec.ndim == len(shape)
    )
)


def _broadcast_dims(x, shape: tuple[int, ...]) -> tuple[int, ...]:
    """The dimensions of `x` that broadcasting from `shape` has made."""
    extra = x.ndim - len(shape)
    return tuple(range(extra)) + tuple(
        extra + dim for dim, size in enumerate(shape) if size == 1 and x.shape[extra + dim] != 1
    )


def _sum_to(x, *, shape: tuple[int, ...]):
    dims = _broadcast_dims(x, shape)
    return (sum_in(x.dtype, x, dims, keepdim=False) if dims else x).reshape(shape)


# The gradient of broadcasting.
sum_to = primitive("sum_to", _sum_to, axes=sum_to_axes, linear=("x",))
sum_to.gradient(x=lambda g, x_spec: broadcast_to(g, shape=x_spec.shape))


@sum_to.lowering("cuda")
def _sum_to_on_gpu(x, *, shape: tuple[int, ...]):
    return sum_in(x.dtype, x, _broadcast_dims(x, shape), False, sum_of_rows).reshape(shape)


def _nansum(x, *, dims: tuple[int, ...], keepdim: bool = False):
    return jnp.sum(jnp.where(jnp.isnan(x), 0, x), axis=dims, keepdims=keepdim)


def _nanmean(x, *, dims: tuple[int, ...], keepdim: bool = False):
    total = _nansum(wide(x), dims=dims, keepdim=keepdim)
    count = count_true(~jnp.isnan(x), dims, keepdim)
    return as_type(quotient(total, count.astype(total.dtype)), x.dtype)


nansum = primitive("nansum", _nansum, axes=reduced_axes(is_sum=True))


def _nanmean_of_sums(x, *, dims: tuple[int, ...], keepdim: bool = False):
    x, dtype = wide_value(x), x.spec.dtype
    numbers = cast(logical_not(isnan(x)), dtype=x.spec.dtype)
    total, count = nansum(x, dims=dims, keepdim=keepdim), sum_(numbers, dims=dims, keepdim=keepdim)
    return cast(div(total, count), dtype=dtype)


nanmean = primitive(
    "nanmean",
    _nanmean,
    axes=reduced_axes(is_sum=False),
    decomposition=Decomposition(_nanmean_of_sums),
)
prod = primitive(
    "prod",
    lambda x, *, dims, keepdim=False: jnp.prod(x, axis=dims, keepdims=keepdim, dtype=x.dtype),
    axes=reduced_axes(is_sum=False),
    precision=Precision.FULL,
)
count_nonzero = primitive(
    "count_nonzero",
    lambda x, *, dims, keepdim=False: count_true(is_true(x), dims, keepdim).astype(jnp.int64),
    axes=reduced_axes(is_sum=True),
    differentiable=False,
)


def _all_of_counts(x, *, dims: tuple[int, ...] | None = None, keepdim: bool = False):
    return eq(_count_of(logical_not(x), dims, keepdim), 0)


def _any_of_counts(x, *, dims: tuple[int, ...] | None = None, keepdim: bool = False):
    return ne(_count_of(x, dims, keepdim), 0)


def _count_of(x, dims: tuple[int, ...] | None, keepdim: bool):
    over = tuple(range(x.spec.ndim)) if dims is None else dims
    return count_nonzero(x, dims=over, keepdim=keepdim)


all_true = primitive(
    "all",
    lambda x, *, dims=None, keepdim=False: jnp.all(is_true(x), axis=dims, keepdims=keepdim),
    axes=reduced_axes(is_sum=False),
    decomposition=Decomposition(_all_of_counts),
    differentiable=False,
)
any_true = primitive(
    "any",
    lambda x, *, dims=None, keepdim=False: jnp.any(is_true(x), axis=dims, keepdims=keepdim),
    axes=reduced_axes(is_sum=False),
    decomposition=Decomposition(_any_of_counts),
    differentiable=False,
)

# --- extremes


def _extreme_gradient(g, x, out, *, dims: tuple[int, ...]):
    """All elements equal to the extreme share its gradient."""
    extreme = expanded(out, x.shape, dims)
    hits = (x == extreme) | (jnp.isnan(x) & jnp.isnan(extreme))
    count = count_true(hits, dims, keepdim=True).astype(x.dtype)
    share = quotient(g.reshape(keepdim_shape(x.shape, dims)), count)
    return jnp.where(hits, share, jnp.zeros((), x.dtype))


extreme_gradient = primitive(
    "extreme_gradient", _extreme_gradient, axes=keepdim_axes, linear=("g",)
)


def _extreme(name: str, best: Callable) -> Primitive:
    op = primitive(
        name,
        lambda x, *, dims, keepdim=False: best(x, axis=dims, keepdims=keepdim),
        axes=reduced_axes(is_sum=False),
    )
    return op.gradient(x=lambda g, x, out, dims: extreme_gradient(g, x, out, dims=dims))


amax = _extreme("amax", jnp.max)
amin = _extreme("amin", jnp.min)


def _first_index(name: str, best: Callable) -> Primitive:
    """Index of the first extreme along `dim`, None: of all; a NaN counts as the extreme."""

    def impl(x, *, dim: int | None, keepdim: bool = False):
        if not x.ndim:
            return jnp.zeros((), jnp.int64)
        dims = range(x.ndim) if dim is None else (dim % x.ndim,)
        flat, axis = (x.reshape(-1), 0) if dim is None else (x, dims[0])
        index = best(flat, axis, index_dtype(flat.shape[axis])).astype(jnp.int64)
        return index.reshape(keepdim_shape(x.shape, tuple(dims))) if keepdim else index

    return primitive(name, impl, axes=reduced_axes(is_sum=False), differentiable=False)


argmax = _first_index("argmax", lax.argmax)
argmin = _first_index("argmin", lax.argmin)


# --- one element of each slice along a dimension, and back; `index` has that dimension with size 1


def _pick_along(x, index, *, dim: int):
    return jnp.take_along_axis(x, index, axis=dim, mode="clip") if x.ndim else x


def _put_along(values, index, *, dim: int, size: int, shard: ShardIndex | None = None):
    """Zeros of size `size` along `dim`, with `values` at `index`."""
    if not values.ndim:
        return values
    shape = (*values.shape[:dim], size, *values.shape[dim + 1 :])
    counter = index_dtype(size if shard is None else shard.global_shape[dim])
    here = global_index(dim, shape, shard, counter) == index.astype(counter)
    return jnp.where(here, values, jnp.zeros((), values.dtype))


def _put_along_axes(operation: Operation) -> Axes:
    """All dimensions may be split; `values` and `index` have no `dim`."""
    dim = operation.attributes["dim"]
    names = tuple(f"d{position}" for position in range(operation.out_specs[0].ndim))
    operand_names = tuple(None if position == dim else name for position, name in enumerate(names))
    size = {"size": names[dim]} if names else {}
    return Axes((operand_names, operand_names), (names,), size)


pick_along = primitive("pick_along", _pick_along, axes=free_dims("dim"), linear=("x",))
pick_along.gradient(
    x=lambda g, index, x_spec, dim: put_along(
        g, index, dim=dim, size=x_spec.shape[dim] if x_spec.ndim else 1
    ),
    index=None,
)
put_along = primitive(
    "put_along",
    _put_along,
    axes=_put_along_axes,
    positional=Positional(),
    linear=("values",),
)
put_along.gradient(values=lambda g, index, dim: pick_along(g, index, dim=dim), index=None)


def select_along_gradient(g, out, x_spec, dim, keepdim):
    """Gradient of a reduction whose outputs are ``(values, indices)`` of picked elements."""
    values, index = g[0], out[1]
    if not keepdim and x_spec.ndim:
        shape = keepdim_shape(x_spec.shape, (dim,))
        values, index = reshape(values, shape=shape), reshape(index, shape=shape)
    return put_along(values, index, dim=dim, size=x_spec.shape[dim] if x_spec.ndim else 1)


def select_along(
    name: str, best_index: Callable, best_index_on_cpu: Callable | None = None
) -> Primitive:
    """A reduction of one dimension to the element at ``best_index(x, dim)`` and that index.

    Args:
        name: the name of the primitive.
        best_index: gives the index, with the dimension kept.
        best_index_on_cpu: the same for CPUs, where the general one is slow there.
    """
    op = primitive(name, _select_by(best_index), axes=reduced_axes(is_sum=False), real_only=True)
    if best_index_on_cpu is not None:
        op.lowering("cpu")(_select_by(best_index_on_cpu))
    return op.gradient(x=select_along_gradient, writable="out")


def _select_by(best_index: Callable) -> Callable:
    def impl(x, *, dim: int, keepdim: bool = False):
        if not x.ndim:
            return x, jnp.zeros((), jnp.int64)
        return selected(x, best_index(x, dim), dim, keepdim)

    return impl


def selected(x, index, dim: int, keepdim: bool):
    """The elements at an index along a dimension, and the index; `index` has the dimension."""
    index = index.astype(jnp.int64)
    values = jnp.take_along_axis(x, index, axis=dim)
    return (values, index) if keepdim else (values.squeeze(dim), index.squeeze(dim))


# A NaN counts as the extreme, as in PyTorch.
max_along = select_along("max_along", lambda x, dim: jnp.argmax(x, axis=dim, keepdims=True))
min_along = select_along("min_along", lambda x, dim: jnp.argmin(x, axis=dim, keepdims=True))

# --- the index of an extreme, on the CPU: as two plain reductions, which are vectorised; one
# reduction of pairs ``(value, index)`` is not, and takes eight times as long


def _extreme_and_index(x, best: Callable, dim: int):
    """The extreme along `dim`, which is kept, and the first index that has it."""
    # Left to itself XLA spreads the extreme to the size of `x` in memory first.
    extreme = materialize_array(best(x, axis=dim, keepdims=True))
    hit = x == extreme
    if jnp.issubdtype(x.dtype, jnp.floating):
        hit |= jnp.isnan(x)
    counter = index_dtype(x.shape[dim])
    # No size: as a number in the program it would make one of its own for every shape.
    sentinel = counter(np.iinfo(counter).max)
    position = jnp.where(hit, lax.broadcasted_iota(counter, x.shape, dim), sentinel)
    return extreme, jnp.min(position, axis=dim, keepdims=True).astype(jnp.int64)


def _lower_index(op: Primitive, best: Callable) -> None:
    @op.lowering("cpu")
    def impl(x, *, dim: int | None, keepdim: bool = False):
        if not x.ndim:
            return jnp.zeros((), jnp.int64)
        if dim is None:
            _, index = _extreme_and_index(x.reshape(-1), best, 0)
            return index.reshape((1,) * x.ndim if keepdim else ())
        _, index = _extreme_and_index(x, best, dim)
        return index if keepdim else index.squeeze(dim)


def _lower_along(op: Primitive, best: Callable) -> None:
    @op.lowering("cpu")
    def impl(x, *, dim: int, keepdim: bool = False):
        if not x.ndim:
            return x, jnp.zeros((), jnp.int64)
        values, index = _extreme_and_index(x, best, dim)
        return (values, index) if keepdim else (values.squeeze(dim), index.squeeze(dim))


_lower_index(argmax, jnp.max)
_lower_index(argmin, jnp.min)
_lower_along(max_along, jnp.max)
_lower_along(min_along, jnp.min)

# --- logarithm of a sum of exponentials


def _logsumexp(x, *, dims: tuple[int, ...], keepdim: bool = False):
    real = x.real if jnp.iscomplexobj(x) else x
    top = lax.stop_gradient(jnp.max(real, axis=dims, keepdims=True, initial=-jnp.inf))
    top = jnp.where(jnp.isfinite(top), top, jnp.zeros_like(top))
    result = jnp.log(jnp.sum(jnp.exp(x - top), axis=dims, keepdims=True)) + top
    return result if keepdim else jnp.squeeze(result, dims)


def _logsumexp_gradient(g, x, out, *, dims: tuple[int, ...]):
    return expanded(g, x.shape, dims) * jnp.conj(jnp.exp(x - expanded(out, x.shape, dims)))


logsumexp = primitive(
    "logsumexp", _logsumexp, axes=reduced_axes(is_sum=False), precision=Precision.FULL_OFF_CPU
)
_logsumexp_x = primitive(
    "logsumexp_gradient", _logsumexp_gradient, axes=reduction_gradient_axes, linear=("g",)
)
logsumexp.gradient(x=lambda g, x, out, dims: _logsumexp_x(g, x, out, dims=dims))
