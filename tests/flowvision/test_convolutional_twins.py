"""Convolutional networks that timm has under other parameter names, or nobody has, by reference."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

import oneflow as flow
from flowvision.models import face_recognition
from flowvision.models.conv_mixer import ConvMixer
from flowvision.models.convnext import ConvNeXt, ConvNeXtIsotropic
from flowvision.models.dla import DLA, BottleneckX, DlaBottleneck, Tree
from flowvision.models.genet import genet_small
from flowvision.models.mobilevit import mobilevit_xx_small
from flowvision.models.poolformer import PoolFormer
from flowvision.models.rexnet import RexNetV1
from flowvision.models.rexnet_lite import ReXNetV1_lite
from flowvision.models.senet import SEBottleneck, SENet
from flowvision.models.van import VAN
from oneflow import nn
from tests.flowvision.zoo import assert_equal_to_twin, assert_same_up_to_spread
from tests.sampling import Sample

State = dict[str, torch.Tensor]


def _dla(block: Callable[..., nn.Module], channels: tuple[int, ...]) -> DLA:
    model = DLA((1, 1, 1, 3, 2, 1), channels, block=block, residual_root=True)
    for module in model.modules():
        if isinstance(module, Tree) and module.levels > 1:
            module.project = nn.Identity()  # which nothing reads, and timm does not have
    return model


def _timm_dla(cardinality: int, base_width: int, channels: tuple[int, ...]) -> torch.nn.Module:
    from timm.models import dla

    return dla.DLA(
        (1, 1, 1, 3, 2, 1),
        channels,
        cardinality=cardinality,
        base_width=base_width,
        block=dla.DlaBottleneck,
        shortcut_root=True,
    )


def _timm(name: str, **options: Any) -> torch.nn.Module:
    import timm

    return timm.create_model(name, **options)


def _timm_senet() -> torch.nn.Module:
    from timm.models import senet

    return senet.SENet(
        senet.SEBottleneck,
        (1, 1, 1, 1),
        groups=64,
        reduction=16,
        inplanes=128,
        input_3x3=True,
        downsample_kernel_size=3,
        downsample_padding=1,
    )


def _timm_convmixer(activation: type[torch.nn.Module]) -> torch.nn.Module:
    from timm.models.convmixer import ConvMixer as Twin

    return Twin(16, 2, kernel_size=5, patch_size=7, act_layer=activation)


def _timm_poolformer() -> torch.nn.Module:
    """Return timm's PoolFormer with the paper's head, which normalizes before it pools."""
    model = _timm("poolformer_s12")
    model.head.global_pool = torch.nn.Identity()
    model.head.norm = torch.nn.Sequential(torch.nn.GroupNorm(1, 512), torch.nn.AdaptiveAvgPool2d(1))
    return model


SMALL = (8, 16, 32, 32, 64, 64)
GROUPED = (16, 32, 64, 64, 128, 128)
CONVNEXT = {
    r"^stem\.": "downsample_layers.0.",
    r"^stages\.(\d)\.downsample\.": r"downsample_layers.\1.",
    r"^stages\.(\d)\.blocks": r"stages.\1",
    "conv_dw": "dwconv",
    r"mlp\.fc": "pwconv",
    r"^head\.norm": "norm",
    r"^head\.fc": "head",
}
POOLFORMER = {
    r"^stem\.conv": "patch_embed.proj",
    r"^stages\.(\d)\.downsample\.conv": lambda match: f"network.{2 * int(match[1]) - 1}.proj",
    r"^stages\.(\d)\.blocks": lambda match: f"network.{2 * int(match[1])}",
    r"layer_scale(\d)\.scale": r"layer_scale_\1",
    r"^head\.norm\.0": "norm",
    r"^head\.fc": "head",
}
CONVNEXT_SIZES: dict[str, Any] = {"depths": (1, 1, 2, 1), "dims": (8, 12, 16, 24)}

# Twins by name: what builds ours, what builds the twin, and the renaming from its parameters to
# ours; where there is none, both have their parameters in the same order.
TWINS: dict[str, tuple[Callable[[], nn.Module], Callable[[], torch.nn.Module], Any]] = {
    "dla": (lambda: _dla(DlaBottleneck, SMALL), lambda: _timm_dla(1, 64, SMALL), {}),
    "dla-x": (lambda: _dla(BottleneckX, GROUPED), lambda: _timm_dla(32, 4, GROUPED), {}),
    "convmixer": (
        lambda: ConvMixer(16, 2, kernel_size=5, patch_size=7),
        lambda: _timm_convmixer(torch.nn.GELU),
        None,
    ),
    "convmixer-relu": (
        lambda: ConvMixer(16, 2, kernel_size=5, patch_size=7, activation=nn.ReLU),
        lambda: _timm_convmixer(torch.nn.ReLU),
        None,
    ),
    "convnext": (
        lambda: ConvNeXt(**CONVNEXT_SIZES),
        lambda: _timm("convnext_tiny", **CONVNEXT_SIZES),
        CONVNEXT,
    ),
    "poolformer": (
        lambda: PoolFormer((2, 2, 6, 2)),
        _timm_poolformer,
        POOLFORMER,
    ),
    "rexnet": (lambda: RexNetV1(), lambda: _timm("rexnet_100"), None),
    "genet": (genet_small, lambda: _timm("gernet_s"), None),
    "mobilevit": (mobilevit_xx_small, lambda: _timm("mobilevit_xxs"), None),
    "senet154": (
        lambda: SENet(SEBottleneck, (1, 1, 1, 1), groups=64, reduction=16),
        _timm_senet,
        {},
    ),
}


@pytest.mark.parametrize("name", TWINS)
def test_equals_twin(name: str, sample: Sample) -> None:
    sample.take_turns(TWINS, name, 2)
    build, build_twin, renaming = TWINS[name]
    model, reference = build(), build_twin()
    if renaming is None:
        positions = dict(zip(reference.state_dict(), model.state_dict(), strict=True))
        rename = positions.__getitem__
    else:

        def rename(parameter: str) -> str:
            for pattern, replacement in renaming.items():
                parameter = re.sub(pattern, replacement, parameter)
            return parameter

    assert_equal_to_twin(model, reference, torch.randn(2, 3, 64, 64), rename)


# --- networks that no library has: their papers' formulas on their own parameters


def _conv(state: State, name: str, x: torch.Tensor, **options: Any) -> torch.Tensor:
    return functional.conv2d(x, state[f"{name}.weight"], state.get(f"{name}.bias"), **options)


def _norm(state: State, name: str, x: torch.Tensor) -> torch.Tensor:
    names = ("running_mean", "running_var", "weight", "bias")
    return functional.batch_norm(x, *(state[f"{name}.{suffix}"] for suffix in names))


def van(state: State, x: torch.Tensor) -> torch.Tensor:
    for stage in range(1, 5):
        embed = f"patch_embed{stage}"
        first = stage == 1
        x = _conv(state, f"{embed}.proj", x, stride=4 if first else 2, padding=3 if first else 1)
        x = _norm(state, f"{embed}.norm", x)
        channels = x.shape[1]
        for block in (f"block{stage}.0", f"block{stage}.1"):
            scale = [state[f"{block}.layer_scale_{index}"][:, None, None] for index in (1, 2)]
            attn, gate = f"{block}.attn", f"{block}.attn.spatial_gating_unit"
            y = _norm(state, f"{block}.norm1", x)
            u = functional.gelu(_conv(state, f"{attn}.proj_1", y))
            kernel = _conv(state, f"{gate}.conv0", u, padding=2, groups=channels)
            kernel = _conv(
                state, f"{gate}.conv_spatial", kernel, padding=9, dilation=3, groups=channels
            )
            u = u * _conv(state, f"{gate}.conv1", kernel)
            x = x + scale[0] * (_conv(state, f"{attn}.proj_2", u) + y)
            hidden = _conv(state, f"{block}.mlp.fc1", _norm(state, f"{block}.norm2", x))
            name = f"{block}.mlp.dwconv.dwconv"
            hidden = _conv(state, name, hidden, padding=1, groups=hidden.shape[1])
            x = x + scale[1] * _conv(state, f"{block}.mlp.fc2", functional.gelu(hidden))
        tokens = x.flatten(2).transpose(1, 2)
        weights = (state[f"norm{stage}.weight"], state[f"norm{stage}.bias"])
        tokens = functional.layer_norm(tokens, (channels,), *weights, eps=1e-6)
        x = tokens.transpose(1, 2).reshape(x.shape)
    return functional.linear(tokens.mean(1), state["head.weight"], state["head.bias"])


def rexnet_lite(state: State, x: torch.Tensor) -> torch.Tensor:
    def conv_norm(first: str, second: str, x: torch.Tensor, **options: Any) -> torch.Tensor:
        return _norm(state, second, _conv(state, first, x, **options))

    x = functional.relu6(conv_norm("features.0", "features.1", x, stride=2, padding=1))
    strides = [1, 2, 1, 2, 1, 2, 1, 1, 1, 1, 1, 2, 1, 1, 1, 1]
    for index, stride in enumerate(strides, start=3):
        out, y = f"features.{index}.out", x
        offset = 0
        if index > 3:
            y = functional.relu6(conv_norm(f"{out}.0", f"{out}.1", y))
            offset = 3
        y = conv_norm(
            f"{out}.{offset}",
            f"{out}.{offset + 1}",
            y,
            stride=stride,
            padding=1,
            groups=y.shape[1],
        )
        y = conv_norm(f"{out}.{offset + 3}", f"{out}.{offset + 4}", functional.relu6(y))
        if stride == 1 and x.shape[1] <= y.shape[1]:
            y[:, : x.shape[1]] += x
        x = y
    x = functional.relu6(conv_norm("features.19", "features.20", x)).mean((2, 3), keepdim=True)
    x = functional.relu6(conv_norm("output.0", "output.1", x))
    return _conv(state, "output.4", x).flatten(1)


def iresnet(state: State, x: torch.Tensor) -> torch.Tensor:
    x = torch.relu(_norm(state, "bn1", _conv(state, "conv1", x, padding=1)))
    for stage in range(1, 5):
        for index in range(2):
            block, stride = f"layer{stage}.{index}", 1 if index else 2
            y = _conv(state, f"{block}.conv1", _norm(state, f"{block}.bn1", x), padding=1)
            y = torch.relu(_norm(state, f"{block}.bn2", y))
            y = _conv(state, f"{block}.conv2", y, stride=stride, padding=1)
            if index == 0:
                x = _conv(state, f"{block}.downsample.0", x, stride=2)
                x = _norm(state, f"{block}.downsample.1", x)
            x = x + _norm(state, f"{block}.bn3", y)
    x = _norm(state, "bn2", x).flatten(1)
    x = functional.linear(x, state["fc.weight"], state["fc.bias"])
    return _norm(state, "features", x)


def convnext_isotropic(state: State, x: torch.Tensor) -> torch.Tensor:
    x = _conv(state, "stem", x, stride=16)
    for index in range(2):
        block = f"blocks.{index}"
        y = _conv(state, f"{block}.dwconv", x, padding=3, groups=x.shape[1]).movedim(1, 3)
        y = functional.layer_norm(
            y, y.shape[-1:], state[f"{block}.norm.weight"], state[f"{block}.norm.bias"], 1e-6
        )
        for layer in ("pwconv1", "pwconv2"):
            weights = (state[f"{block}.{layer}.weight"], state[f"{block}.{layer}.bias"])
            y = functional.linear(functional.gelu(y) if layer == "pwconv2" else y, *weights)
        x = x + y.movedim(3, 1)
    x = functional.layer_norm(
        x.mean((2, 3)), x.shape[1:2], state["norm.weight"], state["norm.bias"], 1e-6
    )
    return functional.linear(x, state["head.weight"], state["head.bias"])


REFERENCES: dict[str, tuple[Callable[[], nn.Module], Callable[..., torch.Tensor], int]] = {
    "van": (
        lambda: VAN(embed_dims=(4, 6, 8, 10), depths=(2, 2, 2, 2), num_classes=7),
        van,
        64,
    ),
    "rexnet_lite": (lambda: ReXNetV1_lite(classes=7), rexnet_lite, 64),
    "iresnet": (
        lambda: face_recognition.IResNet(
            face_recognition.IBasicBlock, (2, 2, 2, 2), num_features=7
        ),
        iresnet,
        112,
    ),
    "convnext_isotropic": (
        lambda: ConvNeXtIsotropic(depth=2, dim=12, num_classes=7),
        convnext_isotropic,
        64,
    ),
}


@pytest.mark.large
@pytest.mark.parametrize("name", REFERENCES)
def test_equals_reference(name: str, sample: Sample) -> None:
    sample.take_turns(REFERENCES, name)
    build, reference, size = REFERENCES[name]
    model = build().double()
    random = np.random.default_rng(0)
    images = torch.randn(4, 3, size, size, dtype=torch.float64)
    for parameter in model.parameters():
        array = parameter.numpy()
        if (array == array.flatten()[0]).all():  # so that scales and biases matter
            noise = flow.tensor(random.uniform(0.2, 0.5, array.shape))
            parameter.data.copy_(parameter.data + noise)
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d | nn.BatchNorm1d):
            module.momentum = 1.0
    model(flow.tensor(images.numpy()))  # sets the running statistics
    model.eval()
    state = {key: torch.tensor(value.numpy()) for key, value in model.state_dict().items()}
    expected = reference(state, images)
    assert (expected[0] - expected[1]).abs().max() > 1e-3 * expected.std()
    assert_same_up_to_spread(model(flow.tensor(images.numpy())), expected, 1e-8)
