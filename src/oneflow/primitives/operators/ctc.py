"""Connectionist temporal classification (Graves et al., 2006).

A sequence of labels is extended by blanks around each of them; `alpha[s]` is the logarithm of the
probability of all ways to have come to position `s` of that after some steps.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from oneflow.primitives.operators import kinks, loops
from oneflow.primitives.registry import primitive
from oneflow.primitives.traits import Precision

# The number in place of the logarithm of 0: finite, so that differences of two of them are no NaN.
_LOG_ZERO = -1e30


def _extended(targets, blank: int):
    """Labels with blanks around them, and where two labels may follow without a blank between.

    Two blanks never do, unless one is a label of its own: PyTorch and OneFlow count it as a label.
    """
    batch, count = targets.shape
    labels = jnp.full((batch, 2 * count + 1), blank, targets.dtype).at[:, 1::2].set(targets)
    before = jnp.pad(labels, ((0, 0), (2, 0)), constant_values=blank)[:, :-2]
    return labels, labels != before


def _shifted(alpha, by: int):
    return jnp.pad(alpha, ((0, 0), (by, 0)), constant_values=_LOG_ZERO)[:, : alpha.shape[1]]


def _sum_of_three(a, b, c):
    top = lax.stop_gradient(jnp.maximum(jnp.maximum(a, b), c))
    return top + jnp.log(jnp.exp(a - top) + jnp.exp(b - top) + jnp.exp(c - top))


def _losses(log_probs, targets, input_lengths, target_lengths, blank: int):
    """Negative log likelihood of each sample; infinite where no alignment is long enough."""
    labels, skips = _extended(targets, blank)
    label_log_probs = jnp.take_along_axis(log_probs, labels[None].astype(jnp.int32), 2, mode="clip")
    label_log_probs = kinks.at_least(label_log_probs, _LOG_ZERO)
    position = jnp.arange(labels.shape[1])
    is_start = (position < 2) & (position <= 2 * target_lengths[:, None])
    # Without a step only the empty sequence is possible.
    first = jnp.where((input_lengths > 0)[:, None], label_log_probs[0], 0)
    start = jnp.where(is_start & ((position == 0) | (input_lengths > 0)[:, None]), first, _LOG_ZERO)

    def body(alpha, inputs):
        time, log_prob = inputs
        skipped = jnp.where(skips, _shifted(alpha, 2), _LOG_ZERO)
        new = log_prob + _sum_of_three(alpha, _shifted(alpha, 1), skipped)
        alpha = jnp.where((time < input_lengths)[:, None], kinks.at_least(new, _LOG_ZERO), alpha)
        return alpha, None

    times = jnp.arange(1, log_probs.shape[0])
    alpha, _ = loops.scan(body, start, (times, label_log_probs[1:]))
    ends = jnp.stack([2 * target_lengths, jnp.maximum(2 * target_lengths - 1, 0)], 1)
    last = jnp.take_along_axis(alpha, ends, 1)
    last = jnp.where((target_lengths == 0)[:, None] & jnp.array([False, True]), _LOG_ZERO, last)
    total = jnp.logaddexp(last[:, 0], last[:, 1])
    return jnp.where(total < _LOG_ZERO / 2, jnp.inf, -total)


def _ctc(log_probs, targets, input_lengths, target_lengths, *, blank: int, zero_infinity: bool):
    losses = _losses(log_probs, targets, input_lengths, target_lengths, blank)
    return jnp.where(jnp.isinf(losses), 0, losses) if zero_infinity else losses


def _ctc_backward(
    g, log_probs, targets, input_lengths, target_lengths, *, blank: int, zero_infinity: bool
):
    """PyTorch's gradient: as if a log-softmax came before, so it has the probabilities added."""
    losses, vjp = jax.vjp(
        lambda x: _losses(x, targets, input_lengths, target_lengths, blank), log_probs
    )
    finite_grad = jnp.where(jnp.isinf(losses), 0, g)
    (slopes,) = vjp(finite_grad)
    alive = jnp.arange(log_probs.shape[0])[:, None] < input_lengths
    probabilities = jnp.where(alive, finite_grad, 0)[..., None] * jnp.exp(log_probs)
    grads = slopes + probabilities
    without_gradient = jnp.isnan(losses) if zero_infinity else ~jnp.isfinite(losses)
    return jnp.where((without_gradient & alive)[..., None], jnp.nan, grads)


ctc = primitive("ctc", _ctc, axes="_ n _, n _, n, n -> n", real_only=True, precision=Precision.FULL)
ctc_backward = primitive(
    "ctc_backward", _ctc_backward, axes="n, _ n _, n _, n, n -> _ n _", linear=("g",)
)


def _ctc_gradient(g, log_probs, targets, input_lengths, target_lengths, blank, zero_infinity):
    operands = (log_probs, targets, input_lengths, target_lengths)
    grad = ctc_backward(g, *operands, blank=blank, zero_infinity=zero_infinity)
    return [grad, None, None, None]


ctc.gradient(_ctc_gradient)


def _greedy(log_probs, input_lengths, *, merge_repeated: bool):
    """The most likely label of every step, without blanks (0) and repetitions, and its cost."""
    steps = log_probs.shape[0]
    best = jnp.argmax(log_probs, 2).T
    alive = jnp.arange(steps) < input_lengths[:, None]
    before = jnp.pad(best, ((0, 0), (1, 0)), constant_values=-1)[:, :-1]
    is_token = alive & (best != 0)
    if merge_repeated:
        is_token = is_token & (best != before)
    order = jnp.argsort(~is_token, axis=1, stable=True)
    count = jnp.sum(is_token, 1, keepdims=True)
    tokens = jnp.where(jnp.arange(steps) < count, jnp.take_along_axis(best, order, 1), 0)
    score = jnp.sum(jnp.where(alive, jnp.max(log_probs, 2).T, 0), 1, keepdims=True)
    return tokens.astype(jnp.int64), -score


ctc_greedy_decoder = primitive(
    "ctc_greedy_decoder", _greedy, axes="_ n _, n -> n _, n _", differentiable=False
)
