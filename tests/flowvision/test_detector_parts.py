"""Losses of heads, and what detectors make of predictions, against torchvision's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import oneflow as flow
from flowvision.models import detection
from tests.flowvision.detectors import tiny_detector
from tests.flowvision.torchvision_operators import torchvision

reference = torchvision.models.detection
_LEVELS = (12, 6)
_SHAPES = [(64, 64), (48, 64)]
_TARGETS = [
    {"boxes": np.array([[4, 4, 20, 30], [30, 8, 60, 50]], np.float32), "labels": np.array([1, 2])},
    {"boxes": np.zeros((0, 4), np.float32), "labels": np.zeros(0, np.int64)},
]
_MATCHES = [np.array([0, 1, -1, -2, *([-1] * 13), 1]), np.full(18, -1)]


def _predictions(kind: str) -> dict[str, np.ndarray]:
    random = np.random.default_rng(3)
    columns = {"cls_logits": 3, "bbox_regression": 4}
    if kind == "fcos":
        columns["bbox_ctrness"] = 1
    outputs = {
        name: random.normal(size=(2, sum(_LEVELS), count)).astype(np.float32)
        for name, count in columns.items()
    }
    if kind == "fcos":
        outputs["bbox_regression"] = np.abs(outputs["bbox_regression"])
    return outputs


def _anchors() -> np.ndarray:
    corners = np.random.default_rng(4).uniform(0, 40, (2, sum(_LEVELS), 2)).astype(np.float32)
    # The centres of those with a match are inside of the objects.
    corners[0, [0, 1, 17]] = [[4, 8], [40, 20], [44, 16]]
    return np.concatenate([corners, corners + np.float32(16)], 2)


def _as(lib: Any, value: Any) -> Any:
    """The same lists and dicts with tensors of a library instead of arrays."""
    if isinstance(value, dict):
        return {name: _as(lib, part) for name, part in value.items()}
    return [_as(lib, part) for part in value] if isinstance(value, list) else lib.tensor(value)


@pytest.mark.parametrize("kind", ["retinanet", "fcos"])
def test_losses_of_heads(kind: str) -> None:
    make = {"retinanet": "RetinaNetHead", "fcos": "FCOSHead"}[kind]
    ours, theirs = (getattr(lib, kind).__dict__[make] for lib in (detection, reference))
    arguments = (_TARGETS, _predictions(kind), list(_anchors()), _MATCHES)
    found = ours(32, 1, 3).compute_loss(*(_as(flow, argument) for argument in arguments))
    wanted = theirs(32, 1, 3).compute_loss(*(_as(torch, argument) for argument in arguments))
    assert set(found) == set(wanted)
    for name, value in wanted.items():
        np.testing.assert_allclose(found[name].numpy(), value.numpy(), rtol=1e-5)


class _Backbone(torch.nn.Module):
    out_channels = 32


def _theirs(kind: str) -> torch.nn.Module:
    if kind == "ssd":
        boxes = reference.anchor_utils.DefaultBoxGenerator([[2]])
        head = reference.ssd.SSDHead([8], [4], 3)
        return reference.ssd.SSD(_Backbone(), boxes, (64, 64), 3, head=head)
    anchors = reference.anchor_utils.AnchorGenerator(((8,),), ((1.0,),))
    architecture = {"retinanet": reference.RetinaNet, "fcos": reference.FCOS}[kind]
    return architecture(_Backbone(), 3, anchor_generator=anchors)


@pytest.mark.parametrize("kind", ["retinanet", "fcos", "ssd"])
def test_detections_of_predictions(kind: str) -> None:
    outputs: dict[str, Any] = _predictions(kind)
    anchors: list[Any] = list(_anchors())
    if kind != "ssd":  # whose predictions are not apart by level
        outputs = {name: np.split(output, _LEVELS[:1], 1) for name, output in outputs.items()}
        anchors = [np.split(anchor, _LEVELS[:1]) for anchor in anchors]
    ours, theirs = tiny_detector(kind), _theirs(kind)
    found = ours.postprocess_detections(_as(flow, outputs), _as(flow, anchors), _SHAPES)
    wanted = theirs.postprocess_detections(_as(torch, outputs), _as(torch, anchors), _SHAPES)
    assert sum(len(detections["boxes"]) for detections in wanted) > 4
    for one, other in zip(found, wanted, strict=True):
        for name, value in other.items():
            np.testing.assert_allclose(one[name].numpy(), value.numpy(), rtol=1e-4, atol=1e-4)
