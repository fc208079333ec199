"""Checks and formats of boxes under the names of the layers; see `flowvision.ops`."""

from flowvision.ops._utils import (
    check_roi_boxes_shape as check_roi_boxes_shape,
    convert_boxes_to_roi_format as convert_boxes_to_roi_format,
)
