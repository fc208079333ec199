"""Boxes in images."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from oneflow.primitives.operators import loops
from oneflow.primitives.registry import primitive


def _nms(boxes, scores, iou_threshold, keep_n):
    count = boxes.shape[0]
    order = jnp.argsort(scores, stable=True, descending=True)
    if not count:
        return order, jnp.ones(0, bool)
    left, top, right, low = boxes[order].T
    area = (right - left) * (low - top)
    positions = jnp.arange(count, dtype=jnp.int32)
    most = jnp.where(keep_n < 0, count, keep_n).astype(jnp.int32)

    def cond(state):
        index, taken, _ = state
        return (index < count) & (taken < most)

    def body(state):
        index, taken, kept = state
        width = jnp.minimum(right, right[index]) - jnp.maximum(left, left[index])
        height = jnp.minimum(low, low[index]) - jnp.maximum(top, top[index])
        common = jnp.maximum(width, 0) * jnp.maximum(height, 0)
        overlap = common / (area + area[index] - common)
        later = positions > index
        kept = kept & ~(later & (overlap > iou_threshold.astype(boxes.dtype)))
        # Only boxes that are kept suppress others, so that the loop goes from one to the next.
        return jnp.min(jnp.where(kept & later, positions, count)), taken + 1, kept

    start = jnp.int32(0), jnp.int32(0), jnp.ones(count, bool)
    end, _, kept = loops.while_loop(cond, body, start)
    return order, kept & (positions < end)


# The boxes by falling score, and which of them no better kept box overlaps too much; only the first
# `keep_n` of those unless it is negative.
nms_mask = primitive(
    "nms_mask",
    _nms,
    scalar={"iou_threshold": "float64", "keep_n": "int64"},
    differentiable=False,
)
