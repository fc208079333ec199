"""Variance, norms, and reductions that sort: median, mode, quantile."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax.numpy as jnp
from jax import lax

from oneflow.base.dtype import HALF_DTYPES
from oneflow.primitives.operation import Operation
from oneflow.primitives.operators import sort_cpu
from oneflow.primitives.operators.complex import real_part
from oneflow.primitives.operators.elementwise import (
    cast,
    conj,
    div,
    drop_if,
    eq,
    interpolate,
    mul,
    sqrt,
    square,
    sub,
    where,
    wide_value,
)
from oneflow.primitives.operators.lax_functions import as_type, count_true, index_dtype, wide
from oneflow.primitives.operators.reduce import (
    count_of,
    expanded,
    extreme_gradient,
    keepdim_axes,
    mean,
    reduction_gradient_axes,
    select_along,
    select_along_gradient,
    selected,
    sum_,
)
from oneflow.primitives.operators.rounding import quotient
from oneflow.primitives.operators.shape import keepdim_shape
from oneflow.primitives.registry import Primitive, primitive
from oneflow.primitives.sharding.axes import Axes, reduced_axes
from oneflow.primitives.traits import Decomposition, Precision

# --- variance: the mean of squared distances from the mean, in two passes


def _centered(x, dims: tuple[int, ...]):
    """`x` less its mean, in single precision at least."""
    x = wide(x)
    return x - quotient(jnp.sum(x, axis=dims, keepdims=True), count_of(x.shape, dims))


def _degrees(shape: tuple[int, ...], dims: tuple[int, ...], correction: float) -> float:
    return max(0, count_of(shape, dims) - correction)  # 0 for NaN, as in PyTorch


def _squared_sizes(x):
    return (x * jnp.conj(x)).real if jnp.iscomplexobj(x) else x * x


def _wide_var(x, *, dims: tuple[int, ...], correction: float, keepdim: bool = False):
    total = jnp.sum(_squared_sizes(_centered(x, dims)), axis=dims, keepdims=keepdim)
    return quotient(total, _degrees(x.shape, dims, correction))


def _var(x, **attributes):
    return as_type(_wide_var(x, **attributes), x.real.dtype)


def _wide_var_gradient(g, x, *, dims: tuple[int, ...], correction: float):
    # Unlike the value's divisor this one may be negative, as in PyTorch.
    factor = 2 / jnp.asarray(count_of(x.shape, dims) - correction, g.dtype)
    return expanded(g * factor, x.shape, dims) * _centered(x, dims)


def _var_gradient(g, x, *, dims: tuple[int, ...], correction: float):
    return as_type(_wide_var_gradient(wide(g), x, dims=dims, correction=correction), x.dtype)


def _std(x, **attributes):
    return as_type(jnp.sqrt(_wide_var(x, **attributes)), x.real.dtype)


def _std_gradient(g, x, out, *, dims: tuple[int, ...], correction: float):
    slope = _wide_var_gradient(_over_norm(g, out), x, dims=dims, correction=correction)
    return as_type(slope / 2, x.dtype)


def _over_norm(g, norm):
    """The gradient divided by a norm; 0 where that is 0."""
    g, norm = wide(g), wide(norm)
    is_zero = norm == 0
    return as_type(jnp.where(is_zero, 0, g / jnp.where(is_zero, 1, norm)), g.dtype)


def _wide_var_of_sums(x, *, dims: tuple[int, ...], correction: float, keepdim: bool = False):
    x = wide_value(x)
    squares = _squares(sub(x, mean(x, dims=dims, keepdim=True)))
    degrees = float(_degrees(x.spec.shape, dims, correction))
    return div(sum_(squares, dims=dims, keepdim=keepdim), degrees)


def _as_real_of(x, result):
    """A wide result as the real dtype that belongs to `x`."""
    return cast(result, dtype=x.spec.dtype) if x.spec.dtype in HALF_DTYPES else result


def _var_of_sums(x, **attributes):
    return _as_real_of(x, _wide_var_of_sums(x, **attributes))


def _squares(x):
    return real_part(mul(x, conj(x))) if x.spec.dtype.is_complex else square(x)


def root(x):
    """The square root of a value; where it is 0 the gradient is."""
    zero = eq(x, 0.0)
    return drop_if(sqrt(where(zero, 1.0, x)), zero)


def _std_of_sums(x, **attributes):
    return _as_real_of(x, root(_wide_var_of_sums(x, **attributes)))


var = primitive(
    "var",
    _var,
    axes=reduced_axes(is_sum=False),
    decomposition=Decomposition(_var_of_sums),
    precision=Precision.FULL_OFF_CPU,
)
std = primitive(
    "std",
    _std,
    axes=reduced_axes(is_sum=False),
    decomposition=Decomposition(_std_of_sums),
    precision=Precision.FULL_OFF_CPU,
)
_var_x = primitive("var_gradient", _var_gradient, axes=keepdim_axes, linear=("g", "x"))
_std_x = primitive("std_gradient", _std_gradient, axes=keepdim_axes, linear=("g", "x"))
var.gradient(x=lambda g, x, dims, correction: _var_x(g, x, dims=dims, correction=correction))
std.gradient(
    x=lambda g, x, out, dims, correction: _std_x(g, x, out, dims=dims, correction=correction)
)

# --- norms


def _norm2(x, *, dims: tuple[int, ...], keepdim: bool = False):
    total = jnp.sum(_squared_sizes(wide(x)), axis=dims, keepdims=keepdim)
    return as_type(jnp.sqrt(total), x.real.dtype)


def _norm2_gradient(g, x, out, *, dims: tuple[int, ...]):
    return as_type(expanded(_over_norm(g, out), x.shape, dims) * wide(x), x.dtype)


def _norm(x, order, *, dims: tuple[int, ...], keepdim: bool = False):
    return jnp.sum(jnp.abs(x) ** order, axis=dims, keepdims=keepdim) ** (1 / order)


def _norm_gradient(g, x, order, out, *, dims: tuple[int, ...]):
    """``sign(x) |x|^(order-1) / norm^(order-1)``, and 0 where that is no number."""
    norm = expanded(out, x.shape, dims)
    size = jnp.abs(x)
    is_zero = (size == 0) | (norm == 0)
    ratio = jnp.where(is_zero, 1, size) / jnp.where(is_zero, 1, norm)
    direction = x / jnp.where(is_zero, 1, size)
    slope = jnp.where(is_zero, 0, direction * ratio ** (order - 1))
    return (expanded(g, x.shape, dims) * slope).astype(x.dtype)


def _norm2_of_sums(x, *, dims: tuple[int, ...], keepdim: bool = False):
    return _as_real_of(x, root(sum_(_squares(wide_value(x)), dims=dims, keepdim=keepdim)))


norm2 = primitive(
    "norm2",
    _norm2,
    axes=reduced_axes(is_sum=False),
    decomposition=Decomposition(_norm2_of_sums),
    precision=Precision.FULL_OFF_CPU,
)
norm = primitive("norm", _norm, axes=reduced_axes(is_sum=False), precision=Precision.FULL_OFF_CPU)
_norm2_x = primitive(
    "norm2_gradient", _norm2_gradient, axes=reduction_gradient_axes, linear=("g", "x")
)
_norm_x = primitive("norm_gradient", _norm_gradient, axes=reduction_gradient_axes, linear=("g",))
norm2.gradient(x=lambda g, x, out, dims: _norm2_x(g, x, out, dims=dims))
norm.gradient(x=lambda g, x, order, out, dims: _norm_x(g, x, order, out, dims=dims), order=None)

# --- reductions that sort


class Ranking(NamedTuple):
    """Functions that put elements in order.

    Attributes:
        argsort: returns positions in a stable order, NaN last, for an array and a dimension.
        index_at_rank: of an array, a dimension and a rank, a number or one for each vector along
            the dimension: the position at that rank in this order, with the dimension kept.
    """

    argsort: Callable
    index_at_rank: Callable


def _argsort(x, dim: int):
    positions = lax.broadcasted_iota(index_dtype(x.shape[dim]), x.shape, dim)
    return lax.sort((x, positions), dimension=dim, is_stable=True, num_keys=1)[1]


def _index_at_rank(x, dim: int, rank):
    order = _argsort(x, dim)
    rank = jnp.broadcast_to(jnp.asarray(rank, order.dtype), keepdim_shape(x.shape, (dim,)))
    return jnp.take_along_axis(order, rank, axis=dim)


# Ranks that are found one by one rather than by sorting.
_MAX_UNROLL = 4

_SORTED = Ranking(_argsort, _index_at_rank)
_ON_CPU = Ranking(sort_cpu.argsort, sort_cpu.index_at_rank)


def _kthvalue(ranking: Ranking, x, *, k: int, dim: int, keepdim: bool):
    if not x.ndim:
        return x, jnp.zeros((), jnp.int64)
    return selected(x, ranking.index_at_rank(x, dim, k - 1), dim, keepdim)


def _median_index(ranking: Ranking, x, dim: int):
    # The lower of the two in the middle; a NaN anywhere is the median.
    index = ranking.index_at_rank(x, dim, (x.shape[dim] - 1) // 2)
    if not jnp.issubdtype(x.dtype, jnp.floating):
        return index
    nan_mask = jnp.isnan(x)
    first = jnp.argmax(nan_mask, axis=dim, keepdims=True)
    return jnp.where(jnp.any(nan_mask, axis=dim, keepdims=True), first, index)


def _nanmedian_index(ranking: Ranking, x, dim: int):
    count = count_true(~jnp.isnan(x), dim, keepdim=True)
    return ranking.index_at_rank(x, dim, jnp.maximum(count - 1, 0) // 2)


def _mode_index(ranking: Ranking, x, dim: int):
    """The last position of the smallest of the values that occur most often."""
    order = ranking.argsort(x, dim)
    values = jnp.take_along_axis(x, order, axis=dim, mode="promise_in_bounds")
    position = lax.broadcasted_iota(index_dtype(x.shape[dim]), x.shape, dim)
    fresh = jnp.concatenate(
        [
            jnp.ones(keepdim_shape(x.shape, (dim,)), bool),
            lax.slice_in_dim(values, 1, None, axis=dim)
            != lax.slice_in_dim(values, 0, -1, axis=dim),
        ],
        axis=dim,
    )
    start = lax.cummax(jnp.where(fresh, position, 0), axis=dim)
    longest = jnp.argmax(position - start, axis=dim, keepdims=True)
    return jnp.take_along_axis(order, longest, axis=dim)


def _select_along(name: str, index: Callable) -> Primitive:
    return select_along(name, partial(index, _SORTED), partial(index, _ON_CPU))


kthvalue = primitive(
    "kthvalue", partial(_kthvalue, _SORTED), axes=reduced_axes(is_sum=False), real_only=True
)
kthvalue.lowering("cpu")(partial(_kthvalue, _ON_CPU))
kthvalue.gradient(x=select_along_gradient, writable="out")
median = _select_along("median", _median_index)
nanmedian = _select_along("nanmedian", _nanmedian_index)
mode = _select_along("mode", _mode_index)


def _of_all(name: str, index: Callable) -> Primitive:
    """The element picked from all; equal ones share its gradient. It is NaN without elements."""

    def impl(ranking: Ranking, x):
        flat = x.reshape(-1)
        if not flat.size:
            return jnp.full((), jnp.nan, x.dtype)
        return flat[index(ranking, flat, 0)].reshape(())

    op = primitive(name, partial(impl, _SORTED), real_only=True)
    op.lowering("cpu")(partial(impl, _ON_CPU))
    return op.gradient(
        x=lambda g, x, out, x_spec: extreme_gradient(g, x, out, dims=tuple(range(x_spec.ndim)))
    )


median_of_all = _of_all("median_of_all", _median_index)
nanmedian_of_all = _of_all("nanmedian_of_all", _nanmedian_index)


def _quantile(
    ranking: Ranking,
    x,
    q,
    *,
    dim: int | None,
    keepdim: bool,
    interpolation: str,
    skip_nan: bool,
):
    """The dimension of a vector `q` comes first in the result."""
    vectors = x.reshape(-1) if dim is None else jnp.moveaxis(x, dim, -1)
    numbers = count_true(~jnp.isnan(vectors), -1, keepdim=False)
    size = vectors.shape[-1]
    last = (jnp.maximum(numbers, 1) if skip_nan else jnp.full_like(numbers, size)) - 1
    rank = q.reshape(q.shape + (1,) * last.ndim) * last.astype(q.dtype)
    if not skip_nan:
        rank = jnp.where(numbers < size, size - 1, rank)
    result = _at_rank(partial(_at_places, ranking, vectors), rank, interpolation)
    if keepdim:
        reduced_shape = (1,) * x.ndim if dim is None else keepdim_shape(x.shape, (dim % x.ndim,))
        result = result.reshape(q.shape + reduced_shape)
    return result


def _at_places(ranking: Ranking, vectors, places):
    """The numbers at places in the order along the last dimension; NaN comes last.

    Args:
        ranking: how they are put in order.
        vectors: the numbers.
        places: of the shape of `vectors` without the last dimension, after one of any size.
    """
    dim = vectors.ndim - 1
    places = jnp.broadcast_to(places, (*places.shape[: places.ndim - dim], *vectors.shape[:-1]))
    places = places.astype(index_dtype(vectors.shape[-1]))
    if math.prod(places.shape[: places.ndim - dim]) <= _MAX_UNROLL:
        numbers = [
            jnp.take_along_axis(vectors, ranking.index_at_rank(vectors, dim, place), axis=-1)
            for place in places.reshape(-1, *vectors.shape[:-1], 1)
        ]
        return jnp.stack(numbers).reshape(places.shape)
    order = ranking.argsort(vectors, dim)
    ordered = jnp.take_along_axis(vectors, order, axis=-1, mode="promise_in_bounds")
    table = jnp.broadcast_to(ordered, (*places.shape[: places.ndim - dim], *ordered.shape))
    return jnp.take_along_axis(table, places[..., None], axis=-1)[..., 0]


def _at_rank(at: Callable, rank, interpolation: str):
    """The number at a rank along the last dimension, or between the two next to it."""
    rounding = {"lower": jnp.floor, "higher": jnp.ceil, "nearest": jnp.round}.get(interpolation)
    if rounding is not None:
        return at(rounding(rank))
    low, high = at(jnp.floor(rank)), at(jnp.ceil(rank))
    return interpolate(low, high, 0.5 if interpolation == "midpoint" else rank - jnp.floor(rank))


def _out_of_range(x, q, **attributes):
    return ~jnp.all((q >= 0) & (q <= 1)), jnp.zeros((), jnp.int64)


def _quantile_axes(operation: Operation) -> Axes:
    """All dimensions except `dim` may be split."""
    x, q = operation.in_specs
    dim, keepdim = operation.attributes["dim"], operation.attributes["keepdim"]
    names = tuple(None if dim is None or at == dim % x.ndim else f"d{at}" for at in range(x.ndim))
    result_names = names if keepdim else tuple(name for name in names if name is not None)
    quantile_names = (None,) * q.ndim
    return Axes((names, quantile_names), ((*quantile_names, *result_names),))


quantile = primitive("quantile", partial(_quantile, _SORTED), axes=_quantile_axes)
quantile.lowering("cpu", differentiate=True)(partial(_quantile, _ON_CPU))
quantile.checked(
    _out_of_range,
    lambda value, attributes, in_specs: RuntimeError(
        "quantile() q values must be in the range [0, 1]"
    ),
)
