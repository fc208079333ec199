"""Every model against the table of names and shapes, and against its twin."""

from __future__ import annotations

import importlib
import inspect
import json
import pickle
import re
from pathlib import Path

import pytest
import torch

import oneflow as flow
from flowvision import models
from flowvision.models.densenet import DenseNet, current_name
from flowvision.models.googlenet import InceptionInputTransform
from flowvision.models.pretrained import load_pretrained
from flowvision.models.registry import find_model, registered_models, unregister_model
from oneflow.plan import planning
from tests.flowvision.zoo import (
    assert_equal_to_twin,
    assert_same_gradients,
    assert_same_up_to_spread,
    calibrate,
    load_from_torch,
    model_facts,
    state_dict_shapes,
    twin,
)
from tests.sampling import Sample

FAMILIES = sorted({row["family"] for row in model_facts().values()})
# The model of each family that stands for it where one must do, with the size of its images if it
# takes smaller ones than those it was made for.
REPRESENTATIVES: dict[str, int] = {
    "alexnet": 64,
    "densenet121": 64,
    "efficientnet_b0": 64,
    "ghostnet": 64,
    "googlenet": 64,
    "hrnet_w18_small": 64,
    "inception_v3": 96,
    "mnasnet0_5": 64,
    "mobilenet_v2": 64,
    "mobilenet_v3_small": 64,
    "regnet_y_400mf": 64,
    "res2net50_26w_4s": 64,
    "resnest50": 64,
    "resnet18": 64,
    "resnext50_32x4d": 64,
    "se_resnext50_32x4d": 64,
    "shufflenet_v2_x0_5": 64,
    "squeezenet1_1": 64,
    "vgg11_bn": 32,
}
# These repeat one block; two of it say what dozens would, whose first run takes minutes.
SHORTENED: dict[str, dict[str, int]] = {
    "cait": {"depth": 2},
    "DeiT": {"depth": 2},
    "gMLP": {"num_blocks": 2},
    "MLP-Mixer": {"num_blocks": 2},
    "ViT": {"depth": 2},
}
# Twins in double precision, with gradients, take about 40 bytes for each.
MAX_SAMPLED_PARAMETERS = 40_000_000
FAMILY_SIZES = {model_facts()[name]["family"]: size for name, size in REPRESENTATIVES.items()}


def _family(name: str) -> list[str]:
    return [model_fact for model_fact, row in model_facts().items() if row["family"] == name]


def test_every_model_is_a_function_of_its_module() -> None:
    for model in registered_models():
        factory = getattr(importlib.import_module(model.module), model.name)
        assert factory is model.factory, model.name
        assert pickle.loads(pickle.dumps(factory)) is factory
        assert factory.__name__ == factory.__qualname__ == model.name
        assert factory.__doc__
        signature = inspect.signature(factory)
        assert [*signature.parameters][:2] == ["pretrained", "progress"]
        assert signature.return_annotation in vars(inspect.getmodule(factory))


def test_options_of_a_row_can_be_overridden() -> None:
    with planning():
        block = models.resnext50_32x4d(groups=1, width_per_group=64).layer1[0]
        assert block.conv2.groups == 1
        assert models.deit_base_patch16_384(img_size=224).pos_embed.shape == (1, 197, 768)
    assert find_model("deit_base_patch16_384").image_size == 384


@pytest.mark.one_in(4)
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
        if row["task"] == "image classification" and json.loads(row["input"])[2:]:
            assert model.image_size == json.loads(row["input"])[2]


def test_nothing_is_registered_that_the_table_lacks() -> None:
    assert {model.name for model in registered_models()} <= set(model_facts())


def _twins() -> list[str]:
    return [
        name
        for name, row in model_facts().items()
        if (row["torchvision"] or row["timm"]) and row["task"] == "image classification"
    ]


def _skip_large(name: str, exhaustive: bool) -> None:
    if not exhaustive and int(model_facts()[name]["parameters"]) > MAX_SAMPLED_PARAMETERS:
        pytest.skip("takes three gigabytes and more; run with --exhaustive")


@pytest.mark.large
@pytest.mark.parametrize("name", [name for name in _twins() if name in REPRESENTATIVES])
def test_representative_equals_twin(name: str, sample: Sample, exhaustive: bool) -> None:
    _skip_large(name, exhaustive)
    if name != "resnet18":
        sample.take(name, one_in=16)
    _check_twin(name, REPRESENTATIVES[name])


@pytest.mark.parametrize("name", [name for name in _twins() if name not in REPRESENTATIVES])
def test_every_model_equals_twin(name: str, exhaustive: bool) -> None:
    if not exhaustive:
        pytest.skip("one model of each family runs without --exhaustive")
    facts = model_facts()[name]
    # Convolutions take images of any size, so that small ones say as much, with less memory.
    size = FAMILY_SIZES.get(facts["family"]) or json.loads(facts["input"])[2]
    options = {}
    if size > 224 or int(facts["parameters"]) > 30_000_000:
        options |= SHORTENED.get(facts["family"], {})
    if size > 224:
        size = options["img_size"] = 224
    _check_twin(name, size, **options)


