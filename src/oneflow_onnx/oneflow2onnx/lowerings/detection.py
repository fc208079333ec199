"""Boxes."""

from __future__ import annotations

import numpy as np

from oneflow_onnx.oneflow2onnx import operators as o
from oneflow_onnx.oneflow2onnx.builder import INT64, OnnxBuilder
from oneflow_onnx.oneflow2onnx.lowering import Call, Unsupported, lowering
from oneflow_onnx.oneflow2onnx.lowerings.ordering import ordered
from oneflow_onnx.oneflow2onnx.reference import Ref
from oneflow_onnx.oneflow2onnx.schemas import NeedsOpset

BOOL = np.dtype(bool)


@lowering("nms_mask")
def _nms_mask(b: OnnxBuilder, call: Call) -> tuple[Ref, Ref]:
    """The order of the boxes; those that `NonMaxSuppression` selects are true in a mask."""
    boxes, scores, threshold, most = call.operands
    if threshold.number is None or most.number is None:
        raise Unsupported("a threshold that is no constant")
    (count,) = scores.shape
    _, order = ordered(b, scores, count, 0, largest=True)
    limit = b.sizes([count]) if most.number < 0 else b.integers(int(most.number))
    selected = b.op(
        "NonMaxSuppression",
        o.unsqueeze(b, b.cast(boxes, np.float32), [0]),
        o.unsqueeze(b, b.cast(scores, np.float32), [0, 1]),
        limit,
        b.constant(np.float32(threshold.number)),
        # The number of rows depends on values: the last of the columns is read.
        shape=(count, 3),
        dtype=INT64,
    )
    box_numbers = o.reshape(b, o.slice_(b, selected, [1], [2], [1]), (-1,))
    zeros = o.filled(b, [count], 0, INT64)
    ones = b.op("Add", b.op("Mul", box_numbers, b.constant(0)), b.constant(1))
    mask = o.scatter_elements(b, zeros, box_numbers, ones, 0)
    return order, b.cast(o.gather(b, mask, order, 0), BOOL)


@lowering("roi_align")
def _roi_align(b: OnnxBuilder, call: Call) -> Ref:
    x, rois, scale = call.operands
    if scale.number is None:
        raise Unsupported("a scale that is no constant")
    if call["aligned"] and b.opset < 16:
        raise NeedsOpset(16, "`RoiAlign` whose coordinates are of corners")
    options = {}
    if b.opset >= 16:
        mode = "half_pixel" if call["aligned"] else "output_half_pixel"
        options["coordinate_transformation_mode"] = mode
    image = o.gather(b, rois, b.constant(np.int64(0)), 1)
    return b.op(
        "RoiAlign",
        x,
        o.slice_(b, rois, [1], [1], [4]),
        b.cast(image, INT64),
        shape=call.result.shape,
        output_height=call["pooled_h"],
        output_width=call["pooled_w"],
        sampling_ratio=max(call["sampling_ratio"], 0),
        spatial_scale=scale.number,
        **options,
    )
