"""Losses of single elements and of small groups of them; reductions are composed from these.

Gradients without a rule are those of the formulas as written: which side of a kink a point belongs
to is chosen as in PyTorch.
"""

from __future__ import annotations

import math

import jax.numpy as jnp
from jax import lax

from oneflow.primitives.operators import kinks
from oneflow.primitives.operators.distance import safe_norm
from oneflow.primitives.operators.elementwise import elementwise, mul
from oneflow.primitives.operators.indexing import rows_at
from oneflow.primitives.operators.lax_functions import as_type, wide
from oneflow.primitives.operators.rounding import hidden, quotient
from oneflow.primitives.registry import primitive
from oneflow.primitives.traits import Precision


def _hinge(x):
    """``max(x, 0)`` with the gradient of the positive side at 0."""
    return kinks.at_least(x, 0)


def _softplus(x):
    return jnp.logaddexp(x, jnp.zeros((), x.dtype))


# --- of two tensors, element by element


def _half_square(difference, is_near):
    """Half the square where differences are near, of 0 elsewhere: infinite ones have a slope."""
    return 0.5 * jnp.square(jnp.where(is_near, difference, 0))


def _smooth_l1(x, y, beta):
    distance = kinks.absolute(x - y)
    is_near = ~(distance >= beta)  # NaN counts as near, where its slope is NaN
    near = quotient(_half_square(x - y, is_near), jnp.where(beta == 0, 1, beta))
    return jnp.where(is_near, near, distance - 0.5 * beta)


def _huber(x, y, delta):
    distance = kinks.absolute(x - y)
    is_near = ~(distance >= delta)  # NaN counts as near, where its slope is NaN
    # An infinite `delta` has no part in the slope of near elements.
    linear = delta * (jnp.where(is_near, 0, distance) - 0.5 * delta)
    return jnp.where(is_near, _half_square(x - y, is_near), linear)


smooth_l1 = elementwise(
    "smooth_l1", _smooth_l1, "x y beta", real_only=True, precision=Precision.FULL
)
huber = elementwise("huber", _huber, "x y delta", real_only=True, precision=Precision.FULL)
soft_margin = elementwise(
    "soft_margin", lambda x, y: _softplus(-y * x), "x y", precision=Precision.FULL
)


def _binary_cross_entropy(x, target):
    # Logarithms are limited to -100, so that a wrong certain answer costs much but not infinity.
    return -(
        target * jnp.maximum(jnp.log(x), -100) + (1 - target) * jnp.maximum(jnp.log1p(-x), -100)
    )


def _binary_cross_entropy_slope(x, target):
    return (x - target) / jnp.maximum((1 - x) * x, 1e-12)


def _binary_cross_entropy_curvature(x, target):
    tiny = 1e-12
    return (x * x - 2 * x * target + target) / jnp.square((x + tiny) * (hidden(1 - x) + tiny))


def _binary_cross_entropy_mixed(x):
    """The derivative of the slope in the target."""
    return -1 / jnp.maximum((1 - x) * x, 1e-12)


def _logit(x):
    """The target's gradient; the limit on the logarithms does not stop it."""
    return jnp.log1p(-x) - jnp.log(x)


binary_cross_entropy = elementwise(
    "binary_cross_entropy",
    _binary_cross_entropy,
    "x target",
    real_only=True,
    precision=Precision.FULL,
)
binary_cross_entropy_slope = elementwise(
    "binary_cross_entropy_slope", _binary_cross_entropy_slope, "x target"
)
binary_cross_entropy_curvature = elementwise(
    "binary_cross_entropy_curvature", _binary_cross_entropy_curvature, "x target"
)
binary_cross_entropy_mixed = elementwise("binary_cross_entropy_mixed", _binary_cross_entropy_mixed)
binary_cross_entropy_slope.gradient(
    x=lambda g, x, target: mul(g, binary_cross_entropy_curvature(x, target)),
    target=lambda g, x: mul(g, binary_cross_entropy_mixed(x)),
)
inverse_sigmoid = elementwise("inverse_sigmoid", _logit)
binary_cross_entropy.gradient(
    x=lambda g, x, target: mul(g, binary_cross_entropy_slope(x, target)),
    target=lambda g, x: mul(g, inverse_sigmoid(x)),
)
binary_cross_entropy.checked(
    lambda x, target: (~jnp.all((x >= 0) & (x <= 1)), jnp.zeros((), jnp.int64)),
    lambda value, attributes, in_specs: RuntimeError(
        "all elements of input should be between 0 and 1"
    ),
)


