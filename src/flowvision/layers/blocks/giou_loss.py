"""The loss of boxes' overlap under the names of the layers; see `flowvision.ops`."""

from flowvision.ops.giou_loss import generalized_box_iou_loss as generalized_box_iou_loss
