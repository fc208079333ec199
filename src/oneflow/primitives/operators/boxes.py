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
    zero = jnp.zeros_like(left)
    threshold = iou_threshold.astype(boxes.dtype)
    positions = jnp.arange(count, dtype=jnp.int32)
    padding = jnp.full_like(positions, count)
    most = jnp.where(keep_n < 0, count, keep_n).astype(jnp.int32)

    def cond(state):
        index, taken, _ = state
        return (index < count) & (taken < most)

    def body(state):
        index, taken, is_kept = state
        # Interpreted, a pass costs by the number of its instructions.
        kept_left, kept_top, kept_right, kept_low, kept_area = (
            lax.dynamic_slice_in_dim(row, index, 1, allow_negative_indices=False)
            for row in (left, top, right, low, area)
        )
        width = jnp.minimum(right, kept_right) - jnp.maximum(left, kept_left)
        height = jnp.minimum(low, kept_low) - jnp.maximum(top, kept_top)
        common = lax.max(width, zero) * lax.max(height, zero)
        overlap = common / (area + kept_area - common)
        later = positions > index
        is_kept = is_kept & ~(later & (overlap > threshold))
        # Only boxes that are kept suppress others, so that the loop goes from one to the next.
        return jnp.min(lax.select(is_kept & later, positions, padding)), taken + 1, is_kept

    start = jnp.int32(0), jnp.int32(0), jnp.ones(count, bool)
    end, _, is_kept = loops.while_loop(cond, body, start)
    return order, is_kept & (positions < end)


# The boxes by falling score, and which of them no better kept box overlaps too much; only the first
# `keep_n` of those unless it is negative.
nms_mask = primitive(
    "nms_mask",
    _nms,
    scalar={"iou_threshold": "float64", "keep_n": "int64"},
    differentiable=False,
)
