"""Turned, moved and tilted tensor images, pixel for pixel those of torchvision."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

import oneflow as flow
from flowvision.transforms import functional as F
from tests.flowvision import zoo  # noqa: F401 - lets torchvision be imported

torchvision = pytest.importorskip("torchvision")
TF = torchvision.transforms.functional

# Heights and widths: both even, both odd, one of each; PyTorch multiplies small matrices otherwise.
SIZES = [(20, 30), (21, 29), (21, 30), (58, 59), (26, 4), (4, 7), (1, 8), (1, 1)]


def _pair(height: int, width: int) -> tuple[flow.Tensor, torch.Tensor]:
    pixels = np.random.default_rng(width).integers(0, 256, (3, height, width), np.uint8)
    return flow.tensor(pixels), torch.tensor(pixels)


def _is_quarter_turn(
    found: np.ndarray, pixels: np.ndarray, turns: int, fill: tuple[int, ...]
) -> bool:
    """Return True if each pixel is one of those nearest to where it comes from.

    A position halfway between two has two of them; PyTorch's choice depends on the processor.
    """
    (_, height, width), (rows, columns) = pixels.shape, found.shape[1:]
    y, x = np.mgrid[:rows, :columns].astype(np.float64)
    y, x = y - (rows - 1) / 2, x - (columns - 1) / 2
    for _ in range(turns % 4):
        y, x = x, -y
    y, x = y + (height - 1) / 2, x + (width - 1) / 2
    framed = np.empty((3, height + 2, width + 2), np.uint8)
    framed[:] = np.array(fill).reshape(3, 1, 1)
    framed[:, 1:-1, 1:-1] = pixels
    is_nearest = np.zeros(found.shape, bool)
    for dy, dx in itertools.product((-0.01, 0.01), repeat=2):
        row = np.clip(np.rint(y + dy).astype(int) + 1, 0, height + 1)
        column = np.clip(np.rint(x + dx).astype(int) + 1, 0, width + 1)
        is_nearest |= found == framed[:, row, column]
    return bool(is_nearest.all())


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("angle", [90.0, 180.0, -90.0, 450.0, 33.0])
@pytest.mark.parametrize("expand", [False, True])
def test_rotate(size: tuple[int, int], angle: float, expand: bool) -> None:
    image, other = _pair(*size)
    found = F.rotate(image, angle, "nearest", expand=expand, fill=[1, 2, 3]).numpy()
    wanted = TF.rotate(other, angle, expand=expand, fill=[1, 2, 3]).numpy()
    if angle % 90 == 0:
        assert found.shape == wanted.shape
        assert _is_quarter_turn(found, image.numpy(), int(angle // 90), (1, 2, 3))
    else:
        np.testing.assert_array_equal(found, wanted)
    if expand and angle % 90 == 0 and (size[0] - size[1]) % 2 == 0:
        np.testing.assert_array_equal(found, np.rot90(image.numpy(), int(angle // 90), (1, 2)))


@pytest.mark.parametrize("size", SIZES)
def test_affine(size: tuple[int, int]) -> None:
    image, other = _pair(*size)
    turned = F.affine(image, 90.0, [0, 0], 1.0, [0.0, 0.0]).numpy()
    assert _is_quarter_turn(turned, image.numpy(), -1, (0, 0, 0))
    numbers = (-20.0, [3, -1], 1.5, [10.0, -5.0])
    found, wanted = F.affine(image, *numbers), TF.affine(other, *numbers)
    np.testing.assert_array_equal(found.numpy(), wanted.numpy())


def test_perspective() -> None:
    corners, moved = [[0, 0], [29, 0], [29, 20], [0, 20]], [[3, 2], [25, 0], [28, 18], [1, 16]]
    image, other = _pair(21, 30)
    found = F.perspective(image, corners, moved, "nearest")
    mode = torchvision.transforms.InterpolationMode.NEAREST
    wanted = TF.perspective(other, corners, moved, mode)
    np.testing.assert_array_equal(found.numpy(), wanted.numpy())


def test_a_position_between_two_pixels_has_one_nearest() -> None:
    """It is the same in every call, compiled or not."""

    class Turned(flow.nn.Graph):
        def build(self, image: flow.Tensor) -> flow.Tensor:
            return F.rotate(image, 90.0, "nearest", expand=True)

    image, graph = _pair(21, 30)[0], Turned()
    first = F.rotate(image, 90.0, "nearest", expand=True).numpy()
    for turned in (graph, graph, lambda x: F.rotate(x, 90.0, "nearest", expand=True)):
        np.testing.assert_array_equal(turned(image).numpy(), first)
