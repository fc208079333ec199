"""Walks over the modules of a model, and numbers as tuples."""

from __future__ import annotations

import importlib
import math
from types import ModuleType
from typing import Any

import pytest
import torch

import oneflow as flow
from flowvision import models
from flowvision.models import helpers, mlp_mixer
from oneflow import nn
from tests.flowvision import zoo as zoo  # makes timm importable

# The package has a function of its name.
inception = importlib.import_module("flowvision.models.inception_v3")


def _model(lib: ModuleType | Any) -> Any:
    inner = lib.Sequential(lib.Linear(2, 2), lib.ReLU())
    return lib.Sequential(inner, lib.Sequential(lib.Tanh()))


@pytest.mark.parametrize("depth_first", [False, True])
@pytest.mark.parametrize("include_root", [False, True])
def test_modules_come_in_timms_order(depth_first: bool, include_root: bool) -> None:
    from timm.models import named_modules

    options = {"name": "root", "depth_first": depth_first, "include_root": include_root}
    ours = [
        (name, type(module).__name__)
        for name, module in helpers.named_modules(_model(nn), **options)
    ]
    theirs = [
        (name, type(module).__name__) for name, module in named_modules(_model(torch.nn), **options)
    ]
    assert ours == theirs
    seen = []
    helpers.named_apply(lambda module, name: seen.append(name), _model(nn), **options)
    assert seen == [name for name, _ in theirs]


def test_numbers_as_tuples() -> None:
    assert helpers.to_1tuple(3) == (3,)
    assert helpers.to_2tuple((1, 2)) == (1, 2)
    assert helpers.to_3tuple(0.5) == (0.5, 0.5, 0.5)
    assert helpers.to_4tuple("ab") == ("ab",) * 4
    assert helpers.make_divisible(20) == 24


@pytest.mark.parametrize(
    "model",
    [
        models.VAN(embed_dims=(8, 8, 8, 8), depths=(1, 1, 1, 1)),
        models.PoolFormer((1, 1, 1, 1), (8, 8, 8, 8)),
        models.hrnet_w18_small(),
    ],
    ids=["van", "poolformer", "hrnet"],
)
def test_last_layers_are_replaced(model: Any) -> None:
    features = model.get_classifier().in_features
    model.reset_classifier(5)
    assert model.get_classifier().out_features == 5
    model.reset_classifier(0)
    assert model.eval()(flow.rand(1, 3, 64, 64)).shape == (1, features)


def test_arguments_of_classifiers() -> None:
    small = {"img_size": 32, "embed_dim": 8, "depth": 1, "num_heads": 2}
    transformer = models.VisionTransformer(**small, distilled=True)
    assert transformer.no_weight_decay() == {"pos_embed", "cls_token", "dist_token"}
    with pytest.raises(ValueError, match="global_pool"):
        transformer.reset_classifier(5, global_pool="max")
    mixer = models.ConvMixer(8, 1, n_classes=5)
    assert mixer(flow.rand(2, 3, 14, 14)).shape == (2, 5)
    levels = models.DLA([1] * 6, [4, 4, 8, 8, 8, 8], return_levels=True)(flow.rand(2, 3, 64, 64))
    assert [level.shape[1:] for level in levels[-2:]] == [(8, 4, 4), (8, 2, 2)]


@pytest.mark.parametrize("make", [models.rexnetv1_1_0, models.mobilevit_xx_small])
def test_features_are_extracted(make: Any) -> None:
    model = make(num_classes=3).eval()
    features = model.extract_features(flow.rand(1, 3, 64, 64))
    assert features.shape[0] == 1
    assert features.ndim == 4
    assert features.shape[1] in {
        parameter.shape[1] for parameter in model.parameters() if parameter.ndim > 1
    }


def test_parts_of_a_mixer_are_chosen() -> None:
    class Wide(mlp_mixer.Mlp):
        pass

    small = {"img_size": 32, "patch_size": 16, "num_blocks": 1, "embed_dim": 8}
    mixer = models.MlpMixer(4, **small, mlp_layer=Wide, nlhb=True, stem_norm=True)
    assert isinstance(mixer.blocks[0].mlp_tokens, Wide)
    assert mixer.head.bias.tolist() == pytest.approx([-math.log(4)] * 4)
    assert isinstance(mixer.stem.norm, nn.LayerNorm)
    assert mixer(flow.rand(2, 3, 32, 32)).shape == (2, 4)


def test_blocks_of_inception_are_chosen() -> None:
    class Last(inception.InceptionE):
        pass

    own = [getattr(inception, f"Inception{letter}") for letter in "ABCD"]
    blocks = [inception.BasicConv2d, *own, Last, inception.Inception3Aux]
    model = models.Inception3(5, inception_blocks=blocks, init_weights=False)
    assert isinstance(model.Mixed_7c, Last)
    assert set(model.state_dict()) == set(models.Inception3(5, init_weights=False).state_dict())
