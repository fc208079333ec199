"""Features named by the v0.6.0 release notes: flowvision's convolutional networks."""

from __future__ import annotations

import pytest

import flowvision
import oneflow as flow
from flowvision import layers
from flowvision.layers import attention
from flowvision.models import ModelCreator

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


@pytest.mark.parametrize("row", NETWORKS)
def test_forward_and_training_step(row: str) -> None:
    options = {"init_weights": False} if row == "s001_68" else {}  # two draws of 120 million
    model = ModelCreator.create_model(NETWORKS[row][0], num_classes=10, **options)
    if row == "s001_68":  # the first layer alone has 100 million parameters, 1.5 GB with gradients
        model.classifier[0] = flow.nn.Linear(512 * 7 * 7, 64)
        model.classifier[3] = flow.nn.Linear(64, 4096)
    optimizer = flow.optim.SGD(model.parameters(), lr=1e-3)
    images = flow.rand(2, 3, 32, 32)
    *_, last = model.parameters()  # the classifier's bias
    before = last.numpy().copy()
    loss = flow.nn.functional.cross_entropy(model(images), flow.tensor([1, 2]))
    loss.backward()
    optimizer.step()
    assert (last.numpy() != before).any()
    with flow.no_grad():
        assert model.eval()(images).shape == (2, 10)


@pytest.mark.parametrize(
    ("row", "name"), [(row, name) for row, names in NETWORKS.items() for name in names]
)
def test_every_network_classifies(row: str, name: str, exhaustive: bool) -> None:
    if not exhaustive:
        pytest.skip("the smallest of each row runs without --exhaustive")
    with flow.no_grad():
        model = ModelCreator.create_model(name).eval()
        assert model(flow.ones(1, 3, 224, 224)).shape == (1, 1000)


ATTENTION = {
    "s001_98": "NonLocalAttn",
    "s001_99": "SEModule",
    "s001_100": "CbamModule",
    "s001_101": "BAMModule",
    "s001_102": "EcaModule",
}


@pytest.mark.parametrize("row", ATTENTION)
def test_attention(row: str) -> None:
    module = getattr(attention, ATTENTION[row])(32)
    x = flow.rand(2, 32, 8, 8)
    y = module(x)
    assert y.shape == x.shape
    y.sum().backward()
    assert all(each.grad is not None for each in module.parameters())


def test_s001_105() -> None:
    x = flow.rand(1, 3, 8, 8)
    block = layers.ConvBnAct(3, 8, 3)
    assert block(x).shape == (1, 8, 8, 8)
    assert (block(x) >= 0).all().item()
    assert [type(each).__name__ for each in layers.ConvBn(3, 8, 3)] == ["Conv2d", "BatchNorm2d"]
    assert layers.ConvAct(3, 8, 3)[0].bias is not None
