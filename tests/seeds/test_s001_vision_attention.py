"""Features named by the v0.7.0 release notes: transformers, perceptrons and their layers."""

from __future__ import annotations

import functools
import importlib
import math
import re
from typing import Any

import numpy as np
import pytest
import torch

import oneflow as flow
from flowvision import layers, models
from flowvision.layers.blocks import PatchEmbed
from flowvision.layers.weight_init import lecun_normal_, trunc_normal_, variance_scaling_
from oneflow.plan import planning
from tests.flowvision import zoo
from tests.flowvision.test_renamed_twins import RES_MLP, SWIN, Renaming, renamed

# The names promised of each family, and small options with which the first trains a step.
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
        {"img_size": 32},
    ),
    "s001_75": (
        "resmlp_12 resmlp_12_dist resmlp_24 resmlp_24_dist resmlp_24_dino resmlp_36 "
        "resmlp_36_dist resmlpB_24 resmlpB_24_in22k resmlpB_24_dist",
        {"img_size": 32},
    ),
    "s001_76": ("gmlp_ti16_224 gmlp_s16_224 gmlp_b16_224", {"img_size": 32}),
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


# timm's names, and its names of parameters where they are others.
TWINS: dict[str, tuple[str, Renaming]] = {
    "s001_71": ("vit_base_patch16_224", {}),
    "s001_73": ("swin_tiny_patch4_window7_224", SWIN),
    "s001_74": ("mixer_s16_224", {}),
    "s001_75": ("resmlp_12_224", RES_MLP),
    "s001_76": ("gmlp_ti16_224", {}),
}


@pytest.mark.parametrize("row", TWINS)
def test_first_model_equals_timms(row: str) -> None:
    """The same scores and gradients with the same weights."""
    names, options = FAMILIES[row]
    timm_name, renaming = TWINS[row]
    flow.manual_seed(0)
    model = models.ModelCreator.create_model(names.split()[0], num_classes=7, **options)
    reference = zoo.timm_module("models").create_model(timm_name, num_classes=7, **options)
    torch.manual_seed(0)
    size = options["img_size"]
    images = torch.randn(2, 3, size, size)
    zoo.assert_equal_to_twin(model, reference, images, functools.partial(renamed, renaming))


def pyramid(state: dict[str, torch.Tensor], heads: tuple, ratios: tuple, x: torch.Tensor) -> Any:
    """The output of a Pyramid Vision Transformer with one block in each stage, from the paper."""
    f = torch.nn.functional

    def linear(x: torch.Tensor, name: str) -> torch.Tensor:
        return f.linear(x, state[f"{name}.weight"], state[f"{name}.bias"])

    def norm(x: torch.Tensor, name: str, eps: float = 1e-6) -> torch.Tensor:
        weight, bias = state[f"{name}.weight"], state[f"{name}.bias"]
        return f.layer_norm(x, x.shape[-1:], weight, bias, eps)

    def grid(x: torch.Tensor, name: str, size: int) -> torch.Tensor:
        return f.conv2d(x, state[f"{name}.weight"], state[f"{name}.bias"], stride=size)

    def attention(x: torch.Tensor, name: str, count: int, ratio: int) -> torch.Tensor:
        reduced = x
        if ratio > 1:
            side = math.isqrt(x.shape[1])
            image = x.transpose(1, 2).unflatten(2, (side, side))
            reduced = norm(
                grid(image, f"{name}.sr", ratio).flatten(2).transpose(1, 2), f"{name}.norm", 1e-5
            )
        parts = [linear(x, f"{name}.q"), *linear(reduced, f"{name}.kv").chunk(2, -1)]
        q, k, v = (part.unflatten(2, (count, -1)).transpose(1, 2) for part in parts)
        mixed = torch.softmax(q @ k.transpose(2, 3) / q.shape[-1] ** 0.5, -1) @ v
        return linear(mixed.transpose(1, 2).flatten(2), f"{name}.proj")

    for stage, (count, ratio) in enumerate(zip(heads, ratios, strict=True), 1):
        patches = grid(x, f"patch_embed{stage}.proj", 4 if stage == 1 else 2)
        side = patches.shape[-1]
        tokens = norm(patches.flatten(2).transpose(1, 2), f"patch_embed{stage}.norm", 1e-5)
        if stage == len(heads):
            first = state["cls_token"].expand(x.shape[0], -1, -1)
            tokens = torch.cat([first, tokens], 1)
        tokens = tokens + state[f"pos_embed{stage}"]
        block = f"block{stage}.0"
        tokens = tokens + attention(norm(tokens, f"{block}.norm1"), f"{block}.attn", count, ratio)
        hidden = f.gelu(linear(norm(tokens, f"{block}.norm2"), f"{block}.mlp.fc1"))
        tokens = tokens + linear(hidden, f"{block}.mlp.fc2")
        x = tokens.transpose(1, 2)[:, :, : side * side].unflatten(2, (side, side))
    return linear(norm(tokens, "norm")[:, 0], "head")


def test_s001_72_equals_the_formula() -> None:
    names, options = FAMILIES["s001_72"]
    flow.manual_seed(0)
    model = models.ModelCreator.create_model(names.split()[0], num_classes=7, **options).eval()
    state = {name: torch.tensor(tensor.numpy()) for name, tensor in model.state_dict().items()}
    images = torch.randn(2, 3, 64, 64)
    expected = pyramid(state, (1, 2, 5, 8), (8, 4, 2, 1), images)
    assert (expected[0] - expected[1]).abs().max() > 1e-2 * expected.std()
    zoo.assert_same_up_to_spread(model(flow.tensor(images.numpy())), expected, 1e-3)


@pytest.mark.parametrize("row", ["s001_71", "s001_72"])
def test_first_model_trains_a_step(row: str) -> None:
    names, options = FAMILIES[row]
    flow.manual_seed(0)
    model = models.ModelCreator.create_model(names.split()[0], num_classes=2, **options)
    images = flow.randn(2, 3, options["img_size"], options["img_size"])
    optimizer = flow.optim.SGD(model.parameters(), lr=0.01)
    losses = []
    for _ in range(2):
        loss = flow.nn.functional.cross_entropy(model(images), flow.tensor([0, 1]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[1] < losses[0]


def test_s001_103_patch_embedding() -> None:
    embedding = PatchEmbed(224, 16, 3, 768)
    images = flow.rand(1, 3, 224, 224)
    tokens = embedding(images)
    assert tokens.shape == (1, 196, 768)
    # Token 15 is the second patch of the second row.
    patch = images.numpy()[0, :, 16:32, 16:32].ravel()
    weight, bias = (parameter.detach().numpy() for parameter in embedding.proj.parameters())
    expected = weight.reshape(768, -1) @ patch + bias
    np.testing.assert_allclose(tokens.detach().numpy()[0, 15], expected, rtol=1e-3, atol=1e-5)


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
    assert {float(value) for kind in kinds for value in kind.flat} == {0.0, 2.0}
    mixed = any(kind.min() != kind.max() for kind in kinds)
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
