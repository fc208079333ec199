"""Normalisation: every kind is `moments` over some dimensions followed by `normalize`.

batch_norm reduces over all but the channels, layer_norm over the last dimensions, group_norm over
parts of the channels. Statistics keep their dimensions with size 1; weight and bias broadcast
against the input. Types narrower than float32 are computed in float32.
"""

from __future__ import annotations

import math
from dataclasses import replace

import jax
import jax.numpy as jnp
from jax import lax

from oneflow.base.dtype import DType, float32
from oneflow.base.sbp import BROADCAST, Split
from oneflow.base.spec import TensorSpec
from oneflow.primitives.operation import Operation
from oneflow.primitives.operators import lax_functions
from oneflow.primitives.operators.boxing import boxing
from oneflow.primitives.operators.channels_last import ChannelsLast, moved_dims
from oneflow.primitives.operators.elementwise import add, cast, mul, rsqrt, square, sub, wide_value
from oneflow.primitives.operators.lax_functions import as_type, keepdim_sum, size_in
from oneflow.primitives.operators.materialize import materialize_array
from oneflow.primitives.operators.norm_places import (
    gradient_of_groups,
    moments_of_places,
    places_of,
)
from oneflow.primitives.operators.reduce import mean as mean_of, sum_ as sum_of, sum_to
from oneflow.primitives.operators.rounding import hidden
from oneflow.primitives.operators.shape import concat, keepdim_shape, reshape, split
from oneflow.primitives.registry import primitive
from oneflow.primitives.shard_shapes import split_counts
from oneflow.primitives.sharding.axes import Axes, broadcast_free_dims, elementwise_axes
from oneflow.primitives.traits import Decomposition, Fusion, Precision


def _same_rank(operation) -> ChannelsLast | None:
    """Everything that is not a number has the rank of the activations and moves with them."""
    ndim = operation.in_specs[0].ndim
    moved = tuple(spec.ndim == ndim for spec in operation.in_specs)
    if any(not move and spec.ndim for move, spec in zip(moved, operation.in_specs, strict=True)):
        return None
    dims = moved_dims(operation.attributes["dims"], ndim)
    results = tuple(spec.ndim == ndim for spec in operation.out_specs)
    return ChannelsLast(moved, results, {**operation.attributes, "dims": dims, "grouped": False})


# --- mean and variance


def _moments(x, *, dims: tuple[int, ...], grouped: bool = False):
    """Mean and biased variance over `dims`; `grouped`: the first one is of a group's channels."""
    if places := places_of(x.shape, dims, grouped):
        shape = keepdim_shape(x.shape, dims)
        mean, variance = (lax.reshape(m, shape) for m in moments_of_places(x, places))
        return mean, variance
    return _moments_in_two_passes(x, dims)


def _moments_in_two_passes(x, dims: tuple[int, ...]):
    x = lax_functions.wide(x)
    total = keepdim_sum(x, dims)
    count = hidden(lax.broadcast(size_in(x.dtype, _count(x, dims)), total.shape))
    mean = lax.div(hidden(total), count)
    # This is not x - mean, which the backward pass computes and XLA would keep all that time.
    return mean, lax.div(hidden(keepdim_sum(lax.square(lax.sub(mean, x)), dims)), count)


def _moments_of_sums(x, *, dims: tuple[int, ...], grouped: bool = False):
    if parts := _parts_of_batch(x.spec, dims):
        return _joint_moments(x, dims, parts)
    x = wide_value(x)
    mean = mean_of(x, dims=dims, keepdim=True)
    return mean, mean_of(square(sub(x, mean)), dims=dims, keepdim=True)


def _parts_of_batch(spec: TensorSpec, dims: tuple[int, ...]) -> int:
    """The number of equal parts of a batch on devices; 0 if the shards are no such parts.

    Args:
        spec: the spec of activations.
        dims: over which moments are.
    """
    if spec.sbp is None or 0 not in dims:
        return 0
    counts = {dim: math.prod(split_counts(spec.device.hierarchy, spec.sbp, dim)) for dim in dims}
    parts = counts.pop(0)
    has_rest = spec.shape[0] % parts or any(count > 1 for count in counts.values())
    return 0 if has_rest or not spec.shape[0] else parts


