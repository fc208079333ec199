"""Cross entropy of logits and integer labels: one primitive forward, one backward.

Classes are dimension 1 (0 for a single sample). With class weights `w`, label `t`, `n` classes and
smoothing `s`, a sample's loss is ``(1 - s) * w[t] * (lse - x[t]) + s / n * sum_c w[c] * (lse -
x[c])`` where `lse` is the logarithm of the sum of the exponentials; the mean divides by the sum of
``w[t]`` over the samples that are not ignored.
"""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np
from jax import lax

from oneflow.base.dtype import float32
from oneflow.base.spec import TensorSpec
from oneflow.primitives.operation import Operation
from oneflow.primitives.operators import lax_functions
from oneflow.primitives.operators.elementwise import cast, div
from oneflow.primitives.operators.indexing import rows_at
from oneflow.primitives.operators.lax_functions import (
    as_type,
    keepdim_max,
    keepdim_sum,
    replaced,
    size_in,
    wide,
)
from oneflow.primitives.operators.rounding import quotient
from oneflow.primitives.registry import primitive
from oneflow.primitives.sharding.axes import Axes, Names
from oneflow.primitives.traits import Decomposition, Precision


def _class_dim(x) -> int:
    return 1 if x.ndim > 1 else 0


def _along_classes(weight, x):
    shape = [1] * x.ndim
    shape[_class_dim(x)] = weight.shape[0]
    return wide(weight).reshape(shape)


def _labels(x, target, ignore_index):
    """Labels with a class dimension of size 1, ignored ones as 0, and which are not ignored."""
    dim = _class_dim(x)
    expected = x.shape[:dim] + x.shape[dim + 1 :]
    if target.shape != expected:
        raise ValueError(f"expected target of shape {expected}, got {target.shape}")
    labels = lax.expand_dims(target, (dim,))
    not_ignored = labels != ignore_index
    return replaced(labels, lax.bitwise_not(not_ignored), 0), not_ignored


def _label_weights(x, labels, is_valid, weight):
    """``w[t]`` of each sample, 0 for ignored ones."""
    if not weight:
        return lax.convert_element_type(is_valid, x.dtype)
    return jnp.where(is_valid, rows_at(weight[0], labels), 0).astype(x.dtype)


def _top(x, dim: int):
    """The largest logit, or 0 where all are -inf.

    Where it is inf, no difference to it is a number but 0: all of the row is NaN, as in PyTorch.
    """
    top = keepdim_max(x, dim)
    return replaced(top, lax.eq(top, lax_functions.full_of(top, -np.inf)), 0)


def _at_labels(x, labels, dim: int):
    """The elements of `x` at the labels; a check finds the labels out of range."""
    ndim = len(x.shape)
    others = tuple([other for other in range(ndim) if other != dim])
    numbers = lax.GatherDimensionNumbers((), (dim,), (dim,), others, others)
    return lax.gather(
        x,
        lax.expand_dims(labels, (ndim,)),
        numbers,
        slice_sizes=(1,) * ndim,
        mode=lax.GatherScatterMode.CLIP,
    )


def _names(shape: tuple[int, ...], reduction: str) -> tuple[Names, Names]:
    """Names of logits of `shape` and of what has no classes; a mean needs all samples."""
    classes = 1 if len(shape) > 1 else 0
    free = reduction != "mean"
    logit_names = tuple(f"d{d}" if free and d != classes else None for d in range(len(shape)))
    return logit_names, logit_names[:classes] + logit_names[classes + 1 :]


def _named(spec: TensorSpec, logit_names: Names, samples: Names) -> Names:
    """Names of logits, labels or losses; others, such as weights, are needed whole."""
    for names in (logit_names, samples):
        if len(names) == spec.ndim:
            return names
    return (None,) * spec.ndim


def _axes(operation: Operation) -> Axes:
    logits, target, *rest = operation.in_specs
    logit_names, samples = _names(logits.shape, operation.attributes["reduction"])
    inputs = (
        logit_names,
        _named(target, logit_names, samples),
        *((None,) * spec.ndim for spec in rest),
    )
    return Axes(inputs, (samples if operation.attributes["reduction"] == "none" else (),))


def _backward_axes(operation: Operation) -> Axes:
    g, logits, _, *rest = operation.in_specs
    logit_names, samples = _names(logits.shape, operation.attributes["reduction"])
    gradient_names = samples if operation.attributes["reduction"] == "none" else (None,) * g.ndim
    inputs = (gradient_names, logit_names, samples, *((None,) * spec.ndim for spec in rest))
    return Axes(inputs, (logit_names,))


