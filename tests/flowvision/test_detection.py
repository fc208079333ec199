"""Detectors against torchvision's with the same weights: losses, gradients, detections."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest
import torch

import oneflow as flow
from flowvision.layers.blocks import LastLevelP6P7
from flowvision.models import detection
from flowvision.models.detection.anchor_utils import AnchorGenerator, DefaultBoxGenerator
from flowvision.models.detection.backbone_utils import resnet_fpn_backbone
from tests.flowvision.detectors import KINDS, TinyBackbone, tiny_detector
from tests.flowvision.torchvision_operators import torchvision

reference = torchvision.models.detection
# Large enough that random sampling takes all: then losses can be compared.
_TAKE_ALL = {"rpn_batch_size_per_image": 1_000_000, "box_batch_size_per_image": 1_000_000}
_FEW = {
    "rpn_pre_nms_top_n_train": 60,
    "rpn_post_nms_top_n_train": 40,
    "rpn_pre_nms_top_n_test": 60,
    "rpn_post_nms_top_n_test": 40,
    "box_score_thresh": 0.2,
}
_SIZES = {"min_size": 64, "max_size": 96}
_CLASSES = 4


def _faster(lib: Any, backbone: Any, extra: Any, anchors: Any) -> Any:
    return lib.FasterRCNN(backbone(), _CLASSES, **_SIZES, **_TAKE_ALL, **_FEW)


def _mask(lib: Any, backbone: Any, extra: Any, anchors: Any) -> Any:
    return lib.MaskRCNN(backbone(), _CLASSES, **_SIZES, **_TAKE_ALL, **_FEW)


def _retina(lib: Any, backbone: Any, extra: Any, anchors: Any) -> Any:
    body = backbone(returned_layers=[2, 3, 4], extra_blocks=extra(256, 256))
    sizes = tuple((16 * 2**level, 24 * 2**level) for level in range(5))
    generator = anchors(sizes, ((0.5, 1.0, 2.0),) * 5)
    return lib.RetinaNet(body, _CLASSES, anchor_generator=generator, score_thresh=0.01, **_SIZES)


def _fcos(lib: Any, backbone: Any, extra: Any, anchors: Any) -> Any:
    body = backbone(returned_layers=[2, 3, 4], extra_blocks=extra(256, 256))
    return lib.FCOS(body, _CLASSES, score_thresh=0.05, **_SIZES)


_DETECTORS = {"faster_rcnn": _faster, "mask_rcnn": _mask, "retinanet": _retina, "fcos": _fcos}


def _pair(build: Callable) -> tuple[flow.nn.Module, torch.nn.Module]:
    """Our detector and torchvision's, on a small backbone with the same calibrated weights."""
    torch.manual_seed(0)
    theirs = build(
        reference,
        functools.partial(
            reference.backbone_utils.resnet_fpn_backbone,
            backbone_name="resnet18",
            weights=None,
            norm_layer=torchvision.ops.FrozenBatchNorm2d,
            trainable_layers=5,
        ),
        torchvision.ops.feature_pyramid_network.LastLevelP6P7,
        reference.anchor_utils.AnchorGenerator,
    )
    ours = build(
        detection,
        functools.partial(resnet_fpn_backbone, "resnet18", trainable_layers=5),
        LastLevelP6P7,
        AnchorGenerator,
    )
    _make_talkative(theirs)
    _load(ours, theirs)
    return ours, theirs


def _make_talkative(model: torch.nn.Module) -> None:
    """Give the heads weights with which they find something; fresh ones say the same everywhere."""
    generator = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for module in model.modules():
            if isinstance(module, torchvision.ops.FrozenBatchNorm2d):
                module.running_var.fill_(2.0)
        for name, parameter in model.named_parameters():
            if name.startswith("backbone.body"):
                continue
            if name.endswith("weight") and parameter.ndim > 1:
                spread = 1.2 / parameter[0].numel() ** 0.5
                parameter.copy_(spread * torch.randn(parameter.shape, generator=generator))
            elif name.endswith("bias"):
                parameter.copy_(0.1 * torch.randn(parameter.shape, generator=generator))


def _load(ours: flow.nn.Module, theirs: torch.nn.Module) -> None:
    state = {name: flow.tensor(value.numpy()) for name, value in theirs.state_dict().items()}
    ours.load_state_dict(state)


def _images() -> list[np.ndarray]:
    random = np.random.default_rng(5)
    coarse = [random.uniform(size=(3, 8, 10)), random.uniform(size=(3, 9, 8))]
    return [np.kron(mask, np.ones((1, 10, 10))).astype(np.float32) for mask in coarse]


def _targets() -> list[dict[str, np.ndarray]]:
    boxes = [
        np.array([[5, 8, 40, 50], [20, 30, 75, 70], [50, 5, 90, 35]], np.float32),
        np.array([[10, 10, 60, 80]], np.float32),
    ]
    masks = []
    for image, corners in zip(_images(), boxes, strict=True):
        mask = np.zeros((len(corners), *image.shape[1:]), np.uint8)
        for plane, (x1, y1, x2, y2) in zip(mask, corners.astype(int), strict=True):
            plane[y1 : y2 - 5, x1 + 3 : x2] = 1
        masks.append(mask)
    labels = [np.array([1, 3, 2]), np.array([2])]
    rows = zip(boxes, labels, masks, strict=True)
    return [{"boxes": a, "labels": b, "masks": c} for a, b, c in rows]


