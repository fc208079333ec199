"""Names of earlier versions of flowvision, which programs call."""

from __future__ import annotations

import pytest
from PIL import Image

import oneflow as flow
from flowvision import layers
from flowvision.transforms import functional, functional_pil, functional_tensor


@pytest.mark.parametrize("module", [functional, functional_pil])
def test_images_of_pillow(module):
    image = Image.new("RGB", (4, 3))
    assert module._is_pil_image(image)
    assert not module._is_pil_image(flow.ones(3, 3, 4))
    assert module._get_image_size(image) == [4, 3]


@pytest.mark.parametrize("module", [functional, functional_tensor])
def test_images_that_are_tensors(module):
    assert module._get_image_size(flow.ones(3, 3, 4)) == [4, 3]


def test_modules_of_layers():
    assert layers.boxes.nms is layers.nms
    assert layers.misc.FrozenBatchNorm2d is layers.FrozenBatchNorm2d