def _binary_cross_entropy_with_logits(x, target, positive_weight):
    wrong = _softplus(-x)
    return positive_weight * target * wrong + (1 - target) * (x + wrong)


binary_cross_entropy_with_logits = elementwise(
    "binary_cross_entropy_with_logits",
    _binary_cross_entropy_with_logits,
    "x target positive_weight",
    real_only=True,
    precision=Precision.FULL,
)


def _kl_div(x, target):
    positive = target > 0
    entropy = jnp.where(positive, target * jnp.log(jnp.where(positive, target, 1)), 0)
    # Negative targets count as none, as OneFlow documents.
    return jnp.where(target < 0, 0, entropy - target * x)


kl_div = elementwise("kl_div", _kl_div, "x target", real_only=True, precision=Precision.FULL)
kl_div_log = elementwise(
    "kl_div_log",
    lambda x, target: jnp.exp(target) * (target - x),
    "x target",
    real_only=True,
    precision=Precision.FULL,
)


def _log_factorial(target):
    """Stirling's approximation of ``log(target!)``; 0 up to 1."""
    large = target > 1
    safe = jnp.where(large, target, 1)
    return jnp.where(large, safe * jnp.log(safe) - safe + 0.5 * jnp.log(2 * math.pi * safe), 0)


def _poisson_nll(x, target, eps, *, log_input: bool, full: bool):
    loss = jnp.exp(x) - target * x if log_input else x - target * jnp.log(x + eps)
    return loss + _log_factorial(target) if full else loss


poisson_nll = primitive("poisson_nll", _poisson_nll, elementwise=True, precision=Precision.FULL)


def _gaussian_nll(x, target, variance, eps):
    # The limit on the variance does not stop its gradient.
    limited = variance + lax.stop_gradient(jnp.maximum(variance, eps) - variance)
    return 0.5 * (jnp.log(limited) + jnp.square(x - target) / limited)


gaussian_nll = elementwise(
    "gaussian_nll",
    _gaussian_nll,
    "x target variance eps",
    real_only=True,
    precision=Precision.FULL_OFF_CPU,
)
gaussian_nll.checked(
    lambda x, target, variance, eps: (jnp.any(variance < 0), jnp.zeros((), jnp.int64)),
    lambda value, attributes, in_specs: ValueError("var has negative entry/entries"),
)

# --- of pairs and triples of samples


def _margin_ranking(x, y, target, margin):
    return _hinge(-target * (x - y) + margin)


def _hinge_embedding(x, target, margin):
    return jnp.where(target != 1, _hinge(margin - x), 0) + jnp.where(target != -1, x, 0)


margin_ranking = elementwise(
    "margin_ranking", _margin_ranking, "x y target margin", real_only=True, precision=Precision.FULL
)
hinge_embedding = elementwise(
    "hinge_embedding",
    _hinge_embedding,
    "x target margin",
    real_only=True,
    precision=Precision.FULL,
)


def _cosine_embedding(x, y, target, margin):
    tiny, dtype = 1e-12, x.dtype
    x, y = wide(x), wide(y)
    squares = (jnp.sum(x * x, -1) + tiny) * (jnp.sum(y * y, -1) + tiny)
    cosine = jnp.sum(x * y, -1) / jnp.sqrt(squares)
    different = jnp.where(target == -1, _hinge(cosine - margin), 0)
    return as_type(jnp.where(target == 1, 1 - cosine, 0) + different, dtype)


cosine_embedding = primitive(
    "cosine_embedding",
    _cosine_embedding,
    axes="... _, ... _, ..., -> ...",
    real_only=True,
    precision=Precision.FULL,
)