def _torch(rows: list[dict[str, np.ndarray]]) -> list[dict[str, torch.Tensor]]:
    return [{name: torch.tensor(value) for name, value in row.items()} for row in rows]


def _flow(rows: list[dict[str, np.ndarray]]) -> list[dict[str, flow.Tensor]]:
    return [{name: flow.tensor(value) for name, value in row.items()} for row in rows]


def _check_losses(ours: flow.nn.Module, theirs: torch.nn.Module, rows: list) -> None:
    ours.train()
    theirs.train()
    expected = theirs([torch.tensor(image) for image in _images()], _torch(rows))
    actual = ours([flow.tensor(image) for image in _images()], _flow(rows))
    assert set(actual) == set(expected)
    for name, loss in expected.items():
        np.testing.assert_allclose(actual[name].item(), loss.item(), rtol=2e-4, err_msg=name)
    sum(expected.values()).backward()
    sum(actual.values()).backward()
    gradients = {name: parameter.grad for name, parameter in ours.named_parameters()}
    compared = 0
    for (name, gradient), parameter in zip(
        gradients.items(), dict(theirs.named_parameters()).values(), strict=True
    ):
        if parameter.grad is not None and parameter.grad.abs().max() > 1e-4:
            assert gradient is not None, name
            wanted = parameter.grad.numpy()
            atol = 1e-2 * np.abs(wanted).max()
            np.testing.assert_allclose(gradient.numpy(), wanted, 0, atol, err_msg=name)
            compared += 1
    assert compared > 5


def _check_detections(ours: flow.nn.Module, theirs: torch.nn.Module) -> None:
    ours.eval()
    theirs.eval()
    with torch.no_grad(), flow.no_grad():
        expected = theirs([torch.tensor(image) for image in _images()])
        actual = ours([flow.tensor(image) for image in _images()])
    assert sum(len(detections["boxes"]) for detections in expected) > 3
    for found, wanted in zip(map(_by_label, actual), map(_by_label, expected), strict=True):
        assert set(found) == set(wanted)
        np.testing.assert_array_equal(found["labels"], wanted["labels"])
        np.testing.assert_allclose(found["scores"], wanted["scores"], atol=1e-4)
        np.testing.assert_allclose(found["boxes"], wanted["boxes"], atol=2e-2)
        if "masks" in wanted:
            np.testing.assert_allclose(found["masks"], wanted["masks"], atol=2e-3)


def _by_label(found: dict[str, Any]) -> dict[str, np.ndarray]:
    """The detections in an order that does not depend on almost equal scores of two classes."""
    arrays = {name: values.numpy() for name, values in found.items()}
    order = np.lexsort((arrays["scores"], arrays["labels"]))
    return {name: values[order] for name, values in arrays.items()}


@pytest.mark.one_in(4)
@pytest.mark.large
@pytest.mark.parametrize("name", _DETECTORS)
def test_equals_torchvision(name: str) -> None:
    ours, theirs = _pair(_DETECTORS[name])
    _check_detections(ours, theirs)
    _check_losses(ours, theirs, _targets())


def test_ssd_equals_torchvision() -> None:
    torch.manual_seed(0)
    theirs = reference.ssd.SSD(
        _TorchPyramid(),
        reference.anchor_utils.DefaultBoxGenerator([[2], [2, 3]]),
        (64, 64),
        _CLASSES,
        head=reference.ssd.SSDHead([8, 8], [4, 6], _CLASSES),
        score_thresh=0.3,
    )
    ours = detection.SSD(
        _Pyramid(), DefaultBoxGenerator([[2], [2, 3]]), (64, 64), _CLASSES, score_thresh=0.3
    )
    _make_talkative(theirs)
    _load(ours, theirs)
    _check_detections(ours, theirs)
    _check_losses(ours, theirs, _targets())


@pytest.mark.parametrize("name", ["ssd300_vgg16", "ssdlite320_mobilenet_v3_large"])
def test_published_ssd_equals_torchvision(name: str, exhaustive: bool) -> None:
    if not exhaustive:
        pytest.skip("a small SSD stands for them without --exhaustive")
    options = {"num_classes": _CLASSES}
    theirs = getattr(reference, name)(weights=None, weights_backbone=None, **options)
    ours = getattr(detection, name)(**options)
    _make_talkative(theirs)
    images = torch.randn(4, 3, 300, 300, generator=torch.Generator().manual_seed(0))
    norms = [module for module in theirs.modules() if isinstance(module, torch.nn.BatchNorm2d)]
    for norm in norms:
        norm.momentum = 1.0
    with torch.no_grad():
        theirs.head(list(theirs.backbone(images).values()))
    _load(ours, theirs)
    ours.eval()
    theirs.eval()
    with torch.no_grad(), flow.no_grad():
        wanted = theirs.head(list(theirs.backbone(images[:1]).values()))
        found = ours.head(list(ours.backbone(flow.tensor(images[:1].numpy())).values()))
    for key, values in wanted.items():
        atol = 1e-3 * values.abs().max().item()
        np.testing.assert_allclose(found[key].numpy(), values.numpy(), 0, atol, err_msg=key)


