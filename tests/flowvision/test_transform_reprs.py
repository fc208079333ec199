"""The reprs of transforms are those of torchvision."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch

import oneflow as flow
from flowvision import transforms
from tests.flowvision import zoo  # noqa: F401 - lets torchvision be imported

torchvision = pytest.importorskip("torchvision")

# Each makes a transform of either library, some with default and some with other options.
CASES: list[Callable[[ModuleType], Any]] = [
    lambda t: t.Compose([t.ToTensor(), t.Resize(3)]),
    lambda t: t.ToTensor(),
    lambda t: t.PILToTensor(),
    lambda t: t.ToPILImage(),
    lambda t: t.ToPILImage("L"),
    lambda t: t.Normalize([0.5], [0.2]),
    lambda t: t.Normalize((0.5,), (0.2,), inplace=True),
    lambda t: t.Resize(3),
    lambda t: t.Resize((3, 4), t.InterpolationMode.NEAREST),
    lambda t: t.Resize([3, 4], t.InterpolationMode.NEAREST, max_size=None),
    lambda t: t.Resize(3, max_size=8, antialias=None),
    lambda t: t.CenterCrop(3),
    lambda t: t.CenterCrop((3, 4)),
    lambda t: t.Pad(2),
    lambda t: t.Pad((1, 2), fill=(1, 2, 3), padding_mode="constant"),
    lambda t: t.Lambda(len),
    lambda t: t.RandomApply([t.ToTensor()], p=0.3),
    lambda t: t.RandomChoice([t.ToTensor(), t.Resize(3)]),
    lambda t: t.RandomChoice([t.ToTensor(), t.Resize(3)], p=[1, 2]),
    lambda t: t.RandomOrder([t.ToTensor(), t.Resize(3)]),
    lambda t: t.RandomCrop(3),
    lambda t: t.RandomCrop((3, 4), padding=2, pad_if_needed=True, fill=1, padding_mode="edge"),
    lambda t: t.RandomHorizontalFlip(0.3),
    lambda t: t.RandomVerticalFlip(),
    lambda t: t.RandomPerspective(),
    lambda t: t.RandomPerspective(0.3, 0.2, t.InterpolationMode.NEAREST, fill=(1, 2, 3)),
    lambda t: t.RandomResizedCrop(3),
    lambda t: t.RandomResizedCrop(
        (3, 4), (0.1, 1), (0.7, 1.3), t.InterpolationMode.BICUBIC, antialias=False
    ),
    lambda t: t.FiveCrop(3),
    lambda t: t.FiveCrop((3, 4)),
    lambda t: t.TenCrop(3),
    lambda t: t.TenCrop((3, 4), True),
    lambda t: t.ColorJitter(),
    lambda t: t.ColorJitter(0.1, 0.2, 0.3, 0.1),
    lambda t: t.RandomRotation(30),
    lambda t: t.RandomRotation(
        (-10, 20), t.InterpolationMode.BILINEAR, True, (1, 2), fill=(1, 2, 3)
    ),
    lambda t: t.RandomRotation(30, center=None, fill=0),
    lambda t: t.RandomAffine(30),
    lambda t: t.RandomAffine(
        0, (0.1, 0.2), (0.5, 1.0), 10, t.InterpolationMode.BILINEAR, fill=3, center=(1, 2)
    ),
    lambda t: t.RandomAffine((1, 2), shear=(1, 2, 3, 4)),
    lambda t: t.Grayscale(),
    lambda t: t.Grayscale(3),
    lambda t: t.RandomGrayscale(),
    lambda t: t.RandomErasing(),
    lambda t: t.RandomErasing(0.3, (0.1, 0.2), (0.3, 3.0), "random", True),
    lambda t: t.RandomErasing(value=(1, 2, 3)),
    lambda t: t.GaussianBlur(3),
    lambda t: t.GaussianBlur((3, 5), (0.1, 0.3)),
    lambda t: t.RandomInvert(),
    lambda t: t.RandomPosterize(3),
    lambda t: t.RandomSolarize(0.3),
    lambda t: t.RandomSolarize(128, p=0.3),
    lambda t: t.RandomAdjustSharpness(2),
    lambda t: t.RandomAutocontrast(),
    lambda t: t.RandomEqualize(),
    lambda t: t.AutoAugment(),
    lambda t: t.AutoAugment(t.AutoAugmentPolicy.SVHN, t.InterpolationMode.BILINEAR, [1, 2, 3]),
    lambda t: t.RandAugment(),
    lambda t: t.RandAugment(3, 4, 31, t.InterpolationMode.BILINEAR, [1, 2, 3]),
    lambda t: t.TrivialAugmentWide(),
    lambda t: t.TrivialAugmentWide(31, t.InterpolationMode.BILINEAR, [1, 2, 3]),
    lambda t: t.AugMix(),
    lambda t: t.AugMix(3, 3, -1, 1.0, True, t.InterpolationMode.BILINEAR, [1.0, 2.0, 3.0]),
    lambda t: t.ElasticTransform(),
    lambda t: t.ElasticTransform(30.0, 4.0, t.InterpolationMode.NEAREST, 1),
    lambda t: t.ElasticTransform([30.0, 20.0], [4.0, 3.0], t.InterpolationMode.NEAREST, [1, 2, 3]),
]


@pytest.mark.parametrize("make", CASES)
def test_repr(make: Callable[[ModuleType], Any]) -> None:
    assert repr(make(transforms)) == repr(make(torchvision.transforms))


def test_repr_with_tensors_and_dtypes() -> None:
    matrix, mean = np.eye(3), np.zeros(3)
    ours = transforms.LinearTransformation(flow.tensor(matrix), flow.tensor(mean))
    theirs = torchvision.transforms.LinearTransformation(torch.tensor(matrix), torch.tensor(mean))
    assert repr(ours) == repr(theirs)
    assert repr(transforms.ConvertImageDtype(flow.float32)) == "ConvertImageDtype()"
