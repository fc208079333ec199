"""Attention over channels and positions, and padding, against timm and against formulas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import oneflow as flow
from flowvision import layers
from flowvision.layers.attention.cbam import ChannelAttn, SpatialAttn
from flowvision.layers.blocks.conv2d_same import conv2d_same, create_conv2d_pad
from flowvision.layers.blocks.padding import get_padding_value, pad_same
from oneflow import nn
from tests.flowvision import zoo  # makes timm importable

IMAGE = np.random.default_rng(0).standard_normal((3, 32, 7, 5))

# Twins by name: ours, timm's class and arguments, and renamings of its parameters.
TWINS: dict[str, tuple[Callable[[], nn.Module], str, dict[str, Any], dict[str, str]]] = {
    "non-local": (lambda: layers.NonLocalAttn(32), "NonLocalAttn", {"in_channels": 32}, {}),
    "non-local, no scale": (
        lambda: layers.NonLocalAttn(32, use_scale=False, rd_channels=6),
        "NonLocalAttn",
        {"in_channels": 32, "use_scale": False, "rd_channels": 6},
        {},
    ),
    "se": (
        lambda: layers.SEModule(32, reduction=4),
        "SEModule",
        {"channels": 32, "rd_channels": 8},
        {},
    ),
    "cbam": (
        lambda: layers.CbamModule(32),
        "CbamModule",
        {"channels": 32},
        {"conv.conv": "conv.0", "conv.bn": "conv.1"},
    ),
    "cbam, large": (
        lambda: layers.CbamModule(32, rd_ratio=0.3, rd_divisor=8, spatial_kernel_size=3),
        "CbamModule",
        {"channels": 32, "rd_ratio": 0.3, "rd_divisor": 8, "spatial_kernel_size": 3},
        {"conv.conv": "conv.0", "conv.bn": "conv.1"},
    ),
    "eca": (lambda: layers.EcaModule(32), "EcaModule", {"channels": 32}, {}),
    "eca, of 512": (lambda: layers.EcaModule(512), "EcaModule", {"channels": 512}, {}),
    "eca, by size": (lambda: layers.EcaModule(kernel_size=5), "EcaModule", {"kernel_size": 5}, {}),
    "global context": (
        lambda: layers.GlobalContext(32, fuse_add=True),
        "GlobalContext",
        {"channels": 32, "fuse_add": True},
        {},
    ),
    "global context, mean": (
        lambda: layers.GlobalContext(32, use_attn=False),
        "GlobalContext",
        {"channels": 32, "use_attn": False},
        {},
    ),
}


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", TWINS)
def test_equals_twin(name: str, training: bool) -> None:
    import timm.layers
    from timm.layers import cbam

    build, twin_name, options, renaming = TWINS[name]
    model = build().double()
    twin = getattr(cbam if "Cbam" in twin_name else timm.layers, twin_name)
    reference = twin(**options).double()
    for module in reference.modules():
        if isinstance(module, torch.nn.LayerNorm):
            module.eps = 1e-5  # as when this layer came to flowvision

    def rename(parameter: str) -> str:
        for old, new in renaming.items():
            parameter = parameter.replace(old, new)
        return parameter

    for parameter in reference.parameters():
        torch.nn.init.normal_(parameter)
    zoo.load_from_torch(model, reference, rename)
    model.train(training)
    reference.train(training)
    channels = options.get("channels", 32)
    image = np.resize(IMAGE, (3, channels, 7, 5))
    ours = flow.tensor(image, requires_grad=True)
    theirs = torch.tensor(image, requires_grad=True)
    actual, expected = model(ours), reference(theirs)
    zoo.assert_same_up_to_spread(actual, expected, 1e-9)
    actual.square().sum().backward()
    expected.square().sum().backward()
    zoo.assert_same_up_to_spread(ours.grad, theirs.grad, 1e-8)


@pytest.mark.parametrize("mode", ["l1", "l2"])
def test_gated_channel_transformation(mode: Any) -> None:
    model = layers.GCTModule(32, mode=mode).double()
    random = np.random.default_rng(1)
    alpha, gamma, beta = (random.standard_normal((1, 32, 1, 1)) for _ in range(3))
    for parameter, value in zip(model.parameters(), (alpha, gamma, beta), strict=True):
        parameter.data.copy_(flow.tensor(value))
    order = 2 if mode == "l2" else 1
    norms = alpha * np.linalg.norm(IMAGE.reshape(3, 32, -1), order, axis=2)[..., None, None]
    typical = (np.abs(norms) ** order).mean(1, keepdims=True) ** (1 / order)
    expected = IMAGE * (1 + np.tanh(gamma * norms / typical + beta))
    np.testing.assert_allclose(model(flow.tensor(IMAGE)).detach().numpy(), expected, rtol=1e-4)


def test_bottleneck_attention_adds_channels_and_positions() -> None:
    model = layers.BAMModule(32).double().eval()
    x = flow.tensor(IMAGE)
    channels, positions = model.channel(x), model.spatial(x)
    assert channels.shape == (3, 32, 1, 1)
    assert positions.shape == (3, 1, 7, 5)
    expected = IMAGE * (1 + 1 / (1 + np.exp(-(channels + positions).detach().numpy())))
    np.testing.assert_allclose(model(x).detach().numpy(), expected, rtol=1e-9)
    assert positions.std().item() > 0
    dilated = model.spatial.conv_layers[1][0]
    assert (tuple(dilated.dilation), tuple(dilated.padding)) == ((4, 4), (4, 4))


def test_coordinate_attention_weighs_rows_and_columns() -> None:
    model = layers.CoordAttModule(32, rd_channels=4).double().eval()
    x = flow.tensor(IMAGE)
    weights = (model(x) / x).detach().numpy()
    # A product of a weight per row and a weight per column: every 2 x 2 minor vanishes.
    minors = weights[..., :1, :1] * weights - weights[..., :1] * weights[..., :1, :]
    assert np.abs(minors).max() < 1e-9
    assert weights.std() > 1e-3
    transposed = layers.CoordAttModule(32, rd_channels=4).double().eval()
    state = model.state_dict()
    swapped = {
        key.replace("conv_h", "?").replace("conv_w", "conv_h").replace("?", "conv_w"): value
        for key, value in state.items()
    }
    transposed.load_state_dict(swapped)
    other = transposed(x.transpose(2, 3)).transpose(2, 3)
    np.testing.assert_allclose(other.detach().numpy(), model(x).detach().numpy(), rtol=1e-9)


def test_attention_in_its_limits() -> None:
    x = flow.tensor(IMAGE)
    closed = ChannelAttn(32).double()
    nn.init.zeros_(closed.fc2.weight)
    assert flow.allclose(closed(x), x / 2)  # the gate of zero
    closed = SpatialAttn(3).double()
    nn.init.zeros_(closed.conv[0].weight)
    assert flow.allclose(closed(x), x / 2)
    with pytest.raises(ValueError, match="odd"):
        layers.EcaModule(kernel_size=4)
    with pytest.raises(ValueError, match="mode"):
        layers.GCTModule(4, mode="l3")  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("size", [(7, 8), (9, 5), (3, 3)])
@pytest.mark.parametrize("kernel", [(3, 3), (4, 2), (1, 5)])
@pytest.mark.parametrize("stride", [(1, 1), (2, 3)])
@pytest.mark.parametrize("dilation", [(1, 1), (2, 1)])
def test_same_padding(size: Any, kernel: Any, stride: Any, dilation: Any) -> None:
    import timm.layers

    x, weight = torch.randn(2, 4, *size), torch.randn(6, 2, *kernel)
    wanted = timm.layers.conv2d_same(x, weight, None, stride, (0, 0), dilation, 2)
    ours = (flow.tensor(x.numpy()), flow.tensor(weight.numpy()))
    actual = conv2d_same(*ours, None, stride, (0, 0), dilation, 2)
    assert tuple(actual.shape[2:]) == tuple(
        -(-extent // step) for extent, step in zip(size, stride, strict=True)
    )
    np.testing.assert_allclose(actual.numpy(), wanted.numpy(), rtol=1e-4, atol=1e-5)
    padded = timm.layers.pad_same(x, kernel, stride, dilation, value=2.0)
    np.testing.assert_array_equal(
        pad_same(ours[0], kernel, stride, dilation, value=2.0).numpy(), padded.numpy()
    )


def test_padding_by_name() -> None:
    from timm.layers.padding import get_padding_value as reference

    for padding in ("same", "valid", "", 3):
        for kernel in (1, 3, 4):
            for sizes in ({}, {"stride": 2}, {"dilation": 2}):
                assert get_padding_value(padding, kernel, **sizes) == reference(
                    padding, kernel, **sizes
                )
    with pytest.raises(ValueError, match="padding"):
        get_padding_value("sane", 3)
    assert isinstance(create_conv2d_pad(3, 4, 3, stride=2, padding="same"), layers.Conv2dSame)
    assert create_conv2d_pad(3, 4, 3, padding="same").padding == (1, 1)


@pytest.mark.parametrize("groups", [1, 2])
def test_dynamic_convolution_mixes_kernels(groups: int) -> None:
    layer = layers.Dynamic_conv2d(8, 6, 3, stride=2, padding=1, groups=groups, temperature=4)
    nn.init.normal_(layer.bias)
    assert all(kernel.std().item() > 0.05 for kernel in layer.weight)
    x = flow.randn(3, 8, 7, 7)
    mixture = layer.attention(x)
    assert flow.allclose(mixture.sum(1), flow.ones(3))
    assert mixture.std().item() > 1e-4
    single = [
        nn.functional.conv2d(x, weight, bias, 2, 1, groups=groups)
        for weight, bias in zip(layer.weight, layer.bias, strict=True)
    ]
    expected = sum(
        mixture[:, index, None, None, None] * weight for index, weight in enumerate(single)
    )
    assert flow.allclose(layer(x), expected, atol=1e-5)
    layer.update_temperature()
    layer.update_temperature()
    assert layer.attention.temperature == 1
    with pytest.raises(ValueError, match="temperature"):
        layers.Dynamic_conv2d(8, 6, 3, temperature=3)
    with pytest.raises(ValueError, match="groups"):
        layers.Dynamic_conv2d(8, 6, 3, groups=3)
