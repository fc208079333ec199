"""Blocks of FAN and its relatives against timm's and against PyTorch's layers."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch

import oneflow as flow
from flowvision.models import (
    FAN,
    Attention,
    ClassifierHead,
    CMlp,
    ConvMlp,
    LayerNorm,
    LinearLayer,
    OverlapPatchEmbed,
    SEMlp,
    TokenMixing,
    checkpoint_filter_fn,
    levit_128s,
    model_factory,
    sigmoid,
)
from flowvision.models.fan_hybrid import HybridBackbone
from oneflow.plan import planning
from tests.flowvision.zoo import assert_equal_to_twin, load_from_torch, timm_module


def _check(ours: flow.nn.Module, theirs: torch.nn.Module, x: torch.Tensor, *sizes: Any) -> None:
    """Assert that both give the same in double precision; ours gets the weights."""
    theirs.double().eval()
    load_from_torch(ours.double().eval(), theirs)
    given = flow.tensor(x.double().numpy())
    with torch.no_grad():
        wanted = theirs(x.double(), sizes) if sizes else theirs(x.double())
    np.testing.assert_allclose(ours(given, *sizes).numpy(), wanted.numpy(), atol=1e-9)


def test_convnext_of_the_hybrid_backbone() -> None:
    """Timm's ConvNeXt with convolutions as perceptrons; two stages of it are in hybrid FANs."""
    sizes = {"depths": (1, 2, 1, 1), "dims": (8, 12, 16, 20)}
    theirs = timm_module("models.convnext").ConvNeXt(num_classes=5, conv_mlp=True, **sizes)
    assert_equal_to_twin(HybridBackbone(num_classes=5, **sizes), theirs, torch.randn(2, 3, 64, 64))


@pytest.mark.parametrize("linear", [False, True])
def test_attention_to_fewer_tokens(linear: bool) -> None:
    theirs = timm_module("models.pvt_v2").Attention(12, 3, sr_ratio=2, linear_attn=linear)
    ours = TokenMixing(12, 3, qkv_bias=True, sr_ratio=2, linear=linear)
    _check(ours, theirs, torch.randn(2, 8 * 14, 12), 8, 14)


def test_a_choice_of_the_scale() -> None:
    theirs = timm_module("layers").Attention(12, 3, qkv_bias=True)
    theirs.scale, theirs.fused_attn = 0.7, False
    _check(Attention(12, 3, qkv_bias=True, qk_scale=0.7), theirs, torch.randn(2, 5, 12))


@pytest.mark.parametrize("pool_type", ["avg", "max"])
@pytest.mark.parametrize("use_conv", [False, True])
def test_heads_of_classifiers(pool_type: str, use_conv: bool) -> None:
    theirs = timm_module("layers").ClassifierHead(6, 5, pool_type, use_conv=use_conv)
    ours = ClassifierHead(6, 5, pool_type, use_conv=use_conv)
    assert isinstance(ours.fc, flow.nn.Conv2d) is use_conv
    images = torch.randn(2, 6, 4, 3)
    _check(ours, theirs, images)
    given = flow.tensor(images.double().numpy())
    wanted = theirs(images.double(), pre_logits=True)
    np.testing.assert_allclose(ours(given, pre_logits=True).numpy(), wanted.numpy(), atol=1e-9)


def test_unknown_choices_are_errors() -> None:
    with pytest.raises(ValueError, match="`pool_type` must be 'avg' or 'max', got 'mean'"):
        ClassifierHead(6, 5, "mean")
    with pytest.raises(ValueError, match="`data_format` must be"):
        LayerNorm(4, data_format="nchw")


def test_patches_that_overlap() -> None:
    ours, theirs = OverlapPatchEmbed(32, 3, 2, 4, 8), torch.nn.Module()
    theirs.proj, theirs.norm = torch.nn.Conv2d(4, 8, 3, 2, 1), torch.nn.LayerNorm(8)
    load_from_torch(ours, theirs)
    grid = torch.randn(2, 4, 7, 5)
    tokens = flow.tensor(grid.flatten(2).transpose(1, 2).contiguous().numpy())
    found, height, width = ours(tokens, 7, 5)
    wanted = theirs.norm(theirs.proj(grid).flatten(2).transpose(1, 2)).detach()
    np.testing.assert_allclose(found.numpy(), wanted.numpy(), atol=1e-5)
    assert (height, width, ours.num_patches) == (4, 3, 256)


