"""Operators of detectors: boxes, non-maximum suppression, features of rectangles."""

from flowvision.ops.boxes import (
    batched_nms as batched_nms,
    batched_nms_padded as batched_nms_padded,
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
from flowvision.ops.deform_conv import (
    DeformConv2d as DeformConv2d,
    deform_conv2d as deform_conv2d,
)
from flowvision.ops.feature_pyramid_network import (
    FeaturePyramidNetwork as FeaturePyramidNetwork,
)
from flowvision.ops.focal_loss import sigmoid_focal_loss as sigmoid_focal_loss
from flowvision.ops.giou_loss import (
    generalized_box_iou_loss as generalized_box_iou_loss,
)
from flowvision.ops.misc import FrozenBatchNorm2d as FrozenBatchNorm2d
from flowvision.ops.poolers import MultiScaleRoIAlign as MultiScaleRoIAlign
from flowvision.ops.roi_align import (
    PSRoIAlign as PSRoIAlign,
    RoIAlign as RoIAlign,
    ps_roi_align as ps_roi_align,
    roi_align as roi_align,
)
from flowvision.ops.roi_pool import RoIPool as RoIPool, roi_pool as roi_pool
from flowvision.ops.stochastic_depth import (
    StochasticDepth as StochasticDepth,
    stochastic_depth as stochastic_depth,
)
