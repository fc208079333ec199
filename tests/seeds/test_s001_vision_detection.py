"""Seed rows 001-77 to 001-87 and 001-104: detection, segmentation, style transfer, the pooler."""

import numpy as np
import pytest

import oneflow as flow
from flowvision import models
from flowvision.layers.blocks import MultiScaleRoIAlign
from flowvision.models.detection.anchor_utils import AnchorGenerator
from flowvision.models.registry import find_model

# Detectors take images of 800 pixels by default; smaller ones show the same.
_SMALL = {"min_size": 64, "max_size": 96}


def check_detector(name, losses, **options):
    model = getattr(models.detection, name)(pretrained=False, pretrained_backbone=False, **options)
    with flow.no_grad():
        (found,) = model.eval()([flow.rand(3, 64, 64)])
    assert {"boxes", "labels", "scores"} <= set(found)
    assert found["boxes"].shape == (len(found["scores"]), 4)
    assert len(found["labels"]) == len(found["scores"])
    target = {"boxes": flow.tensor([[8.0, 8, 40, 48]]), "labels": flow.tensor([1])}
    actual = model.train()([flow.rand(3, 64, 64), flow.rand(3, 64, 64)], [target, target])
    assert set(actual) == losses
    assert np.isfinite(sum(actual.values()).item())


def check_registered(*names):
    assert [find_model(name).name for name in names] == list(names)


def test_s001_77_ssd():
    model = models.detection.ssd300_vgg16(pretrained=False, pretrained_backbone=False).eval()
    with flow.no_grad():
        (found,) = model([flow.rand(3, 300, 300)])
    assert {"boxes", "labels", "scores"} <= set(found)


@pytest.mark.large
def test_s001_78_ssdlite():
    check_detector("ssdlite320_mobilenet_v3_large", {"bbox_regression", "classification"})


def test_s001_79_faster_rcnn():
    names = (
        "fasterrcnn_resnet50_fpn",
        "fasterrcnn_mobilenet_v3_large_320_fpn",
        "fasterrcnn_mobilenet_v3_large_fpn",
    )
    check_registered(*names)
    losses = {"loss_classifier", "loss_box_reg", "loss_objectness", "loss_rpn_box_reg"}
    check_detector(names[1], losses, **_SMALL)


def test_s001_80_retinanet():
    anchors = AnchorGenerator(((16,), (32,), (64,), (128,), (256,)), ((1.0,),) * 5)
    check_detector(
        "retinanet_resnet50_fpn",
        {"bbox_regression", "classification"},
        anchor_generator=anchors,
        **_SMALL,
    )


@pytest.mark.parametrize("name", ["fcn_resnet50_coco"])
def test_s001_81_fcn(name):
    check_registered("fcn_resnet50_coco", "fcn_resnet101_coco")
    model = models.ModelCreator.create_model(name).eval()
    assert model(flow.ones(1, 3, 64, 64))["out"].shape == (1, 21, 64, 64)


def test_s001_82_deeplabv3():
    check_registered("deeplabv3_resnet50_coco", "deeplabv3_resnet101_coco")
    model = models.ModelCreator.create_model("deeplabv3_mobilenet_v3_large_coco").eval()
    assert model(flow.ones(1, 3, 64, 64))["out"].shape == (1, 21, 64, 64)


@pytest.mark.parametrize(
    "style",
    [
        pytest.param("sketch", id="s001_83"),
        pytest.param("candy", id="s001_84"),
        pytest.param("mosaic", id="s001_85"),
        pytest.param("rain_princess", id="s001_86"),
        pytest.param("undie", id="s001_87"),
    ],
)
def test_style(style):
    model = models.neural_style_transfer(pretrained=False, style_model=style)
    assert model(flow.rand(1, 3, 64, 64)).shape == (1, 3, 64, 64)


def test_s001_104_pooler():
    pool = MultiScaleRoIAlign(["0"], 7, 2)
    boxes = flow.tensor([[0.0, 0, 20, 20], [5, 5, 30, 30]])
    assert pool({"0": flow.rand(1, 5, 8, 8)}, [boxes], [(32, 32)]).shape == (2, 5, 7, 7)