@pytest.mark.parametrize("use_se", [False, True])
def test_weighed_channels(use_se: bool) -> None:
    """Each channel is multiplied by one number that is the same at all positions."""
    mlp = SEMlp(4, 8, use_se=use_se).eval()
    x = flow.randn(2, 6, 4)
    factors = mlp(x, 2, 3) / super(SEMlp, mlp).forward(x, 2, 3)
    np.testing.assert_allclose(factors.numpy(), factors[:, :1].expand(2, 6, 4).numpy(), rtol=1e-3)
    assert bool((factors == 1).all()) is not use_se


def test_a_fan_of_weighed_channels_learns() -> None:
    model = FAN(32, num_classes=5, embed_dim=16, depth=2, num_heads=2, se_mlp=True)
    model(flow.rand(2, 3, 32, 32)).square().sum().backward()
    # Parameters of blocks, but not those of what normalizes exactly away, get gradients.
    assert all(parameter.grad is not None for parameter in model.parameters())


def test_published_names_of_fan() -> None:
    """Queries, keys and values in one map become three; other names stay."""
    model = FAN(32, num_classes=5, embed_dim=16, depth=1, num_heads=2)
    published: dict[str, flow.Tensor] = {}
    for name, value in model.state_dict().items():
        name = name.replace("pos_embed.", "pos_embeder.")
        if match := re.match(r"(cls_attn_blocks\.\d\.attn\.)([qkv])(\..*)", name):
            name = f"{match[1]}qkv{match[3]}"
            value = flow.cat([published[name], value]) if name in published else value
        published[name] = value
    filtered = checkpoint_filter_fn({"model": published}, model)
    assert set(filtered) == set(model.state_dict())
    for name, value in model.state_dict().items():
        assert flow.equal(filtered[name], value), name


def test_sizes_of_levit_as_texts() -> None:
    with planning():
        rest = {"drop_path": 0.0, "num_classes": 1000, "distillation": True, "pretrained": False}
        model = model_factory("128_256_384", 16, "2_3_4", "4_6_8", name="levit_128s", **rest)
        wanted = levit_128s().state_dict()
    assert {name: tensor.shape for name, tensor in model.state_dict().items()} == {
        name: tensor.shape for name, tensor in wanted.items()
    }
    with pytest.raises(ValueError, match="invalid literal"):
        model_factory("128,256", 16, "2", "4", name="levit_128s", **rest)


def test_normalization_of_channels_at_either_place() -> None:
    x = np.random.randn(2, 4, 5, 3).astype(np.float32)
    weight, bias = np.random.randn(2, 4).astype(np.float32)
    centred = x - x.mean(1, keepdims=True)
    units = centred / np.sqrt((centred**2).mean(1, keepdims=True) + 1e-6)
    expected = units * weight[:, None, None] + bias[:, None, None]
    for layer, order in (
        (LayerNorm(4, data_format="channels_first"), (0, 1, 2, 3)),
        (LayerNorm(4), (0, 2, 3, 1)),
    ):
        layer.load_state_dict({"weight": flow.tensor(weight), "bias": flow.tensor(bias)})
        result = layer(flow.tensor(x.transpose(order))).numpy()
        np.testing.assert_allclose(result, expected.transpose(order), rtol=1e-5, atol=1e-5)


def test_small_parts() -> None:
    x = flow.randn(3)
    assert sigmoid(x) is not x
    wanted = x.sigmoid().numpy()
    assert sigmoid(x, inplace=True) is x
    np.testing.assert_allclose(x.numpy(), wanted)
    layer = LinearLayer(300, 200)
    layer.reset_params()
    assert abs(layer.weight.std().item() - 0.02) < 2e-3
    assert not layer.bias.numpy().any()
    image = flow.randn(1, 4, 3, 3)
    mlp = CMlp(4, 8, drop=1.0)
    assert not mlp(image).numpy().any()  # while `ConvMlp` drops hidden features alone
    plain = ConvMlp(4, 8, act_layer=flow.nn.GELU)
    plain.load_state_dict(mlp.state_dict())
    np.testing.assert_allclose(mlp.eval()(image).numpy(), plain.eval()(image).numpy())
