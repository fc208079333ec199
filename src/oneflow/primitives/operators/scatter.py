"""Elementwise reading and writing at positions along one dimension: `gather` and `scatter`."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import lax

from oneflow.primitives.operators.elementwise import (
    cast,
    div,
    eq,
    logical_and,
    logical_or,
    mul,
    ne,
    ones_like,
    where,
    zeros_like,
)
from oneflow.primitives.operators.indexing import out_of_range
from oneflow.primitives.operators.lax_functions import count_true, index_dtype, size_in
from oneflow.primitives.operators.shape import zeros_of
from oneflow.primitives.registry import Primitive, primitive
from oneflow.primitives.sharding.axes import Axes


def _coordinates(index, dim: int):
    """Position in the target of every element of `index`."""
    along = [
        lax.broadcasted_iota(jnp.int64, index.shape, position) for position in range(index.ndim)
    ]
    along[dim] = index.astype(jnp.int64)
    return tuple(along)


def _places(x, index, dim: int):
    """The places of `_coordinates` in `x` as one row; behind its end where they are out of range.

    Negative positions are out of range, too.
    """
    dtype = index_dtype(x.size)
    places = lax.full(index.shape, 0, dtype)
    for position, size in enumerate(x.shape):
        along = (
            index.astype(dtype)
            if position == dim
            else lax.broadcasted_iota(dtype, index.shape, position)
        )
        places = places * size_in(dtype, size) + along
    return jnp.where((index >= 0) & (index < x.shape[dim]), places, size_in(dtype, x.size))


def _error(value, attributes, in_specs):
    dim = attributes["dim"]
    size = in_specs[0].shape[dim]
    return RuntimeError(f"index {value} is out of bounds for dimension {dim} with size {size}")


def _aligned_axes(operation) -> Axes:
    """Dimensions of equal size in all operands may be split, except `dim`."""
    dim = operation.attributes["dim"]
    sizes = zip(*(spec.shape for spec in operation.in_specs), strict=True)
    names = tuple(
        f"d{position}" if position != dim and len(set(size)) == 1 else None
        for position, size in enumerate(sizes)
    )
    return Axes((names,) * len(operation.in_specs), (names,))


def _gather(x, index, *, dim: int):
    """``x`` at ``index`` along `dim` and at the element's own position elsewhere.

    The result has the shape of `index`.
    """
    if index.size and not x.shape[dim]:
        raise RuntimeError(f"gather(): index is out of bounds for dimension {dim} with size 0")
    return jnp.asarray(x).at[_coordinates(index, dim)].get(mode="promise_in_bounds")


gather = primitive("gather", _gather, axes=_aligned_axes, linear=("x",))
gather.checked(lambda x, index, *, dim: out_of_range(index, 0, x.shape[dim]), _error)
gather.gradient(
    x=lambda g, index, x_spec, dim: scatter_add(zeros_of(x_spec), g, index, dim=dim),
    index=None,
    writable="index",
)


# Truth values are added by "or" and multiplied by "and".
_LOGICAL = {"add": "max", "multiply": "min"}


def _scatter(name: str, method: str, **options: Any) -> Primitive:
    """The primitive that puts `source` (shaped as `index`) into `x` by an update method of JAX."""

    def write(x, places, source):
        update_method = _LOGICAL.get(method, method) if x.dtype == bool else method
        # Positions out of range are dropped here and reported by the check.
        return getattr(jnp.asarray(x).at[places], update_method)(source, mode="drop")

    def impl(x, source, index, *, dim: int):
        return write(x, _coordinates(index, dim), source)

    op = primitive(name, impl, axes=_aligned_axes, **options)

    @op.lowering("cpu")
    def on_cpu(x, source, index, *, dim: int):
        """One number for a place in place of one per dimension: two thirds of the time."""
        if not x.size:
            return impl(x, source, index, dim=dim)
        row = jnp.reshape(x, (x.size,))
        return write(row, _places(x, index, dim), source).reshape(x.shape)

    return op.checked(lambda x, source, index, *, dim: out_of_range(index, 0, x.shape[dim]), _error)


scatter = _scatter("scatter", "set", linear=("x source",))
scatter_add = _scatter("scatter_add", "add", linear=("x source",))
scatter_multiply = _scatter("scatter_multiply", "multiply", linear=("x",))
scatter_amax = _scatter("scatter_amax", "max", real_only=True)
scatter_amin = _scatter("scatter_amin", "min", real_only=True)

scatter.gradient(
    x=lambda g, source_spec, index, dim: scatter(g, zeros_of(source_spec), index, dim=dim),
    source=lambda g, index, dim: gather(g, index, dim=dim),
    index=None,
)
scatter_add.gradient(
    x=lambda g: g, source=lambda g, index, dim: gather(g, index, dim=dim), index=None
)


def _is_nan(x):
    return ne(x, x)


def _is_same(x, y):
    return logical_or(eq(x, y), logical_and(_is_nan(x), _is_nan(y)))


def _extreme_gradient(g, x, source, index, out, dim):
    """All elements that equal the extreme of their place share its gradient; NaN is an extreme."""
    is_x = _is_same(x, out)
    is_source = _is_same(source, gather(out, index, dim=dim))
    count = scatter_add(
        cast(is_x, dtype=g.spec.dtype), cast(is_source, dtype=g.spec.dtype), index, dim=dim
    )
    share = div(g, count)
    from_source = gather(share, index, dim=dim)
    return [
        where(is_x, share, zeros_like(share)),
        where(is_source, from_source, zeros_like(from_source)),
        None,
    ]


def _is_no_divisor(x):
    return logical_or(eq(x, 0), _is_nan(x))


def _product_gradient(g, x, source, index, dim):
    """The product of all the others at a position; a single zero or NaN is left out exactly."""
    x_rest = where(_is_no_divisor(x), ones_like(x), x)
    gradient_x = div(mul(g, scatter_multiply(x_rest, source, index, dim=dim)), x_rest)
    is_left_out = _is_no_divisor(source)
    count = gather(
        scatter_add(zeros_like(x), cast(is_left_out, dtype=x.spec.dtype), index, dim=dim),
        index,
        dim=dim,
    )
    is_single = where(is_left_out, eq(count, 1), is_left_out)
    filled = where(is_left_out, ones_like(source), source)
    without = scatter_multiply(x, where(is_single, ones_like(source), source), index, dim=dim)
    out = scatter_multiply(x, source, index, dim=dim)
    grad_single = gather(mul(g, without), index, dim=dim)
    grad_elements = div(gather(mul(g, out), index, dim=dim), filled)
    return [gradient_x, where(is_single, grad_single, grad_elements), None]


scatter_amax.gradient(_extreme_gradient)
scatter_amin.gradient(_extreme_gradient)
scatter_multiply.gradient(_product_gradient)


def _masked_scatter(x, mask, source):
    """`x` with the first elements of `source`, in order, where `mask` is true."""
    if not source.size:
        return x
    order = jnp.cumsum(mask.reshape(-1), dtype=index_dtype(mask.size)) - 1
    taken = source.reshape(-1).at[jnp.maximum(order, 0)].get(mode="clip")
    return jnp.where(mask, taken.reshape(x.shape), x)


masked_scatter = primitive("masked_scatter", _masked_scatter, linear=("x source",))


def _has_missing(x, mask, source):
    count = count_true(mask, None, keepdim=False).astype(jnp.int64)
    return count > source.size, count


masked_scatter.checked(
    _has_missing,
    lambda value, attributes, in_specs: RuntimeError(
        f"masked_scatter: expected self and source to have at least {value} elements, the source "
        f"has {in_specs[2].numel}"
    ),
)
