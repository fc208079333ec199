"""Features named by the v0.7.0 release notes: transformers, perceptrons and their layers."""

from __future__ import annotations

import importlib
import math
import re

import numpy as np
import pytest

import oneflow as flow
from flowvision import layers, models
from flowvision.layers.blocks import PatchEmbed
from flowvision.layers.weight_init import lecun_normal_, trunc_normal_, variance_scaling_
from oneflow.plan import planning

# Of each family, the names promised, and small options with which the first trains a step.
FAMILIES = {
    "s001_71": (
        "vit_b_16_224 vit_b_16_384 vit_b_32_224 vit_b_32_384 vit_l_16_384 vit_l_32_384",
        {"img_size": 32, "depth": 1},
    ),
    "s001_72": ("pvt_tiny pvt_small pvt_medium pvt_large", {"img_size": 64, "depths": (1,) * 4}),
    "s001_73": (
        "swin_tiny_patch4_window7_224 swin_small_patch4_window7_224 swin_base_patch4_window7_224 "
        "swin_base_patch4_window12_384 swin_base_patch4_window7_224_in22k_to_1k "
        "swin_base_patch4_window12_384_in22k_to_1k swin_large_patch4_window7_224_in22k_to_1k "
        "swin_large_patch4_window12_384_in22k_to_1k",
        {"img_size": 56, "depths": (2, 1), "num_heads": (3, 6)},
    ),
    "s001_74": (
        "mlp_mixer_s16_224 mlp_mixer_s32_224 mlp_mixer_b16_224 mlp_mixer_b32_224 "
        "mlp_mixer_b16_224_in21k mlp_mixer_l16_224 mlp_mixer_l32_224 mlp_mixer_l16_224_in21k "
        "mlp_mixer_b16_224_miil mlp_mixer_b16_224_miil_in21k",
        {"img_size": 32, "num_blocks": 1},
    ),
    "s001_75": (
        "resmlp_12 resmlp_12_dist resmlp_24 resmlp_24_dist resmlp_24_dino resmlp_36 "
        "resmlp_36_dist resmlpB_24 resmlpB_24_in22k resmlpB_24_dist",
        {"img_size": 32, "depth": 1},
    ),
    "s001_76": ("gmlp_ti16_224 gmlp_s16_224 gmlp_b16_224", {"img_size": 32, "num_blocks": 1}),
}


@pytest.mark.parametrize("row", FAMILIES)
def test_names_give_scores(row: str) -> None:
    for name in FAMILIES[row][0].split():
        found = re.search(r"_(224|384)", name)
        size = int(found[1]) if found else 224
        with planning():  # shapes are known without computing anything
            model = models.ModelCreator.create_model(name).eval()
            scores = model(flow.ones(1, 3, size, size))
        assert scores.shape[0] == 1
        assert scores.shape[1] in (1000, 21841, 21843, 11221)


@pytest.mark.parametrize("row", FAMILIES)
def test_first_model_trains_a_step(row: str) -> None:
    names, options = FAMILIES[row]
    flow.manual_seed(0)
    model = models.ModelCreator.create_model(names.split()[0], num_classes=2, **options)
    images = flow.randn(2, 3, options["img_size"], options["img_size"])
    targets = flow.tensor([0, 1])
    optimizer = flow.optim.SGD(model.parameters(), lr=0.01)
    losses = []
    for _ in range(2):
        loss = flow.nn.functional.cross_entropy(model(images), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[1] < losses[0]


def test_s001_103_patch_embedding() -> None:
    embedding = PatchEmbed(224, 16, 3, 768)
    assert embedding(flow.rand(1, 3, 224, 224)).shape == (1, 196, 768)


def test_s001_106_drop_path() -> None:
    flow.manual_seed(0)
    x = flow.randn(50, 4)
    dropped = layers.DropPath(0.25)(x).numpy()
    kept = (dropped != 0).any(1)
    assert 0 < kept.sum() < 50
    np.testing.assert_allclose(dropped[kept], x.numpy()[kept] / 0.75, rtol=1e-6)
    np.testing.assert_array_equal(layers.DropPath(0.25).eval()(x).numpy(), x.numpy())


def test_s001_107_drop_block() -> None:
    flow.manual_seed(0)
    dropped = layers.DropBlock(block_size=3, p=0.3)(flow.ones(8, 4, 20, 20)).numpy()
    zero = dropped == 0
    neighbours = zero[..., 1:] & zero[..., :-1]
    assert neighbours.sum() > 0.5 * zero.sum()  # they come in blocks
    assert abs(dropped.mean() - 1) < 0.1


@pytest.mark.parametrize("mode", ["row", "batch"])
def test_s001_108_stochastic_depth(mode: str) -> None:
    flow.manual_seed(0)
    depth = layers.StochasticDepth(0.5, mode)
    kinds = [depth(flow.ones(16, 2)).numpy() for _ in range(20)]
    assert {float(value) for each in kinds for value in each.flat} == {0.0, 2.0}
    mixed = any(each.min() != each.max() for each in kinds)
    assert mixed == (mode == "row")


def test_s001_109_activations() -> None:
    activation = importlib.import_module("flowvision.layers.activation")
    x = flow.tensor([-4.0, -1.0, 1.0, 4.0])
    swish = flow.nn.functional.hardswish(x)
    gates = flow.nn.functional.hardsigmoid(x)
    np.testing.assert_array_equal(activation.hard_swish(inplace=False)(x).numpy(), swish.numpy())
    np.testing.assert_array_equal(activation.hard_sigmoid()(x).numpy(), gates.numpy())
    np.testing.assert_array_equal(x.numpy(), gates.numpy())  # in place unless told otherwise


def test_s001_110_initialisation() -> None:
    flow.manual_seed(0)
    weight = flow.empty(300, 64, 3, 3)
    for fill in (lecun_normal_, variance_scaling_):
        assert abs(fill(weight).std().item() * math.sqrt(64 * 9) - 1) < 0.02
    assert trunc_normal_(weight, std=2.0, a=-1.0, b=1.0).abs().max().item() <= 1
