"""Detectors small enough to train in a test."""

from __future__ import annotations

import oneflow as flow
from flowvision.layers.blocks import MultiScaleRoIAlign
from flowvision.models import detection
from flowvision.models.detection.anchor_utils import AnchorGenerator, DefaultBoxGenerator
from flowvision.models.detection.faster_rcnn import FastRCNNPredictor
from flowvision.models.detection.mask_rcnn import MaskRCNNHeads, MaskRCNNPredictor
from flowvision.models.detection.ssd import SSDHead

KINDS = ["faster_rcnn", "mask_rcnn", "retinanet", "fcos", "ssd"]
_CLASSES = 3


class TinyBackbone(flow.nn.Module):
    """Features of one size: a stride of 8."""

    out_channels = 8

    def __init__(self) -> None:
        super().__init__()
        self.conv = flow.nn.Conv2d(3, 8, 8, stride=8)

    def forward(self, x: flow.Tensor) -> dict[str, flow.Tensor]:
        return {"0": self.conv(x)}


def tiny_detector(kind: str) -> flow.nn.Module:
    """A detector of one of the `KINDS`, of two classes besides the background."""
    sizes = {"min_size": 64, "max_size": 96}
    anchors = AnchorGenerator(((16, 32),), ((1.0,),))
    pools = {
        "rpn_anchor_generator": anchors,
        "box_roi_pool": MultiScaleRoIAlign(["0"], 7, 2),
    }
    backbone = TinyBackbone()
    if kind == "faster_rcnn":
        return detection.FasterRCNN(backbone, _CLASSES, **sizes, **pools)
    if kind == "mask_rcnn":
        pools["mask_roi_pool"] = MultiScaleRoIAlign(["0"], 7, 2)
        pools["mask_head"] = MaskRCNNHeads(8, (8,), 1)
        pools["mask_predictor"] = MaskRCNNPredictor(8, 8, _CLASSES)
        pools["box_predictor"] = FastRCNNPredictor(1024, _CLASSES)
        return detection.MaskRCNN(backbone, **sizes, **pools)
    if kind == "retinanet":
        return detection.RetinaNet(backbone, _CLASSES, anchor_generator=anchors, **sizes)
    if kind == "fcos":
        one = AnchorGenerator(((8,),), ((1.0,),))
        head = detection.FCOSHead(8, 1, _CLASSES, num_convs=0)
        return detection.FCOS(backbone, _CLASSES, anchor_generator=one, head=head, **sizes)
    boxes = DefaultBoxGenerator([[2]])
    return detection.SSD(backbone, boxes, (64, 64), _CLASSES, head=SSDHead([8], [4], _CLASSES))
