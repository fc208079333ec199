"""Augmentation by sequences of simple changes, against torchvision."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import torch
from PIL import Image

import oneflow as flow
from flowvision import transforms
from flowvision.transforms import autoaugment
from flowvision.transforms.autoaugment import AutoAugmentPolicy, InterpolationMode
from tests.flowvision.torchvision_operators import torchvision

theirs = torchvision.transforms.autoaugment
PIXELS = np.random.default_rng(5).integers(0, 256, (24, 31, 3), np.uint8)
# torchvision's augmentation with these magnitudes, our magnitudes, and how many there are.
SPACES = [
    (theirs.AutoAugment(), autoaugment._MagnitudeRanges(), 10, True),
    (theirs.RandAugment(), autoaugment._MagnitudeRanges(), 31, True),
    (
        theirs.TrivialAugmentWide(),
        autoaugment._MagnitudeRanges(0.99, 32.0, 135.0, 0.99, (8, 2)),
        31,
        False,
    ),
    (theirs.AugMix(), autoaugment._MagnitudeRanges(translation=1 / 3, bits=(4, 0)), 10, True),
]


@pytest.mark.parametrize(("augmentation", "magnitudes", "bins", "sized"), SPACES)
def test_magnitudes_are_torchvisions(augmentation, magnitudes, bins: int, sized: bool) -> None:
    wanted = augmentation._augmentation_space(bins, *([(100, 80)] if sized else []))
    found = magnitudes.space(bins, (100, 80))
    assert wanted.keys() <= found.keys()
    for name, (levels, signed) in wanted.items():
        assert found[name][1] == signed, name
        expected = levels.numpy() if levels.ndim else np.zeros(bins)
        np.testing.assert_allclose(found[name][0], expected, rtol=1e-5, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("name", list(autoaugment._MagnitudeRanges().space(10, (9, 9))))
@pytest.mark.parametrize("kind", ["pillow", "tensor"])
def test_operations_are_torchvisions(name: str, kind: str) -> None:
    levels, signed = autoaugment._MagnitudeRanges().space(10, PIXELS.shape[:2])[name]
    for magnitude in (float(levels[7]), -float(levels[4]) if signed else float(levels[2])):
        for fill in (None, [10.0, 200.0, 30.0]):
            options = (name, magnitude, InterpolationMode.NEAREST, fill)
            mode = torchvision.transforms.InterpolationMode.NEAREST
            if kind == "pillow":
                image = Image.fromarray(PIXELS)
                found = np.asarray(autoaugment.apply_operation(image, *options))
                wanted = np.asarray(theirs._apply_op(image, name, magnitude, mode, fill))
            else:
                planes = PIXELS.transpose(2, 0, 1)
                found = autoaugment.apply_operation(flow.tensor(planes), *options).numpy()
                wanted = theirs._apply_op(torch.tensor(planes), name, magnitude, mode, fill).numpy()
            np.testing.assert_array_equal(found, wanted, err_msg=f"{magnitude} {fill}")


@pytest.mark.parametrize("policy", list(AutoAugmentPolicy))
def test_policies_are_torchvisions(policy: AutoAugmentPolicy) -> None:
    ours = transforms.AutoAugment(policy).policies
    wanted = theirs.AutoAugment(theirs.AutoAugmentPolicy(policy.value)).policies
    assert ours == [[(name, p, level or 0) for name, p, level in pair] for pair in wanted]


@pytest.mark.parametrize(
    "augmentation",
    [
        *(transforms.AutoAugment(policy) for policy in AutoAugmentPolicy),
        transforms.RandAugment(3, fill=128),
        transforms.TrivialAugmentWide(fill=[1, 2, 3]),
        transforms.AugMix(),
        transforms.AugMix(chain_depth=2, all_ops=False),
    ],
    ids=lambda value: type(value).__name__,
)
def test_images_keep_their_form_and_change(augmentation: transforms.AutoAugment) -> None:
    image, planes = Image.fromarray(PIXELS), flow.tensor(PIXELS.transpose(2, 0, 1))
    changed = 0
    for _ in range(12):
        found = augmentation(image)
        assert (found.mode, found.size) == ("RGB", (31, 24))
        changed += np.any(np.asarray(found) != PIXELS)
        tensor = augmentation(planes)
        assert (tensor.dtype, tensor.shape) == (flow.uint8, (3, 24, 31))
    assert changed >= 4
    flow.manual_seed(7)
    first = np.asarray(augmentation(image))
    flow.manual_seed(7)
    np.testing.assert_array_equal(np.asarray(augmentation(image)), first)


def test_operations_are_drawn_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: Counter[tuple[str, bool]] = Counter()

    def count(img, name, magnitude, interpolation, fill):
        drawn[name, magnitude < 0] += 1
        return img

    monkeypatch.setattr(autoaugment, "apply_operation", count)
    augmentation = transforms.RandAugment(num_ops=4200, magnitude=20)
    augmentation(Image.fromarray(PIXELS))
    names = Counter(name for name, _ in drawn.elements())
    assert len(names) == 14
    assert all(210 < name < 390 for name in names.values()), names  # 300 each, 17 more or less
    negative = sum(count for (_, sign), count in drawn.items() if sign)
    assert 1200 < negative < 1500  # 9 of the 14 have a sign


def test_unknown_words_are_refused() -> None:
    with pytest.raises(ValueError, match="'Melt'"):
        autoaugment.apply_operation(Image.fromarray(PIXELS), "Melt", 1, InterpolationMode.NEAREST)
    with pytest.raises(ValueError, match="between 1 and 10"):
        transforms.AugMix(severity=11)
    with pytest.raises(ValueError, match="coco"):
        transforms.AutoAugment("coco")