def _check_twin(name: str, size: int, **options: int) -> None:
    images = torch.randn(2, 3, size, size)
    model = models.ModelCreator.create_model(name, **options)
    if "num_blocks" in options:  # which timm's factories do not take
        reference = twin(name)
        reference.blocks = reference.blocks[: options["num_blocks"]]
    else:
        reference = twin(name, **options)
    assert_equal_to_twin(model, reference, images)


@pytest.mark.one_in(18)
@pytest.mark.parametrize("name", [name for name in _twins() if name in REPRESENTATIVES])
def test_training_step_equals_twin(name: str, exhaustive: bool) -> None:
    """Batches are normalized by their own statistics; only what is drawn at random is left out."""
    _skip_large(name, exhaustive)
    size = REPRESENTATIVES[name]
    reference, images = twin(name), torch.randn(4, 3, size, size)
    calibrate(reference, images)
    reference, images = reference.double(), images.double()
    model = models.ModelCreator.create_model(name).double()
    load_from_torch(model, reference)
    for module in (*model.eval().modules(), *reference.eval().modules()):
        module.train(isinstance(module, flow.nn.BatchNorm2d | torch.nn.BatchNorm2d))
    expected, actual = reference(images), model(flow.tensor(images.numpy()))
    if isinstance(actual, tuple | list):
        actual = actual[0]
    assert_same_up_to_spread(actual, expected, 1e-8)
    expected.square().mean().backward()
    actual.square().mean().backward()
    assert_same_gradients(model, reference, 1e-6)
    statistics = dict(reference.named_buffers())
    for key, value in model.named_buffers():
        if key in statistics:
            assert torch.allclose(torch.tensor(value.numpy()), statistics[key]), key


def test_files_of_one_name_do_not_collide_in_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str]] = []

    def load(url: str, file_name: str, **_options: object) -> dict[str, flow.Tensor]:
        asked.append((url, file_name))
        return {}

    monkeypatch.setattr(flow.hub, "load_state_dict_from_url", load)
    for name in ("ghostnet", "squeezenet1_1"):
        with pytest.raises(ValueError, match=name), planning():
            models.ModelCreator.create_model(name, pretrained=True)
    assert [file for _, file in asked] == ["ghostnet.safetensors", "squeezenet1_1-b8a52dc0.pth"]
    assert asked[0][0].endswith("/model.safetensors")


def test_old_names_of_densenet(tmp_path: Path) -> None:
    model, loaded = (DenseNet(4, (1, 2), 8, num_classes=3) for _ in range(2))
    old = {
        re.sub(r"(denselayer\d+\.(?:norm|conv))(\d)", r"\1.\2", name): value
        for name, value in model.state_dict().items()
        if not name.endswith("num_batches_tracked")  # which files of that age lack
    }
    assert "features.denseblock1.denselayer1.norm.1.weight" in old
    flow.save(old, tmp_path / "densenet.pth")
    path = str(tmp_path / "densenet.pth")
    load_pretrained(loaded, path, name="densenet", rename=current_name)
    for name, value in model.state_dict().items():
        assert flow.equal(loaded.state_dict()[name], value), name


def test_networks_trained_on_other_images_transform_them() -> None:
    with planning():
        assert not list(models.googlenet().transform.buffers())
    transform = InceptionInputTransform()
    image = flow.rand(1, 3, 2, 2)
    mean, deviation = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
    normalized = (image - flow.tensor(mean).reshape(3, 1, 1)) / flow.tensor(deviation).reshape(
        3, 1, 1
    )
    assert flow.allclose(transform(normalized), (image - 0.5) / 0.5, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "size", "parts"), [("googlenet", 64, 3), ("inception_v3", 299, 2)]
)
def test_auxiliary_classifiers_answer_in_training(name: str, size: int, parts: int) -> None:
    with planning():
        model = models.ModelCreator.create_model(name, num_classes=5)
        images = flow.zeros(2, 3, size, size)
        trained, evaluated = model(images), model.eval()(images)
    assert [part.shape for part in trained] == [(2, 5)] * parts
    assert [part is None for part in evaluated] == [False] + [True] * (parts - 1)


def test_factories_of_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def program_net(pretrained: bool = False, classes: int = 2) -> flow.nn.Module:
        return flow.nn.Linear(classes, 1 if pretrained else 3)

    register, create = models.ModelCreator.register_model, models.ModelCreator.create_model
    try:
        assert register(program_net) is program_net
        assert register(program_net) is program_net, "a cell of a notebook may run again"
        assert create("program_net", pretrained=True, classes=4).weight.shape == (1, 4)
        assert "program_net" not in models.ModelCreator.model_list("program_*", pretrained=True)
        flow.save(flow.nn.Linear(2, 3).state_dict(), tmp_path / "weights")
        loaded = create("program_net", checkpoint=str(tmp_path / "weights"))
        assert (flow.load(tmp_path / "weights")["weight"] == loaded.weight).all()
        monkeypatch.setattr(program_net, "__module__", "elsewhere")
        with pytest.raises(ValueError, match="registered already"):
            register(program_net)
    finally:
        unregister_model("program_net")
