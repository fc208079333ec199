"""Boxes and masks drawn into images, against torchvision."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest
import torch

import oneflow as flow
from flowvision import utils
from tests.flowvision.torchvision_operators import torchvision

BOXES = [[2.0, 3, 20, 15], [5, 5, 30, 25], [-4, 10, 12.5, 60]]
COLORS = ["red", (0, 255, 128), "#0000ff"]


def _image(kind: str) -> np.ndarray:
    pixels = np.random.default_rng(3).integers(0, 256, (3, 30, 40), np.uint8)
    if kind == "float":
        return (pixels / 255).astype(np.float32)
    return pixels[:1] if kind == "gray" else pixels


@pytest.mark.parametrize("kind", ["uint8", "float", "gray"])
@pytest.mark.parametrize("options", [{}, {"fill": True}, {"width": 3, "labels": ["a", "b", "c"]}])
def test_boxes_are_torchvisions(kind: str, options: dict[str, Any]) -> None:
    font = str(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf")
    if "labels" in options:
        options = {**options, "font": font, "font_size": 8}
    image = _image(kind)
    found = utils.draw_bounding_boxes(
        flow.tensor(image), flow.tensor(BOXES), colors=COLORS, **options
    )
    wanted = torchvision.utils.draw_bounding_boxes(
        torch.tensor(image), torch.tensor(BOXES), colors=COLORS, **options
    )
    assert found.dtype == (flow.float32 if kind == "float" else flow.uint8)
    np.testing.assert_allclose(found.numpy(), wanted.numpy(), atol=1e-6)


@pytest.mark.parametrize("kind", ["uint8", "float"])
@pytest.mark.parametrize("top", [15, 5])
def test_masks_are_torchvisions(kind: str, top: int) -> None:
    image = _image(kind)
    masks = np.zeros((2, 30, 40), bool)
    masks[0, :10, 5:20] = True
    masks[1, top:, 8:] = True
    found = utils.draw_segmentation_masks(
        flow.tensor(image), flow.tensor(masks), alpha=0.4, colors=COLORS[:2]
    )
    wanted = torchvision.utils.draw_segmentation_masks(
        torch.tensor(image), torch.tensor(masks), alpha=0.4, colors=COLORS[:2]
    )
    np.testing.assert_allclose(found.numpy(), wanted.numpy(), atol=1 if kind == "uint8" else 1e-6)


def test_without_masks_the_image_stays() -> None:
    image = flow.tensor(_image("uint8"))
    drawn = utils.draw_segmentation_masks(image, flow.zeros(0, 30, 40, dtype=flow.bool), 0.9)
    np.testing.assert_array_equal(drawn.numpy(), image.numpy())


def test_colors_differ_by_default() -> None:
    image, boxes = (
        flow.zeros(3, 9, 90),
        flow.tensor([[10.0 * n, 1, 10 * n + 5, 7] for n in range(9)]),
    )
    drawn = utils.draw_bounding_boxes(image, boxes).numpy()
    assert len({tuple(drawn[:, 1, 10 * n]) for n in range(9)}) == 9
    np.testing.assert_array_equal(
        utils.draw_bounding_boxes(image, flow.zeros(0, 4)).numpy(), image.numpy()
    )


@pytest.mark.parametrize(
    ("image", "boxes", "options", "message"),
    [
        (flow.zeros(4, 9, 9), BOXES, {}, r"\[1 or 3, H, W\]"),
        (flow.zeros(3, 9, 9, dtype=flow.int64), BOXES, {}, "uint8 or floating"),
        (flow.zeros(3, 9, 9), [[1.0, 2, 3]], {}, r"\[N, 4\]"),
        (flow.zeros(3, 9, 9), [[5.0, 2, 3, 4]], {}, "x1 <= x2"),
        (flow.zeros(3, 9, 9), [[float("nan"), 2, 3, 4]], {}, "NaN"),
        (flow.zeros(3, 9, 9), BOXES, {"labels": ["a"]}, "3 boxes, but 1 labels"),
        (flow.zeros(3, 9, 9), BOXES, {"colors": ["red"]}, "but 1 colors"),
    ],
)
def test_other_boxes_are_refused(
    image: flow.Tensor, boxes: list, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        utils.draw_bounding_boxes(image, flow.tensor(boxes), **options)


def test_other_images_and_masks_are_refused() -> None:
    with pytest.raises(TypeError, match="must be a tensor"):
        utils.draw_bounding_boxes(_image("uint8"), flow.tensor(BOXES))
    with pytest.raises(ValueError, match="must be bool"):
        utils.draw_segmentation_masks(flow.zeros(3, 4, 4), flow.zeros(4, 4))
    with pytest.raises(ValueError, match=r"\[4, 4\]"):
        utils.draw_segmentation_masks(flow.zeros(3, 4, 4), flow.zeros(3, 4, dtype=flow.bool))
