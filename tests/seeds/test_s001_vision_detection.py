"""Seed rows 001-77 to 001-87 and 001-104: detection, segmentation, style transfer, the pooler."""

import numpy as np
import pytest
import torch

import oneflow as flow
from flowvision import models
from flowvision.layers.blocks import MultiScaleRoIAlign
from flowvision.models.detection.anchor_utils import AnchorGenerator
from flowvision.models.registry import find_model
from tests.flowvision import test_detection
from tests.flowvision.torchvision_operators import torchvision
from tests.flowvision.zoo import (
    assert_equal_to_twin,
    assert_same_up_to_spread,
    load_from_torch,
)

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
    test_detection.test_ssd_equals_torchvision()


@pytest.mark.large
@pytest.mark.parametrize(
    "name",
    [
        pytest.param("faster_rcnn", id="s001_79"),
        pytest.param("retinanet", id="s001_80"),
    ],
)
def test_small_detector_equals_torchvisions(name):
    """Detections, losses and gradients with the same weights."""
    test_detection.test_equals_torchvision(name)


@pytest.mark.large
def test_s001_78_ssdlite():
    name = "ssdlite320_mobilenet_v3_large"
    check_detector(name, {"bbox_regression", "classification"})
    theirs = getattr(torchvision.models.detection, name)(weights=None, weights_backbone=None)
    ours = getattr(models.detection, name)(pretrained=False, pretrained_backbone=False)
    torch.manual_seed(0)
    image = torch.rand(1, 3, 320, 320)
    theirs.eval()
    load_from_torch(ours, theirs)
    features = list(theirs.backbone(image).values())
    wanted = theirs.head(features)
    with flow.no_grad():
        given = list(ours.eval().backbone(flow.tensor(image.numpy())).values())
        found = ours.head(given)
    for part, values in wanted.items():
        assert_same_up_to_spread(found[part], values, 1e-3)
    image_list = torchvision.models.detection.image_list.ImageList
    wanted = theirs.anchor_generator(image_list(image, [(320, 320)]), features)[0]
    images = models.detection.image_list.ImageList(flow.tensor(image.numpy()), [(512, 512)])
    boxes = ours.anchor_generator(images, given)[0]
    np.testing.assert_allclose(boxes.numpy(), wanted.numpy(), rtol=1e-4, atol=1e-3)


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


class Out(flow.nn.Module):
    """The scores of a segmentation model."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, x):
        return self.model(x)["out"]


class TorchOut(torch.nn.Module):
    """Likewise of torchvision's."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    forward = Out.forward


def check_segmentation(name, other, size):
    """The scores and gradients are torchvision's with the same weights."""
    check_registered(name, other)
    torch.manual_seed(0)
    options = {"weights": None, "weights_backbone": None}
    theirs = torchvision.models.get_model(name.removesuffix("_coco"), **options)
    ours = models.ModelCreator.create_model(name)
    images = torch.randn(2, 3, size, size)
    assert ours.eval()(flow.tensor(images.numpy()))["out"].shape == (2, 21, size, size)
    assert_equal_to_twin(Out(ours), TorchOut(theirs), images)


@pytest.mark.large
def test_s001_81_fcn():
    check_segmentation("fcn_resnet50_coco", "fcn_resnet101_coco", 32)


@pytest.mark.large
def test_s001_82_deeplabv3():
    check_registered("deeplabv3_resnet50_coco")
    check_segmentation("deeplabv3_mobilenet_v3_large_coco", "deeplabv3_resnet101_coco", 64)


def painted(state, x):
    """The picture that the network of fast neural style paints, from the paper."""
    f = torch.nn.functional

    def layer(x, conv, norm, stride=1, scale=1):
        weight, bias = state[f"{conv}.conv2d.weight"], state[f"{conv}.conv2d.bias"]
        x = f.interpolate(x, scale_factor=scale) if scale > 1 else x
        x = f.pad(x, (weight.shape[-1] // 2,) * 4, mode="reflect")
        x = f.conv2d(x, weight, bias, stride)
        if norm is None:
            return x
        return f.instance_norm(x, weight=state[f"{norm}.weight"], bias=state[f"{norm}.bias"])

    for number, stride in ((1, 1), (2, 2), (3, 2)):
        x = layer(x, f"conv{number}", f"in{number}", stride).relu()
    for block in (f"res{number}" for number in range(1, 6)):
        inner = layer(x, f"{block}.conv1", f"{block}.in1").relu()
        x = x + layer(inner, f"{block}.conv2", f"{block}.in2")
    x = layer(x, "deconv1", "in4", scale=2).relu()
    x = layer(x, "deconv2", "in5", scale=2).relu()
    return layer(x, "deconv3", None).clamp(0, 255)


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
    model.deconv3.conv2d.bias.data.fill_(100.0)  # within the range of pixels
    picture = torch.rand(1, 3, 32, 32) * 255
    result = model(flow.tensor(picture.numpy()))
    assert result.shape == (1, 3, 32, 32)
    state = {name: torch.tensor(tensor.numpy()) for name, tensor in model.state_dict().items()}
    assert_same_up_to_spread(result, painted(state, picture), 1e-3)


def test_s001_104_pooler():
    """Two feature maps: boxes are pooled from the one that fits their size, as in torchvision."""
    maps = {"0": flow.rand(1, 5, 64, 64), "1": flow.rand(1, 5, 32, 32)}
    boxes = np.float32([[0, 0, 20, 20], [5, 5, 300, 290]])
    pool = MultiScaleRoIAlign(["0", "1"], 7, 2)
    result = pool(maps, [flow.tensor(boxes)], [(512, 512)])
    assert result.shape == (2, 5, 7, 7)
    for place, (name, scale) in enumerate((("0", 1 / 8), ("1", 1 / 16))):
        rois = torch.tensor([[0, *boxes[place]]])
        wanted = torchvision.ops.roi_align(
            torch.tensor(maps[name].numpy()), rois, 7, scale, sampling_ratio=2
        )
        np.testing.assert_allclose(result.numpy()[place], wanted[0], rtol=1e-4, atol=1e-5)
