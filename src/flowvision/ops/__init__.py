"""Operators of detectors: boxes, non-maximum suppression, features of rectangles."""

from flowvision.ops.boxes import (
    batched_nms as batched_nms,
    box_area as box_area,
    box_convert as box_convert,
    box_iou as box_iou,
    clip_boxes_to_image as clip_boxes_to_image,
    complete_box_iou as complete_box_iou,
    distance_box_iou as distance_box_iou,
    generalized_box_iou as generalized_box_iou,
    masks_to_boxes as masks_to_boxes,
    nms as nms,
    remove_small_boxes as remove_small_boxes,
)
from flowvision.ops.roi_align import (
    PSRoIAlign as PSRoIAlign,
    RoIAlign as RoIAlign,
    ps_roi_align as ps_roi_align,
    roi_align as roi_align,
)
