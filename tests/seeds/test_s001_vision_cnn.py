"""Features named by the v0.6.0 release notes: flowvision's convolutional networks."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import flowvision
import oneflow as flow
from flowvision import layers
from flowvision.layers import attention
from flowvision.models import ModelCreator
from tests.flowvision.torchvision_operators import torchvision
from tests.flowvision.zoo import (
    assert_equal_to_twin,
    assert_same_up_to_spread,
    calibrate,
    load_from_torch,
    timm_module,
)

# The first of each row is the smallest; it also trains a step.
NETWORKS = {
    "s001_66": (
        "resnet18",
        "resnet34",
        "resnet50",
        "resnet101",
        "resnet152",
        "wide_resnet50_2",
        "wide_resnet101_2",
    ),
    "s001_67": ("densenet121", "densenet161", "densenet169", "densenet201"),
    "s001_68": (
        "vgg11",
        "vgg11_bn",
        "vgg13",
        "vgg13_bn",
        "vgg16",
        "vgg16_bn",
        "vgg19",
        "vgg19_bn",
    ),
    "s001_69": ("resnext50_32x4d", "resnext101_32x8d"),
    "s001_70": tuple(f"efficientnet_b{scale}" for scale in range(8)),
}


def test_s001_65() -> None:
    assert flowvision.__version__


@pytest.mark.large
@pytest.mark.parametrize("row", NETWORKS)
def test_first_of_each_equals_torchvisions(row: str) -> None:
    """The same scores and gradients with the same weights; and it trains a step."""
    name = NETWORKS[row][row == "s001_68"]  # fresh VGGs without normalization say nothing
    options = {"init_weights": False} if row == "s001_68" else {}  # two draws of 120 million
    model = ModelCreator.create_model(name, num_classes=10, **options)
    reference = torchvision.models.get_model(name, num_classes=10, **options)
    if row == "s001_68":  # the first layer alone has 100 million parameters
        for network, nn in ((model, flow.nn), (reference, torch.nn)):
            network.classifier[0] = nn.Linear(512 * 7 * 7, 64)
            network.classifier[3] = nn.Linear(64, 4096)
    torch.manual_seed(0)
    assert_equal_to_twin(model, reference, torch.randn(2, 3, 48, 32))
    *_, last = model.parameters()  # the classifier's bias
    before = last.numpy().copy()
    flow.optim.SGD([last], lr=1.0).step()
    np.testing.assert_allclose(last.numpy(), before - last.grad.numpy(), rtol=1e-6)
    assert (last.grad.numpy() != 0).all()


@pytest.mark.parametrize(
    ("row", "name"), [(row, name) for row, names in NETWORKS.items() for name in names]
)
def test_every_network_classifies(row: str, name: str, exhaustive: bool) -> None:
    if not exhaustive:
        pytest.skip("the smallest of each row runs without --exhaustive")
    with flow.no_grad():
        model = ModelCreator.create_model(name).eval()
        assert model(flow.ones(1, 3, 224, 224)).shape == (1, 1000)


# Ours, timm's with its arguments, and its names of parameters where they are others.
ATTENTION = {
    "s001_98": ("NonLocalAttn", "NonLocalAttn", {"in_channels": 32}, {}),
    "s001_99": ("SEModule", "SEModule", {"channels": 32, "rd_channels": 8}, {}),
    "s001_100": ("CbamModule", "CbamModule", {"channels": 32}, {".conv": ".0", ".bn": ".1"}),
    "s001_102": ("EcaModule", "EcaModule", {"channels": 32}, {}),
}


@pytest.mark.parametrize("row", ATTENTION)
def test_attention(row: str) -> None:
    name, timm_name, options, renaming = ATTENTION[row]
    module = getattr(attention, name)(
        32, **({"reduction": 4} if name == "SEModule" else {})
    ).double()
    place = "layers.cbam" if "Cbam" in name else "layers"
    twin = getattr(timm_module(place), timm_name)(**options).double()

    def rename(parameter: str) -> str:
        for old, new in renaming.items():
            parameter = parameter.replace(f"conv{old}", f"conv{new}")
        return parameter

    images = torch.rand(2, 32, 8, 8, generator=torch.Generator().manual_seed(0)).double()
    calibrate(twin, images)
    load_from_torch(module, twin, rename)
    theirs, ours = images.requires_grad_(), flow.tensor(images.detach().numpy()).requires_grad_()
    expected, actual = twin(theirs), module.eval()(ours)
    assert_same_up_to_spread(actual, expected, 1e-8)
    expected.square().sum().backward()
    actual.square().sum().backward()
    assert_same_up_to_spread(ours.grad, theirs.grad, 1e-8)
    assert all(tensor.grad is not None for tensor in module.parameters())


def test_s001_101_bam() -> None:
    """Channels and positions are weighted, each by its branch."""
    module = attention.BAMModule(32).eval()
    x = flow.rand(2, 32, 8, 8)
    y = module(x)
    y.sum().backward()
    assert all(parameter.grad is not None for parameter in module.parameters())
    branches = module.channel(x) + module.spatial(x)
    expected = x.numpy() * (1 + 1 / (1 + np.exp(-branches.detach().numpy())))
    np.testing.assert_allclose(y.detach().numpy(), expected, rtol=1e-4)


def test_s001_105() -> None:
    x = flow.rand(1, 3, 8, 8)
    block = layers.ConvBnAct(3, 8, 3)
    weight = torch.tensor(next(block.parameters()).detach().numpy())
    y = torch.conv2d(torch.tensor(x.numpy()), weight, padding=1)
    y = torch.nn.functional.batch_norm(y, None, None, training=True).relu()
    np.testing.assert_allclose(block(x).detach().numpy(), y, rtol=1e-3, atol=1e-4)
    assert [type(layer).__name__ for layer in layers.ConvBn(3, 8, 3)] == ["Conv2d", "BatchNorm2d"]
    assert layers.ConvAct(3, 8, 3)[0].bias is not None
