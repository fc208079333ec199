"""Every model against the table of names and shapes, and against its twin."""

from __future__ import annotations

import json

import pytest
import torch

from flowvision import models
from flowvision.models.registry import find_model, registered_models
from oneflow.plan import planning
from tests.flowvision.zoo import assert_equal_to_twin, model_facts, state_dict_shapes, twin

# Families that are still to be written.
MISSING_FAMILIES = {
    "ConvMixer",
    "DeepLabV3",
    "DeiT III",
    "FCN",
    "FCOS",
    "Fast Neural Style (StyleNet)",
    "Faster R-CNN",
    "GENet",
    "IResNet",
    "LR-ASPP",
    "Mask R-CNN",
    "ReXNet",
    "ReXNet-lite",
    "RetinaNet",
    "SENet",
    "SSD",
    "SSDLite",
    "cait",
    "convnext",
    "crossformer",
    "cswin",
    "densenet",
    "dla",
    "efficientnet",
    "fan",
    "ghostnet",
    "googlenet",
    "hrnet",
    "inception_v3",
    "levit",
    "mnasnet",
    "mobilevit",
    "poolformer",
    "pvt",
    "regionvit",
    "regnet",
    "res2net",
    "resnest",
    "shufflenet_v2",
    "uniformer",
    "van",
}

FAMILIES = sorted({row["family"] for row in model_facts().values()} - MISSING_FAMILIES)
# The model of each family that stands for it where one must do, with the size of its images if it
# takes smaller ones than those it was made for.
REPRESENTATIVES: dict[str, int] = {
    "alexnet": 64,
    "deit_tiny_distilled_patch16_224": 224,
    "gmlp_ti16_224": 224,
    "mlp_mixer_s32_224": 224,
    "mobilenet_v2": 64,
    "mobilenet_v3_small": 64,
    "resnet18": 64,
    "resnext50_32x4d": 64,
    "squeezenet1_1": 64,
    "vgg11_bn": 32,
    "vit_tiny_patch16_224": 224,
}


def _family(name: str) -> list[str]:
    return [each for each, row in model_facts().items() if row["family"] == name]


@pytest.mark.parametrize("family", FAMILIES)
def test_names_and_shapes(family: str) -> None:
    for name in _family(family):
        options = {"pretrained_backbone": False} if _has_backbone(name) else {}
        with planning():  # nothing is allocated
            model = models.ModelCreator.create_model(name, **options)
        shapes = {key: list(value.shape) for key, value in model.state_dict().items()}
        assert shapes == state_dict_shapes()[name], name
        count = sum(parameter.numel() for parameter in model.parameters())
        assert count == int(model_facts()[name]["parameters"]), name


def _has_backbone(name: str) -> bool:
    return model_facts()[name]["task"] not in (
        "image classification",
        "style transfer",
        "face recognition (embedding)",
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_facts(family: str) -> None:
    for name in _family(family):
        row, model = model_facts()[name], find_model(name)
        assert model.task == row["task"]
        assert bool(model.paper) == bool(row["paper"])
        assert model.paper in row["paper"]  # which names those of relatives, too
        if row["alias"]:
            assert find_model(row["alias"]) is model
        if json.loads(row["input"])[2:] and row["task"] == "image classification":
            assert model.image_size == json.loads(row["input"])[2]


def test_nothing_is_registered_that_the_table_lacks() -> None:
    assert {each.name for each in registered_models()} <= set(model_facts())


def _twins() -> list[str]:
    return [
        name
        for name, row in model_facts().items()
        if (row["torchvision"] or row["timm"])
        and row["task"] == "image classification"
        and row["family"] not in MISSING_FAMILIES
    ]


@pytest.mark.parametrize("name", [name for name in _twins() if name in REPRESENTATIVES])
def test_representative_equals_twin(name: str) -> None:
    _check_twin(name, REPRESENTATIVES[name])


@pytest.mark.parametrize("name", [name for name in _twins() if name not in REPRESENTATIVES])
def test_every_model_equals_twin(name: str, exhaustive: bool) -> None:
    if not exhaustive:
        pytest.skip("one model of each family runs without --exhaustive")
    _check_twin(name, json.loads(model_facts()[name]["input"])[2])


def _check_twin(name: str, size: int) -> None:
    images = torch.randn(2, 3, size, size)
    assert_equal_to_twin(models.ModelCreator.create_model(name), twin(name), images)