def _triplet_margin(anchor, positive, negative, margin, eps, *, p: float, swap: bool):
    dtype = anchor.real.dtype
    anchor, positive, negative = wide(anchor), wide(positive), wide(negative)
    near = safe_norm(anchor - positive + eps, p, -1, False)
    negative_distance = safe_norm(anchor - negative + eps, p, -1, False)
    if swap:
        negative_distance = jnp.minimum(
            negative_distance, safe_norm(positive - negative + eps, p, -1, False)
        )
    return as_type(_hinge(margin.real + near - negative_distance), dtype)


triplet_margin = primitive(
    "triplet_margin", _triplet_margin, axes="... _, ... _, ... _ -> ...", precision=Precision.FULL
)

# --- of the classes of one sample: ``x[n, c]``


def _multi_margin(x, target, margin, *weight, p: int):
    classes = x.shape[-1]
    label_scores = jnp.take_along_axis(x, target[..., None], -1, mode="clip")
    others = lax.broadcasted_iota(target.dtype, x.shape, x.ndim - 1) != target[..., None]
    # The label's own is chosen away before the power, whose slope may be infinite.
    losses = kinks.above(jnp.where(others, margin - label_scores + x, -1), 0) ** p
    if weight:
        losses = losses * rows_at(weight[0], target)[..., None]
    return quotient(jnp.sum(jnp.where(others, losses, 0), -1), classes)


def _class_check(x, target, *rest, **attributes):
    bad = (target < 0) | (target >= x.shape[-1])
    bad_targets = jnp.where(bad, target, jnp.iinfo(target.dtype).min)
    return jnp.any(bad), jnp.max(bad_targets, initial=jnp.iinfo(target.dtype).min)


multi_margin = primitive(
    "multi_margin",
    _multi_margin,
    axes="... _, ..., , _ -> ...",
    linear=("*weight",),
    real_only=True,
    precision=Precision.FULL,
)
multi_margin.checked(
    _class_check,
    lambda value, attributes, in_specs: RuntimeError(f"target out of range: {value}"),
)


def _multilabel_margin(x, target):
    # Labels end at the first -1; every label is compared with every class that is none.
    classes = x.shape[-1]
    valid = jnp.cumprod(target >= 0, -1).astype(bool)
    labels = jnp.where(valid, target, 0)
    is_label = jnp.any((labels[..., None] == jnp.arange(classes)) & valid[..., None], -2)
    label_scores = jnp.take_along_axis(x, labels, -1, mode="clip")
    losses = kinks.above(1 - (label_scores[..., :, None] - x[..., None, :]), 0)
    pairs = valid[..., :, None] & ~is_label[..., None, :]
    return quotient(jnp.sum(jnp.where(pairs, losses, 0), (-2, -1)), classes)


multilabel_margin = primitive(
    "multilabel_margin",
    _multilabel_margin,
    axes="... _, ... _ -> ...",
    real_only=True,
    precision=Precision.FULL,
)


def _multilabel_soft_margin(x, target, *weight):
    losses = target * _softplus(-x) + (1 - target) * _softplus(x)
    return quotient(jnp.sum(losses * weight[0] if weight else losses, -1), x.shape[-1])


multilabel_soft_margin = primitive(
    "multilabel_soft_margin",
    _multilabel_soft_margin,
    axes="... _, ... _, ... _ -> ...",
    linear=("*weight",),
    real_only=True,
    precision=Precision.FULL_OFF_CPU,
)


def _combined_margin(x, target, m1, m2, m3):
    label_scores = lax.broadcasted_iota(target.dtype, x.shape, x.ndim - 1) == target[..., None]
    angle = jnp.arccos(jnp.where(label_scores, x, 0))
    return jnp.where(label_scores, jnp.cos(m1 * angle + m2) - m3, x)


combined_margin = primitive(
    "combined_margin", _combined_margin, axes="... _, ... -> ... _", precision=Precision.FULL
)
combined_margin.checked(
    _class_check,
    lambda value, attributes, in_specs: IndexError(f"Target {value} is out of bounds."),
)