def _cross_entropy(x, target, smoothing, *weight, reduction: str, ignore_index: int, smooth: bool):
    scores = wide(x)
    dim = _class_dim(x)
    labels, not_ignored = _labels(scores, target, ignore_index)
    label_weights = _label_weights(scores, labels, not_ignored, weight)
    top = lax.stop_gradient(_top(scores, dim))
    lse = lax.add(lax.log(keepdim_sum(lax.exp(lax.sub(scores, top)), (dim,))), top)
    losses = lax.mul(label_weights, lax.sub(lse, _at_labels(scores, labels, dim)))
    losses = replaced(losses, lax.bitwise_not(not_ignored), 0)
    if smooth:
        weights = _along_classes(weight[0], scores) if weight else 1
        uniform_loss = jnp.sum(weights * (lse - scores), axis=dim, keepdims=True) / x.shape[dim]
        losses = (1 - smoothing) * losses + jnp.where(not_ignored, smoothing * uniform_loss, 0)
    if reduction == "none":
        return as_type(lax.squeeze(losses, (dim,)), x.dtype)
    total = _total(losses)
    loss = lax.div(total, _total(label_weights)) if reduction == "mean" else total
    return as_type(loss, x.dtype)


def _total(x):
    """The sum of all elements, which are in single precision at least."""
    return lax.reduce_sum(x, axes=tuple(range(len(x.shape))))


def _cross_entropy_backward(
    g, x, target, smoothing, *weight, reduction: str, ignore_index: int, smooth: bool
):
    scores = wide(x)
    dim = _class_dim(x)
    labels, not_ignored = _labels(scores, target, ignore_index)
    label_weights = _label_weights(scores, labels, not_ignored, weight)
    scale = lax.expand_dims(g, (dim,)) if reduction == "none" else g
    if reduction == "mean":
        scale = lax_functions.div(scale, _total(label_weights))
    powers = lax.exp(lax.sub(scores, _top(scores, dim)))
    share = lax.div(powers, keepdim_sum(powers, (dim,)))
    hit = lax.eq(lax.broadcasted_iota(labels.dtype, x.shape, dim), labels)
    slope = lax.mul(label_weights, lax.sub(share, lax.convert_element_type(hit, share.dtype)))
    if smooth:
        weights = _along_classes(weight[0], scores) if weight else jnp.ones((), scores.dtype)
        total = jnp.sum(weights) if weight else x.shape[dim]
        slope = (1 - smoothing) * slope + smoothing / x.shape[dim] * (total * share - weights)
    slope = lax_functions.mul(slope, scale)
    counts = lax.broadcast_in_dim(not_ignored, slope.shape, range(len(slope.shape)))
    return as_type(lax.select(counts, slope, lax_functions.full_of(slope, 0)), x.dtype)


def _is_mean(attributes) -> bool:
    return attributes["reduction"] == "mean"


def _sum_of_label_weights(target, *weight, dtype, ignore_index: int):
    is_valid = target != ignore_index
    if not weight:
        return jnp.sum(is_valid, dtype=dtype.numpy)
    weights = rows_at(weight[0], jnp.where(is_valid, target, 0))
    return jnp.sum(jnp.where(is_valid, weights, 0), dtype=dtype.numpy)


def _label_axes(operation: Operation) -> Axes:
    target, *weight = operation.in_specs
    names = tuple(f"d{dim}" for dim in range(target.ndim))
    return Axes((names, *((None,) for _ in weight)), ((),))


# Labels and maybe weights of classes; the logits, of all classes, have no part in it.
sum_of_label_weights = primitive(
    "sum_of_label_weights", _sum_of_label_weights, axes=_label_axes, precision=Precision.FULL
)
sum_of_label_weights.gradient(
    lambda g, target, weight, dtype, ignore_index: [None, *[None] * len(weight)]
)


def _weights_of_labels(x, target, weight, ignore_index):
    """The divisor of the mean: the sum of ``w[t]`` over the samples that are not ignored."""
    dtype = x.spec.dtype
    return sum_of_label_weights(target, *weight, dtype=dtype, ignore_index=ignore_index)


def _cross_entropy_of_sums(x, target, smoothing, *weight, reduction, ignore_index, smooth):
    half = x.spec.dtype.itemsize < 4
    wide = cast(x, dtype=float32) if half else x
    options = {"ignore_index": ignore_index, "smooth": smooth}
    total = cross_entropy(wide, target, smoothing, *weight, reduction="sum", **options)
    loss = div(total, _weights_of_labels(wide, target, weight, ignore_index))
    return cast(loss, dtype=x.spec.dtype) if half else loss


cross_entropy = primitive(
    "cross_entropy",
    _cross_entropy,
    axes=_axes,
    decomposition=Decomposition(_cross_entropy_of_sums, _is_mean),
    precision=Precision.FULL,
)
cross_entropy_backward = primitive(
    "cross_entropy_backward", _cross_entropy_backward, axes=_backward_axes, linear=("g",)
)


def _gradient(g, x, target, smoothing, weight, reduction, ignore_index, smooth):
    attributes = {"reduction": reduction, "ignore_index": ignore_index, "smooth": smooth}
    slope = cross_entropy_backward(g, x, target, smoothing, *weight, **attributes)
    return [slope, None, None, *[None] * len(weight)]