def _joint_moments(x, dims: tuple[int, ...], parts: int):
    """Moments of each device's part of a batch, which are exchanged once, and those of all.

    Mean and then variance of the whole would be two exchanges, one after the other, and two passes.
    """
    shape = (parts, x.spec.shape[0] // parts, *x.spec.shape[1:])
    own = moments(reshape(x, shape=shape), dims=tuple(dim + 1 for dim in dims))
    both = concat(*own, dim=1)
    spec = both.spec
    whole = [
        BROADCAST if isinstance(component, Split) and component.dim == 0 else component
        for component in spec.sbp
    ]
    both = boxing(
        both,
        shape=spec.shape,
        hierarchy=spec.device.hierarchy,
        source=spec.sbp,
        target=tuple(whole),
    )
    means, variances = split(both, sizes=(1, 1), dim=1)
    mean = mean_of(means, dims=(0,))
    return mean, mean_of(add(variances, square(sub(means, mean))), dims=(0,))


moments = primitive(
    "moments",
    _moments,
    axes=broadcast_free_dims("dims"),
    fusion=Fusion(reads_memory=True),
    channels_last=_same_rank,
    decomposition=Decomposition(_moments_of_sums),
    precision=Precision.FULL_OFF_CPU,
)


@moments.lowering("cpu")
def _moments_on_cpu(x, *, dims: tuple[int, ...], grouped: bool = False):
    """As `_moments`, along one dimension where that is possible, with the squares in memory.

    XLA's kernel for sums takes operands of the size of `x`, so XLA would store the mean broadcast
    to it. Layer norm of 8 x 128 x 768 takes 0.26 ms of 0.34, group norm of 8 x 8 x 8 x 32 x 32 0.31
    of 0.50, instance norm of 4 x 32 x 56 x 56 0.14 of 0.28.
    """
    rows, along = _joined(lax_functions.wide(x), dims)
    total = keepdim_sum(rows, along)
    count = hidden(lax.broadcast(size_in(rows.dtype, _count(x, dims)), total.shape))
    mean = materialize_array(lax.div(hidden(total), count))
    squares = materialize_array(lax.square(lax.sub(mean, rows)))
    variance = lax.div(hidden(keepdim_sum(squares, along)), count)
    shape = [1 if dim in dims else size for dim, size in enumerate(x.shape)]
    return lax.reshape(mean, shape), lax.reshape(variance, shape)


@moments.lowering("tpu")
def _moments_on_tpu(x, *, dims: tuple[int, ...], grouped: bool = False):
    """As `_moments`; XLA for TPUs adds up what convolutions give a batch while it computes them.

    A step of ResNet-50 (64 images of 224 x 224) moves 12.7 GB then, and 15.3 with sums of rows.
    """
    return _moments(x, dims=dims, grouped=True) if grouped else _moments_in_two_passes(x, dims)


def _joined(x, dims: tuple[int, ...]):
    """`x` with `dims` as one dimension if they are neighbours, and where they are then."""
    first, stop = min(dims, default=0), max(dims, default=-1) + 1
    if not dims or stop - first != len(dims):
        return x, dims
    shape = math.prod(x.shape[:first]), math.prod(x.shape[first:stop]), math.prod(x.shape[stop:])
    return lax.reshape(x, shape), (1,)


def _count(spec, dims) -> int:
    count = 1
    for dim in dims:
        count *= spec.shape[dim]
    return count


def _moments_gradient(g, x, out, dims):
    # d mean / dx = 1 / n,  d variance / dx = 2 (x - mean) / n
    return _through_moments(g[0], g[1], x, out[0], dims)


def _through_moments(g_mean, g_variance, x, mean, dims):
    """The gradient in `x` of its mean and variance."""
    share = 1.0 / max(_count(x.spec, dims), 1)
    x = x if x.spec.dtype is mean.spec.dtype else cast(x, dtype=float32)
    return add(mul(sub(x, mean), mul(g_variance, 2.0 * share)), mul(g_mean, share))


moments.gradient(x=_moments_gradient)

# --- normalising with given moments, then weight and bias


def _normalize(
    x, mean, variance, weight, bias, eps, *, dims: tuple[int, ...], grouped: bool = False
):
    """Normalised `x`, given its own moments over `dims`: the gradient in `x` includes theirs."""
    return _normalize_fixed(x, mean, variance, weight, bias, eps)


def _sum_to(x, shape: tuple[int, ...]):
    """`x` summed over the dimensions that `shape` broadcasts along."""
    extra = x.ndim - len(shape)
    wide = (1,) * extra + tuple(shape)
    dims = tuple(d for d, size in enumerate(wide) if size == 1 and x.shape[d] != 1)
    return lax_functions.sum_of_rows(x, dims).reshape(shape)


def _normalize_gradient(
    dy, x, mean, variance, weight, eps, *, dims: tuple[int, ...], grouped: bool = False
):
    """Gradients in x, weight and bias.

    With g = dy, h = (x - mean) / sqrt(variance + eps) and M the mean over `dims`,
    dx = (w g - M(w g) - h M(w g h)) / sqrt(variance + eps).
    Sums over a reduced dimension along which the weight does not vary are shared with the weight's
    gradient.
    """
    shape = (1,) * (x.ndim - jnp.ndim(weight)) + tuple(jnp.shape(weight))
    if grouped and (places := places_of(x.shape, dims, grouped)):
        weights = jnp.reshape(weight, shape)
        dx, *sums = gradient_of_groups(dy, x, mean, variance, weights, eps, places)
        return dx, *(_sum_to(total, jnp.shape(weight)) for total in sums)
    dtype, g, x = x.dtype, lax_functions.wide(dy), lax_functions.wide(x)
    wide = jnp.reshape(weight, shape)
    rstd = lax.rsqrt(lax_functions.add(variance, eps))
    shared = tuple(dim for dim in dims if shape[dim] == 1)
    centered = lax_functions.sub(x, mean)
    g_sum = keepdim_sum(g, shared)
    gh_sum = lax_functions.mul(keepdim_sum(lax_functions.mul(g, centered), shared), rstd)
    count = size_in(x.dtype, _count(x, dims))
    g_mean, gh_mean = (
        lax_functions.div(keepdim_sum(lax_functions.mul(wide, gradient_sum), dims), count)
        for gradient_sum in (g_sum, gh_sum)
    )
    shift = lax_functions.mul(centered, lax_functions.mul(gh_mean, rstd))
    dx = lax_functions.sub(lax_functions.sub(lax_functions.mul(wide, g), g_mean), shift)
    dx = lax_functions.mul(dx, rstd)
    return (
        as_type(dx, dtype),
        _sum_to(gh_sum, jnp.shape(weight)),
        _sum_to(g_sum, jnp.shape(weight)),
    )


def _attach_moments_axes(operation: Operation) -> Axes:
    """Moments do not depend on the reduced dimensions of `x`, which has gradients only."""
    return replace(elementwise_axes(operation), sums=False)


# Mean and variance as they are, but as functions of the `x` that they are the moments of.
attach_moments = primitive(
    "attach_moments",
    lambda x, mean, variance, *, dims: (mean, variance),
    axes=_attach_moments_axes,
    linear=("mean variance",),
)


def _attach_moments_gradient(g, x, mean, dims):
    grad = _through_moments(g[0], g[1], x, mean, dims)
    grad = grad if x.spec.dtype is grad.spec.dtype else cast(grad, dtype=x.spec.dtype)
    return [grad, None, None]


attach_moments.gradient(_attach_moments_gradient)


def _shape(weight) -> tuple[int, ...]:
    """The shape of a weight, which is a number where a layer has none."""
    return weight.spec.shape if hasattr(weight, "spec") else ()


def _normalize_gradient_of_sums(
    dy, x, mean, variance, weight, eps, *, dims: tuple[int, ...], grouped: bool = False
):
    """The same as `_normalize_gradient`, which explains it."""
    weight = wide_value(weight) if hasattr(weight, "spec") else weight
    center, variance = attach_moments(x, mean, variance, dims=dims)
    g, rstd = wide_value(dy), rsqrt(add(variance, eps))
    h = mul(sub(wide_value(x), center), rstd)
    weighted, shape = mul(g, weight), _shape(weight)
    if _varies_along(shape, x.spec.ndim, dims):
        g_sum, gh_sum = g, mul(g, h)
        g_mean, gh_mean = (
            mean_of(value, dims=dims, keepdim=True) for value in (weighted, mul(weighted, h))
        )
    else:
        g_sum, gh_sum = (sum_of(value, dims=dims, keepdim=True) for value in (g, mul(g, h)))
        share = 1.0 / max(_count(x.spec, dims), 1)
        share = mul(weight, share) if hasattr(weight, "spec") else weight * share
        g_mean, gh_mean = mul(g_sum, share), mul(gh_sum, share)
    dx = mul(sub(sub(weighted, g_mean), mul(h, gh_mean)), rstd)
    return (
        dx if x.spec.dtype is dx.spec.dtype else cast(dx, dtype=x.spec.dtype),
        sum_to(gh_sum, shape=shape),
        sum_to(g_sum, shape=shape),
    )


def _varies_along(shape: tuple[int, ...], ndim: int, dims: tuple[int, ...]) -> bool:
    """Return whether a weight of `shape` varies along some of `dims` of activations."""
    wide = (1,) * (ndim - len(shape)) + tuple(shape)
    return any(wide[dim] != 1 for dim in dims)


normalize = primitive(
    "normalize",
    _normalize,
    axes=elementwise_axes,
    real_only=True,
    fusion=Fusion(into_users=True),
    channels_last=_same_rank,
    linear=("weight bias", "x mean bias"),
    precision=Precision.FULL_OFF_CPU,
)
normalize_gradient = primitive(
    "normalize_gradient",
    _normalize_gradient,
    axes=broadcast_free_dims("dims"),
    fusion=Fusion(into_users=True, reads_memory=True),
    channels_last=_same_rank,
    decomposition=Decomposition(_normalize_gradient_of_sums),
    linear=("dy",),
)


@normalize_gradient.lowering("cpu")
def _normalize_gradient_on_cpu(
    dy, x, mean, variance, weight, eps, *, dims: tuple[int, ...], grouped: bool = False
):
    """As `_normalize_gradient`, with the summands in memory: 9 ms for 4 x 1024 x 768.

    XLA's sum of an expression has no vectors, and computes the root anew for each element, which
    takes 36 ms. If the weight varies within the normalised dimensions, as in layers, weighted sums
    are products with it.
    """
    dtype, g, x = x.dtype, lax_functions.wide(dy), lax_functions.wide(x)
    shape = (1,) * (x.ndim - jnp.ndim(weight)) + tuple(jnp.shape(weight))
    wide = jnp.reshape(weight, shape)
    rstd = materialize_array(lax.rsqrt(lax_functions.add(variance, eps)))
    centered = lax_functions.sub(x, mean)
    gh = materialize_array(lax_functions.mul(g, lax_functions.mul(centered, rstd)))
    shared = tuple(dim for dim in dims if shape[dim] == 1)
    count = size_in(x.dtype, _count(x, dims))
    if _are_rows(shape, x.shape, dims):
        row = wide.reshape(-1).astype(x.dtype)
        g_sum, gh_sum = g, gh
        products = [lax.dot(part.reshape(-1, row.size), row) for part in (g, gh)]
        sums = [product.reshape(mean.shape) for product in products]
    else:
        g_sum, gh_sum = keepdim_sum(g, shared), keepdim_sum(gh, shared)
        sums = [keepdim_sum(lax_functions.mul(wide, part), dims) for part in (g_sum, gh_sum)]
    g_mean, gh_mean = (lax_functions.div(total, count) for total in sums)
    shift = lax_functions.mul(centered, materialize_array(lax_functions.mul(gh_mean, rstd)))
    weighted = lax_functions.mul(wide, g)
    dx = lax_functions.sub(lax_functions.sub(weighted, materialize_array(g_mean)), shift)
    dx = lax_functions.mul(dx, rstd)
    weight_shape = jnp.shape(weight)
    return as_type(dx, dtype), _sum_to(gh_sum, weight_shape), _sum_to(g_sum, weight_shape)


def _are_rows(shape: tuple[int, ...], full: tuple[int, ...], dims: tuple[int, ...]) -> bool:
    """Return whether a weight of `shape` varies along `dims`, the last ones, and only there."""
    first = len(full) - len(dims)
    expected = (1,) * first + tuple(full[first:])
    are_last = tuple(dims) == tuple(range(first, len(full)))
    return bool(dims) and are_last and shape == expected and 0 not in full


def _normalize_rule(g, x, mean, variance, weight, eps, dims, grouped, needs_input_grad):
    dx, grad_weight, grad_bias = normalize_gradient(
        g, x, mean, variance, weight, eps, dims=dims, grouped=grouped
    )
    if needs_input_grad[4] and not _shape(weight):
        grad_bias = wide_value(g)  # where it arrives it is summed to the shape of the bias
    return [
        dx if needs_input_grad[0] else None,
        None,
        None,
        grad_weight if needs_input_grad[3] else None,
        grad_bias if needs_input_grad[4] else None,
        None,
    ]


normalize.gradient(_normalize_rule)


def _second_gradient(dx, grad_weight, grad_bias, dy, x, weight, eps, *, dims: tuple[int, ...]):
    """Gradients of `normalize_gradient` in dy, x and weight.

    Its moments are functions of x here.
    """

    def first(dy, x, weight):
        mean, variance = _moments(x, dims=dims)
        return _normalize_gradient(dy, x, mean, variance, weight, eps, dims=dims)

    weight = jnp.asarray(weight, lax_functions.wide(x).dtype)
    return jax.vjp(first, dy, x, weight)[1]((dx, grad_weight, grad_bias))


normalize_second_gradient = primitive(
    "normalize_second_gradient",
    _second_gradient,
    axes=broadcast_free_dims("dims"),
    linear=("dx grad_weight grad_bias",),
)


def _normalize_gradient_rule(g, dy, x, weight, eps, dims, needs_input_grad):
    grad_dy, dx, grad_weight = normalize_second_gradient(*g, dy, x, weight, eps, dims=dims)
    grads = [grad_dy, dx, None, None, grad_weight, None]
    return [grad if want else None for grad, want in zip(grads, needs_input_grad, strict=True)]


normalize_gradient.gradient(_normalize_gradient_rule)

# --- the same with statistics that do not depend on x


def _normalize_fixed(x, mean, variance, weight, bias, eps):
    scale = lax_functions.mul(lax.rsqrt(lax_functions.add(variance, eps)), weight)
    centered = lax_functions.sub(lax_functions.wide(x), mean)
    return as_type(lax_functions.add(lax_functions.mul(centered, scale), bias), x.dtype)


normalize_fixed = primitive(
    "normalize_fixed",
    _normalize_fixed,
    elementwise=True,
    linear=("weight bias", "x mean bias"),
    real_only=True,
)

# --- running statistics: (1 - momentum) * running + momentum * factor * batch, one instruction


def _running_average(running, batch, factor, momentum):
    return running + momentum * (factor * batch.astype(running.dtype) - running)


running_average = primitive(
    "running_average",
    _running_average,
    elementwise=True,
    differentiable=False,
    linear=("running batch", "running factor"),
)


def machine_epsilon(dtype: DType) -> float:
    """The distance from 1 to the next number."""
    return float(jnp.finfo(dtype.numpy).eps)