class _Pyramid(flow.nn.Module):
    """Features of two sizes."""

    out_channels: ClassVar = [8, 8]

    def __init__(self) -> None:
        super().__init__()
        self.first = flow.nn.Conv2d(3, 8, 8, stride=8)
        self.second = flow.nn.Conv2d(8, 8, 2, stride=2)

    def forward(self, x: flow.Tensor) -> dict[str, flow.Tensor]:
        x = self.first(x)
        return {"0": x, "1": self.second(x)}


class _TorchPyramid(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Conv2d(3, 8, 8, stride=8)
        self.second = torch.nn.Conv2d(8, 8, 2, stride=2)

    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        x = self.first(x)
        return {"0": x, "1": self.second(x)}


@pytest.mark.parametrize("name", KINDS)
def test_an_image_without_objects_has_finite_losses_and_gradients(name: str) -> None:
    model = tiny_detector(name).train()
    images = [flow.rand(3, 64, 64), flow.rand(3, 48, 64)]
    nothing = {"boxes": flow.zeros(0, 4), "labels": flow.zeros(0, dtype=flow.int64)}
    empty = [{**nothing, "masks": flow.zeros(0, *image.shape[1:])} for image in images]
    losses = model(images, empty)
    total = sum(losses.values())
    assert np.isfinite(total.item())
    total.backward()
    for parameter in model.parameters():
        assert parameter.grad is None or np.isfinite(parameter.grad.numpy()).all()


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", KINDS)
def test_training_lowers_the_losses(name: str) -> None:
    flow.manual_seed(0)
    model = tiny_detector(name).train()
    image = flow.rand(3, 64, 64)
    image[:, 16:48, 16:48] += 2.0
    target = {"boxes": flow.tensor([[16.0, 16, 48, 48]]), "labels": flow.tensor([1])}
    target["masks"] = (image[:1] > 1).to(flow.uint8)
    optimizer = flow.optim.AdamW(model.parameters(), lr=2e-3)
    totals = []
    for _ in range(8):
        losses = model([image], [target])
        total = sum(losses.values())
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        totals.append(total.item())
    assert totals[-1] < 0.98 * totals[0]


_BAD = {
    "no images": ([], [], "at least one image"),
    "no targets": (None, None, "`targets` must be given"),
    "too few targets": (None, [], "1 images, but 0 targets"),
    "no area": (None, [[5.0, 5, 5, 9]], r"positive width and height.*\[5.0, 5.0, 5.0, 9.0\]"),
    "NaN": (None, [[5.0, float("nan"), 9, 9]], "must be finite"),
    "infinite": (None, [[5.0, 5, float("inf"), 9]], "must be finite"),
    "wrong shape": (None, [[5.0, 5, 9]], r"must have shape \(n, 4\)"),
}


@pytest.mark.parametrize("case", _BAD)
def test_bad_input(case: str) -> None:
    images, boxes, message = _BAD[case]
    images = [flow.rand(3, 64, 64)] if images is None else images
    targets = boxes
    if boxes:
        targets = [{"boxes": flow.tensor(boxes), "labels": flow.tensor([1])}]
    with pytest.raises(ValueError, match=message):
        tiny_detector("retinanet").train()(images, targets)


def test_targets_without_labels_are_refused() -> None:
    with pytest.raises(ValueError, match=r"target 0 lacks \['labels'\]"):
        tiny_detector("retinanet").train()([flow.rand(3, 64, 64)], [{"boxes": flow.zeros(0, 4)}])


def test_images_of_integers_are_refused() -> None:
    model = tiny_detector("retinanet").eval()
    with pytest.raises(TypeError, match="divide by 255"):
        model([flow.ones(3, 64, 64, dtype=flow.uint8)])
    with pytest.raises(ValueError, match="channels, height, width"):
        model([flow.rand(64, 64)])


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("value", [0.5, float("nan")])
def test_nothing_found_is_empty(name: str, value: float) -> None:
    model = tiny_detector(name).eval()
    (model.roi_heads if "rcnn" in name else model).score_thresh = 1.0
    (found,) = model([flow.full((3, 64, 64), value)])
    assert found["boxes"].shape == (0, 4)
    assert found["labels"].dtype is flow.int64
    assert found["scores"].shape == (0,)


def test_wrong_arguments() -> None:
    with pytest.raises(TypeError, match="box_score"):
        detection.FasterRCNN(TinyBackbone(), 3, box_score=0.1)
    with pytest.raises(ValueError, match="num_classes"):
        detection.FasterRCNN(TinyBackbone())
    with pytest.raises(ValueError, match="out_channels"):
        detection.FasterRCNN(flow.nn.ReLU(), 3)
    with pytest.raises(ValueError, match="one anchor"):
        detection.FCOS(TinyBackbone(), 3, anchor_generator=AnchorGenerator(((8, 16),), ((1.0,),)))