cross_entropy.gradient(_gradient, writable="x")


def bad_label(x, target, smoothing, *weight, reduction, ignore_index, smooth):
    """Return if a label is none of the classes of `x`, and the largest such label."""
    dtype = target.dtype
    if not target.size:
        return jnp.zeros((), bool), jnp.zeros((), dtype)
    labels = lax.reshape(target, (target.size,))
    is_below = lax.lt(labels, size_in(dtype, x.shape[_class_dim(x)]))
    is_class = lax.bitwise_and(lax.ge(labels, dtype.type(0)), is_below)
    good = lax.bitwise_or(is_class, labels == ignore_index)
    bad_labels = replaced(labels, good, np.iinfo(dtype).min)
    return lax.reduce_or(lax.bitwise_not(good), (0,)), lax.reduce_max(bad_labels, (0,))


def label_error(value, attributes, in_specs):
    """The error of a label that is none of the classes."""
    return IndexError(f"Target {value} is out of bounds.")


cross_entropy.checked(bad_label, label_error)

# --- of logarithms of probabilities


def _nll(x, target, *weight, reduction: str, ignore_index: int):
    dim = _class_dim(x)
    labels, not_ignored = _labels(x, target, ignore_index)
    label_weights = _label_weights(x, labels, not_ignored, weight)
    label_logits = _at_labels(x, labels, dim)
    losses = jnp.where(not_ignored, -label_weights * label_logits, 0)
    if reduction == "none":
        return jnp.squeeze(losses, dim)
    total = jnp.sum(losses)
    return total / jnp.sum(label_weights) if reduction == "mean" else total


def _nll_backward(g, x, target, *weight, reduction: str, ignore_index: int):
    dim = _class_dim(x)
    labels, not_ignored = _labels(x, target, ignore_index)
    label_weights = _label_weights(x, labels, not_ignored, weight)
    scale = lax.expand_dims(g, (dim,)) if reduction == "none" else g
    if reduction == "mean":
        scale = lax_functions.div(scale, _total(label_weights))
    hit = lax.broadcasted_iota(labels.dtype, x.shape, dim) == labels
    return jnp.where(hit & not_ignored, -scale * label_weights, 0)


def _nll_of_sums(x, target, *weight, reduction, ignore_index):
    total = nll(x, target, *weight, reduction="sum", ignore_index=ignore_index)
    return div(total, _weights_of_labels(x, target, weight, ignore_index))


nll = primitive(
    "nll",
    _nll,
    axes=_axes,
    decomposition=Decomposition(_nll_of_sums, _is_mean),
    linear=("x",),
    precision=Precision.FULL,
)
nll_backward = primitive("nll_backward", _nll_backward, axes=_backward_axes, linear=("g",))


def _nll_gradient(g, x, target, weight, reduction, ignore_index):
    slope = nll_backward(g, x, target, *weight, reduction=reduction, ignore_index=ignore_index)
    return [slope, None, *[None] * len(weight)]


nll.gradient(_nll_gradient)


def _bad_nll_label(x, target, *weight, reduction, ignore_index):
    return bad_label(
        x, target, 0.0, *weight, reduction=reduction, ignore_index=ignore_index, smooth=False
    )


nll.checked(_bad_nll_label, label_error)

# --- of logits and probabilities of all classes


def _cross_entropy_probabilities(
    x, target, smoothing, *weight, reduction: str, count: int | None = None
):
    """`count` is the number of samples that a mean divides by, if `x` has only a part of them."""
    dim = _class_dim(x)
    classes = x.shape[dim]
    scores = wide(x)
    shifted = scores - lax.stop_gradient(jnp.max(scores, axis=dim, keepdims=True))
    log_probs = shifted - jnp.log(jnp.sum(jnp.exp(shifted), axis=dim, keepdims=True))
    target_probs = wide(target) * (1 - smoothing) + smoothing / classes
    weights = _along_classes(weight[0], x) if weight else 1
    losses = -jnp.sum(weights * target_probs * log_probs, axis=dim)
    if reduction == "none":
        return losses.astype(x.dtype)
    total = jnp.sum(losses)
    if reduction == "mean":
        total = quotient(total, x.size // classes if count is None else count)
    return total.astype(x.dtype)


def _probabilities_axes(operation: Operation) -> Axes:
    logits, _, _, *weight = operation.in_specs
    logit_names, samples = _names(logits.shape, "none")
    operands = (logit_names, logit_names, (), *((None,) for _ in weight))
    result_names = samples if operation.attributes["reduction"] == "none" else ()
    count = math.prod(logits.shape) // max(logits.shape[_class_dim(logits)], 1)
    return Axes(operands, (result_names,), global_attributes={"count": count})


cross_entropy_probabilities = primitive(
    "cross_entropy_probabilities",
    _cross_entropy_probabilities,
    axes=_probabilities_axes,
    precision=Precision.FULL,
)
