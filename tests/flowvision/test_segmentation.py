"""Segmentation against torchvision's with the same weights, and style transfer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import oneflow as flow
from flowvision import models
from tests.flowvision.torchvision_operators import torchvision
from tests.flowvision.zoo import assert_equal_to_twin, load_from_torch, model_facts


class _Ours(flow.nn.Module):
    def __init__(self, model: flow.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: flow.Tensor) -> flow.Tensor:
        return self.model(x)["out"]


class _Theirs(torch.nn.Module):
    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.model(x)["out"]


def _pair(name: str, **options: Any) -> tuple[flow.nn.Module, torch.nn.Module]:
    theirs = torchvision.models.get_model(
        model_facts()[name]["torchvision"], weights=None, weights_backbone=None, **options
    )
    return models.ModelCreator.create_model(name, **options), theirs


_SMALL = ["lraspp_mobilenet_v3_large_coco", "deeplabv3_mobilenet_v3_large_coco"]
_LARGE = [
    name
    for name, row in model_facts().items()
    if row["task"] == "semantic segmentation" and name not in _SMALL
]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", [*_SMALL, *_LARGE])
def test_equals_torchvision(name: str, exhaustive: bool) -> None:
    if name in _LARGE and not exhaustive:
        pytest.skip("the models on MobileNet run without --exhaustive")
    torch.manual_seed(0)
    ours, theirs = _pair(name)
    images = torch.randn(2, 3, 64, 48)
    assert_equal_to_twin(_Ours(ours), _Theirs(theirs), images)


def test_fcn_head_and_auxiliary_classifier() -> None:
    torch.manual_seed(0)
    ours, theirs = _pair("deeplabv3_mobilenet_v3_large_coco", aux_loss=True)
    load_from_torch(ours, theirs)
    image = torch.randn(1, 3, 32, 40)
    wanted, found = theirs.eval()(image), ours.eval()(flow.tensor(image.numpy()))
    assert list(found) == list(wanted) == ["out", "aux"]
    for name, value in wanted.items():
        np.testing.assert_allclose(found[name].numpy(), value.detach().numpy(), atol=1e-4)
    without, _ = _pair("deeplabv3_mobilenet_v3_large_coco")
    state = {name: flow.tensor(value.numpy()) for name, value in theirs.state_dict().items()}
    without.load_state_dict(state)
    assert list(without.eval()(flow.tensor(image.numpy()))) == ["out"]


def test_fast_neural_style_paints_in_the_range_of_pixels() -> None:
    model = models.neural_style_transfer(style_model="candy").eval()
    for height, width in ((32, 32), (30, 45)):
        picture = model(255 * flow.rand(1, 3, height, width))
        assert picture.shape == (1, 3, -(-height // 4) * 4, -(-width // 4) * 4)
        assert 0 <= picture.min().item() <= picture.max().item() <= 255


def test_styles() -> None:
    with pytest.raises(ValueError, match="'sketch2'"):
        models.fast_neural_style(style_model="sketch2")
    with pytest.raises(ValueError, match="no published weights"):
        models.fast_neural_style(pretrained=True)
