"""torchvision with non-maximum suppression in plain PyTorch, so that its detectors run.

Builds of torchvision may lack the library with its operators. What takes them from here must import
`torchvision` from here, too: without its declarations it cannot be imported then.
"""

from __future__ import annotations

import importlib
import inspect
import sys

import torch

import tests.flowvision.zoo  # noqa: F401  (declares the operators)

torchvision = importlib.import_module("torchvision")


def _nms(dets: torch.Tensor, scores: torch.Tensor, iou_threshold: float) -> torch.Tensor:
    """The boxes in order, each unless a kept one overlaps it too much."""
    order = scores.argsort(descending=True, stable=True)
    overlaps = torchvision.ops.box_iou(dets[order], dets[order]) > iou_threshold
    kept = torch.ones(len(order), dtype=torch.bool)
    for index in range(len(order)):
        if kept[index]:
            kept[index + 1 :] &= ~overlaps[index, index + 1 :]
    return order[kept]


if not torchvision.extension._has_ops():
    torch.library.impl("torchvision::nms", "CPU", _nms)
    # Asked before the operator is called.
    torchvision.ops.boxes._assert_has_ops = lambda: None
    # Without operators RoIAlign is computed in Python, by default in compiled Python.
    _roi_align = sys.modules["torchvision.ops.roi_align"]
    _roi_align._roi_align = inspect.unwrap(_roi_align._roi_align)
