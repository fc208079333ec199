"""Boxes in images."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from oneflow.primitives.registry import primitive


def _nms(boxes, scores, iou_threshold):
    count = boxes.shape[0]
    order = jnp.argsort(scores, stable=True, descending=True)
    if not count:
        return order, jnp.ones(0, bool)
    left, top, right, low = boxes[order].T
    area = (right - left) * (low - top)

    def suppress(index, kept):
        width = jnp.minimum(right, right[index]) - jnp.maximum(left, left[index])
        height = jnp.minimum(low, low[index]) - jnp.maximum(top, top[index])
        common = jnp.maximum(width, 0) * jnp.maximum(height, 0)
        overlap = common / (area + area[index] - common)
        later = jnp.arange(count) > index
        return kept & ~(kept[index] & later & (overlap > iou_threshold.astype(boxes.dtype)))

    return order, lax.fori_loop(0, count, suppress, jnp.ones(count, bool))


# The boxes by falling score, and which of them no better kept box overlaps too much.
nms_mask = primitive(
    "nms_mask",
    _nms,
    scalar={"iou_threshold": "float64"},
    differentiable=False,
)
