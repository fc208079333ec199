"""Attention in models without a twin, restated token by token in PyTorch.

Each reference computes a block's attention with loops over windows and offsets, from the weights of
ours and the formulas of the paper.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional as F

import oneflow as flow
from flowvision.layers import SR_Attention
from flowvision.layers.blocks import stage
from flowvision.models import (
    crossformer,
    cswin,
    deit_III,
    fan,
    pvt,
    regionvit,
    swin_transformer,
    uniformer,
)
from flowvision.models.image_classifier import ImageClassifier
from oneflow.utils.checkpoint import checkpoint
from tests.flowvision.zoo import timm_module
from tests.oracle import eager_mode


def weights(module: flow.nn.Module) -> dict[str, torch.Tensor]:
    """Return the state of `module`, redrawn so that nothing in it is constant."""
    generator = torch.Generator().manual_seed(0)
    state = {}
    for name, parameter in module.named_parameters():
        value = 0.3 * torch.randn(tuple(parameter.shape), generator=generator, dtype=torch.float64)
        state[name] = value + ("norm" in name and "weight" in name)
    module.load_state_dict(
        {name: flow.tensor(value.numpy()) for name, value in state.items()}, strict=False
    )
    return state


def linear(state: dict[str, torch.Tensor], name: str, x: torch.Tensor) -> torch.Tensor:
    return F.linear(x, state[f"{name}.weight"], state.get(f"{name}.bias"))


def layer_norm(state: dict[str, torch.Tensor], name: str, x: torch.Tensor) -> torch.Tensor:
    weight, bias = state[f"{name}.weight"], state[f"{name}.bias"]
    return F.layer_norm(x, weight.shape, weight, bias, 1e-5)


def attend(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, heads: int, bias: Any = None
) -> torch.Tensor:
    """Return what every head makes of tokens (tokens, dim), next to one another."""
    results = []
    for head, (query, key, value) in enumerate(
        zip(q.chunk(heads, -1), k.chunk(heads, -1), v.chunk(heads, -1), strict=True)
    ):
        scores = query @ key.T / query.shape[-1] ** 0.5
        if bias is not None:
            scores = scores + bias[head]
        results.append(scores.softmax(-1) @ value)
    return torch.cat(results, -1)


def assert_matches(
    module: flow.nn.Module, x: np.ndarray, expected: torch.Tensor, *more: int
) -> None:
    actual = module.double()(flow.tensor(x), *more).numpy()
    np.testing.assert_allclose(actual, expected.numpy(), rtol=1e-9, atol=1e-9)


def tokens(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape)


@pytest.mark.parametrize("reduction", [1, 2, 3])
def test_spatial_reduction(reduction: int) -> None:
    attention = SR_Attention(12, num_heads=3, qkv_bias=True, sr_ratio=reduction).double()
    state = weights(attention)
    x = tokens(2, 54, 12)
    expected = []
    for image in torch.from_numpy(x):
        reduced = image
        if reduction > 1:
            grid = image.T.reshape(1, 12, 6, 9)
            grid = F.conv2d(grid, state["sr.weight"], state["sr.bias"], stride=reduction)
            reduced = layer_norm(state, "norm", grid.flatten(2)[0].T)
        key, value = linear(state, "kv", reduced).chunk(2, -1)
        mixed = attend(linear(state, "q", image), key, value, heads=3)
        expected.append(linear(state, "proj", mixed))
    assert_matches(attention, x, torch.stack(expected), 6, 9)


@pytest.mark.parametrize(("grid", "split"), [(6, 2), (6, 3), (4, 4)])
def test_cross_shaped_windows(grid: int, split: int) -> None:
    dim, heads = 8, 4
    block = cswin.CSWinBlock(dim, grid, heads, split, qkv_bias=True).double()
    state = weights(block)
    x = tokens(2, grid * grid, dim)

    def stripes(direction: int) -> list[list[int]]:
        """Return the positions of each stripe, row by row."""
        positions = np.arange(grid * grid).reshape(grid, grid)
        if grid == split:
            return [positions.ravel().tolist()]
        starts = range(0, grid, split)
        if direction == 0:
            return [positions[:, at : at + split].ravel().tolist() for at in starts]
        return [positions[at : at + split].ravel().tolist() for at in starts]

    directions = [0] if grid == split else [0, 1]
    expected = torch.zeros(2, grid * grid, dim, dtype=torch.float64)
    for sample, image in enumerate(torch.from_numpy(x)):
        parts = linear(state, "qkv", layer_norm(state, "norm1", image)).chunk(3, -1)
        width = dim // len(directions)
        mixed = torch.zeros(grid * grid, dim, dtype=torch.float64)
        for direction in directions:
            channels = slice(direction * width, (direction + 1) * width)
            for stripe in stripes(direction):
                q, k, v = (part[stripe, channels] for part in parts)
                high = grid if direction == 0 else split
                image_of_values = v.T.reshape(1, width, high, -1)
                positions = F.conv2d(
                    image_of_values,
                    state[f"attns.{direction}.get_v.weight"],
                    state[f"attns.{direction}.get_v.bias"],
                    padding=1,
                    groups=width,
                )
                heads_here = heads // len(directions)
                here = attend(q, k, v, heads_here) + positions.flatten(2)[0].T
                mixed[torch.tensor(stripe)[:, None], torch.arange(dim)[channels]] = here
        expected[sample] = linear(state, "proj", mixed)
    np.testing.assert_allclose(
        block.attend(flow.tensor(x)).numpy(), expected.numpy(), rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("far", [0, 1])
@pytest.mark.parametrize("residual", [False, True])
def test_near_and_far_groups(far: int, residual: bool) -> None:
    dim, heads, size, height, width = 128, 4, 2, 4, 6
    block = crossformer.CrossFormerBlock(dim, (height, width), heads, size, far).double()
    block.attn.pos.residual, state = residual, weights(block)
    # A number that is the same for all offsets would have no effect.
    assert np.ptp(block.attn.pos(block.attn.biases).numpy(), axis=0).min() > 1e-3
    x = tokens(2, height * width, dim)

    def bias(dy: int, dx: int) -> torch.Tensor:
        """Return what the network of offsets adds to the scores of each head."""
        value = linear(state, "attn.pos.pos_proj", torch.tensor([dy, dx], dtype=torch.float64))
        for layer in ("attn.pos.pos1", "attn.pos.pos2", "attn.pos.pos3"):
            hidden = layer_norm(state, f"{layer}.0", value).relu()
            out = linear(state, f"{layer}.2", hidden)
            value = value + out if residual and layer != "attn.pos.pos3" else out
        return value

    def group_of(row: int, column: int) -> tuple[int, int]:
        if far:  # members lie as far apart as there are groups
            return row % (height // size), column % (width // size)
        return row // size, column // size

    expected = torch.zeros(2, height * width, dim, dtype=torch.float64)
    cells = list(itertools.product(range(height), range(width)))
    for sample, image in enumerate(torch.from_numpy(x)):
        q, k, v = linear(state, "attn.qkv", layer_norm(state, "norm1", image)).chunk(3, -1)
        for group in {group_of(*cell) for cell in cells}:
            members = [index for index, cell in enumerate(cells) if group_of(*cell) == group]
            places = list(itertools.product(range(size), repeat=2))
            biases = torch.stack(
                [torch.stack([bias(a - c, b - d) for c, d in places]) for a, b in places]
            ).permute(2, 0, 1)
            mixed = attend(q[members], k[members], v[members], heads, biases)
            expected[sample, members] = linear(state, "attn.proj", mixed)
    np.testing.assert_allclose(
        block.attend(flow.tensor(x)).numpy(), expected.numpy(), rtol=1e-9, atol=1e-9
    )


def test_patches_of_several_sizes_have_common_centres() -> None:
    embedding = crossformer.CrossScaleEmbedding((4, 8), 3, 8, None)
    images = np.zeros((1, 3, 16, 16), np.float32)
    images[:, :, 6, 6] = 1  # inside the second patch of 4 x 4 of the second row
    moved = embedding(flow.tensor(images)) - embedding(flow.zeros(1, 3, 16, 16))
    small, large = (part.abs().sum(-1).reshape(4, 4).numpy() > 0 for part in moved.split(4, -1))
    assert small.sum() == 1
    assert small[1, 1]
    assert large.sum() == 4  # patches of 8 x 8 every 4 pixels overlap
    assert large[1:3, 1:3].sum() == 4 or large[0:2, 0:2].sum() == 4


def sines_and_cosines(size: int, hidden: int) -> torch.Tensor:
    position = 2 * math.pi * torch.arange(1, size + 1, dtype=torch.float64) / (size + 1e-6)
    columns = []
    for channel in range(hidden):
        phase = position / 10000 ** (2 * (channel // 2) / hidden)
        columns.append(phase.cos() if channel % 2 else phase.sin())
    return torch.stack(columns, -1)


def test_waves_of_positions() -> None:
    encoding = fan.PositionalEncodingFourier(hidden_dim=6, dim=8).double()
    state = weights(encoding)
    rows, columns = sines_and_cosines(3, 6), sines_and_cosines(5, 6)
    waves = torch.cat([rows[:, None].expand(3, 5, 6), columns[None].expand(3, 5, 6)], -1)
    projection = state["token_projection.weight"].flatten(1)
    expected = F.linear(waves, projection, state["token_projection.bias"]).reshape(1, 15, 8)
    np.testing.assert_allclose(encoding(3, 5).numpy(), expected.numpy(), rtol=1e-9)


def test_class_attention_is_that_of_xcit() -> None:
    xcit = timm_module("models.xcit")
    ours = fan.ClassAttentionBlock(12, 3, qkv_bias=True).double()
    state = weights(ours)
    twin = xcit.ClassAttentionBlock(12, 3, qkv_bias=True, eta=1.0, tokens_norm=True).double()
    for norm in (twin.norm1, twin.norm2):
        norm.eps = 1e-6
    twin.load_state_dict(state)
    x = tokens(2, 5, 12)
    assert_matches(ours, x, twin(torch.from_numpy(x)).detach())


def test_channel_attention() -> None:
    dim, heads, height, width = 12, 3, 3, 4
    processing = fan.ChannelProcessing(dim, heads, qkv_bias=True, mlp_hidden_dim=20)
    processing = processing.double().eval()
    state = weights(processing)
    x = tokens(2, height * width, dim)
    expected = torch.zeros(2, height * width, dim, dtype=torch.float64)
    for sample, image in enumerate(torch.from_numpy(x)):
        hidden = linear(state, "mlp_v.fc1", image)
        grid = hidden.T.reshape(1, 20, height, width)
        for layer in ("conv1", "conv2"):
            weight, bias = (state[f"mlp_v.dwconv.{layer}.{name}"] for name in ("weight", "bias"))
            grid = F.conv2d(grid, weight, bias, padding=1, groups=20)
            if layer == "conv1":  # the running statistics are 0 and 1
                scale = state["mlp_v.dwconv.bn.weight"] / math.sqrt(1 + 1e-5)
                shift = state["mlp_v.dwconv.bn.bias"]
                grid = F.gelu(grid) * scale[:, None, None] + shift[:, None, None]
        hidden = hidden + state["mlp_v.gamma"] * grid.flatten(2)[0].T
        values = layer_norm(state, "norm_v", linear(state, "mlp_v.fc2", hidden))
        query = linear(state, "q", image).softmax(0)  # over the tokens
        key = image.softmax(0)
        for channel in range(dim):
            head = channel // (dim // heads)
            members = slice(head * dim // heads, (head + 1) * dim // heads)
            agreement = (query[:, channel] * key[:, members].mean(-1)).sum()
            gate = agreement.sigmoid() * state["temperature"][head]
            expected[sample, :, channel] = gate * values[:, channel]
    assert_matches(processing, x, expected, height, width)


@pytest.mark.parametrize(("height", "width"), [(6, 9), (5, 7)], ids=["tiled", "padded"])
def test_regional_and_local_attention(height: int, width: int) -> None:
    """Windows of 3 x 3 local tokens and their regional token, with overhanging windows hidden."""
    dim, heads, size, rows, columns = 8, 2, 3, 2, 3
    attention = regionvit.AttentionWithRelPos(dim, heads, size, qkv_bias=True).double()
    state = weights(attention)
    regional, local = tokens(1, dim, rows, columns), tokens(1, dim, height, width)
    layout, mask = regionvit.convert_to_flatten_layout(
        flow.tensor(regional), flow.tensor(local), size
    )
    assert (mask is not None) == (height % size > 0)
    mixed = attention.local_attention(layout, mask)
    first, rest = regionvit.convert_to_spatial_layout(mixed, (rows, columns), (height, width), size)

    for row, column in itertools.product(range(rows), range(columns)):
        cells = [
            (y, x)
            for y in range(row * size, min((row + 1) * size, height))
            for x in range(column * size, min((column + 1) * size, width))
        ]
        members = [regional[0, :, row, column], *(local[0, :, y, x] for y, x in cells)]
        parts = linear(state, "qkv", torch.from_numpy(np.stack(members))).chunk(3, -1)
        bias = torch.zeros(heads, len(members), len(members), dtype=torch.float64)
        for (i, a), (j, b) in itertools.product(enumerate(cells), repeat=2):
            # Offsets below minus half a window wrap around in published weights.
            down, right = ((b[axis] - a[axis] + size // 2) % (2 * size - 1) for axis in (0, 1))
            bias[:, i + 1, j + 1] = state["rel_pos"][:, down * (2 * size - 1) + right]
        expected = linear(state, "proj", attend(*parts, heads, bias)).numpy()
        np.testing.assert_allclose(first[0, :, row, column].numpy(), expected[0], rtol=1e-9)
        for (y, x), value in zip(cells, expected[1:], strict=True):
            np.testing.assert_allclose(rest[0, :, y, x].numpy(), value, rtol=1e-9)


def test_windows_of_regions_are_undone() -> None:
    regional, local = flow.randn(2, 4, 2, 3), flow.randn(2, 4, 5, 8)
    layout, _ = regionvit.convert_to_flatten_layout(regional, local, 3)
    assert layout.shape == (2, 6, 10, 4)
    again = regionvit.convert_to_spatial_layout(layout, (2, 3), (5, 8), 3)
    for actual, expected in zip(again, (regional, local), strict=True):
        np.testing.assert_array_equal(actual.numpy(), expected.numpy())


@pytest.mark.parametrize("layer_scale", [None, 0.5])
def test_attention_with_positions_of_a_convolution(layer_scale: float | None) -> None:
    dim, heads = 8, 2
    options = {"qkv_bias": True, "layer_scale": layer_scale, "norm_layer": flow.nn.LayerNorm}
    block = uniformer.SABlock(dim, heads, **options).double()
    state = weights(block)
    x = tokens(2, dim, 3, 5)
    images = torch.from_numpy(x)
    weight, bias = state["pos_embed.weight"], state["pos_embed.bias"]
    images = images + F.conv2d(images, weight, bias, padding=1, groups=dim)
    expected = []
    for image in images.flatten(2).transpose(1, 2):
        parts = linear(state, "attn.qkv", layer_norm(state, "norm1", image)).chunk(3, -1)
        branch = linear(state, "attn.proj", attend(*parts, heads))
        image = image + branch * state.get("gamma_1", 1.0)
        hidden = F.gelu(linear(state, "mlp.fc1", layer_norm(state, "norm2", image)))
        image = image + linear(state, "mlp.fc2", hidden) * state.get("gamma_2", 1.0)
        expected.append(image.T.reshape(dim, 3, 5))
    assert_matches(block, x, torch.stack(expected))


def test_convolution_among_near_positions() -> None:
    dim = 6
    block = uniformer.CBlock(dim).double().eval()
    state = weights(block)
    x = tokens(2, dim, 5, 4)

    def convolve(name: str, images: torch.Tensor, **options: int) -> torch.Tensor:
        return F.conv2d(images, state[f"{name}.weight"], state[f"{name}.bias"], **options)

    def norm(name: str, images: torch.Tensor) -> torch.Tensor:
        ones = torch.ones(dim, dtype=torch.float64)
        return F.batch_norm(images, 0 * ones, ones, state[f"{name}.weight"], state[f"{name}.bias"])

    images = torch.from_numpy(x)
    images = images + convolve("pos_embed", images, padding=1, groups=dim)
    branch = convolve("conv1", norm("norm1", images))
    images = images + convolve("conv2", convolve("attn", branch, padding=2, groups=dim))
    hidden = F.gelu(convolve("mlp.fc1", norm("norm2", images)))
    assert_matches(block, x, images + convolve("mlp.fc2", hidden))


SMALL: list[tuple[type[ImageClassifier], dict[str, Any]]] = [
    (
        pvt.PyramidVisionTransformer,
        {
            "patch_size": 4,
            "embed_dims": (8, 16),
            "num_heads": (1, 2),
            "mlp_ratios": (2, 2),
            "depths": (1, 1),
            "sr_ratios": (2, 1),
        },
    ),
    (
        cswin.CSWinTransformer,
        {"embed_dim": 8, "depth": (1, 1), "split_size": (2, 4), "num_heads": (2, 2)},
    ),
    (
        crossformer.CrossFormer,
        {
            "patch_size": (4, 8),
            "embed_dim": 64,
            "depths": (2, 1),
            "num_heads": (2, 2),
            "group_size": 4,
            "merge_size": ((2, 4),),
        },
    ),
    (fan.FAN, {"embed_dim": 16, "depth": 1, "num_heads": 2}),
    (fan.FAN, {"embed_dim": 8, "depth": 1, "num_heads": 2, "hybrid_depths": (1, 1)}),
    (
        regionvit.RegionViT,
        {
            "embed_dim": (8, 16),
            "depth": (2, 1),
            "num_heads": (2, 2),
            "window_size": 4,
            "peg": True,
        },
    ),
]


# It moves local tokens only, and after the last block of a RegionViT regional ones are read.
UNREAD = {"layers.1.block.1.attn.rel_pos"}


@pytest.mark.parametrize(("architecture", "options"), SMALL)
def test_everything_takes_part(
    architecture: type[ImageClassifier], options: dict[str, Any]
) -> None:
    """Every parameter and every pixel changes the result."""
    model = architecture(img_size=32, num_classes=3, **options).double()
    weights(model)
    images = flow.tensor(tokens(2, 3, 32, 32), requires_grad=True)
    model(images).square().sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert (np.abs(parameter.grad.numpy()).max() > 0) == (name not in UNREAD), name
    assert (images.grad.numpy() != 0).all()


@pytest.mark.parametrize(("architecture", "options"), SMALL)
def test_other_image_sizes_are_refused(
    architecture: type[ImageClassifier], options: dict[str, Any]
) -> None:
    model = architecture(img_size=32, **options)
    with pytest.raises(ValueError, match=r"images of shape \(N, C, 32, 32\)"):
        model(flow.zeros(1, 3, 32, 40))
    model.reset_classifier(0)
    assert model(flow.zeros(1, 3, 32, 32)).shape == (1, model.num_features)


# Small models all of whose heads have the same size, and that size; the first three take
# `use_checkpoint`.
EQUAL_HEADS: list[tuple[type[ImageClassifier], dict[str, Any], int]] = [
    (
        swin_transformer.SwinTransformer,
        {"img_size": 32, "embed_dim": 8, "depths": (2, 1), "num_heads": (2, 4), "window_size": 4},
        4,
    ),
    (
        crossformer.CrossFormer,
        {"img_size": 32, **dict(SMALL)[crossformer.CrossFormer], "num_heads": (2, 4)},
        32,
    ),
    (
        cswin.CSWinTransformer,
        {
            "img_size": 32,
            "embed_dim": 8,
            "depth": (2, 1),
            "split_size": (2, 4),
            "num_heads": (2, 4),
        },
        4,
    ),
    (pvt.PyramidVisionTransformer, {"img_size": 32, **SMALL[0][1]}, 8),
    (
        uniformer.UniFormer,
        {"depth": (1, 1, 1, 1), "embed_dim": (8, 8, 16, 16), "head_dim": 8},
        8,
    ),
    (
        deit_III.DeiT3,
        {"img_size": 32, "patch_size": 8, "embed_dim": 12, "depth": 1, "num_heads": 3},
        4,
    ),
]


def logits_and_grads(
    architecture: type[ImageClassifier], options: dict[str, Any]
) -> list[np.ndarray]:
    model = architecture(num_classes=3, drop_path_rate=0.0, **options).double()
    weights(model)
    with eager_mode("cold"):
        logits = model(flow.tensor(tokens(2, 3, 32, 32)))
        logits.square().sum().backward()
        return [logits.detach().numpy(), *(p.grad.numpy() for p in model.parameters())]


@pytest.mark.parametrize(("architecture", "options", "head_dim"), EQUAL_HEADS)
def test_scores_are_scaled(
    architecture: type[ImageClassifier], options: dict[str, Any], head_dim: int
) -> None:
    plain, same, other = (
        logits_and_grads(architecture, {**options, "qk_scale": scale})
        for scale in (None, head_dim**-0.5, 2.0)
    )
    for want, got in zip(plain, same, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9)
    assert np.abs(other[0] - plain[0]).max() > 1e-4 * np.abs(plain[0]).max()


@pytest.mark.parametrize(("architecture", "options", "head_dim"), EQUAL_HEADS[:3])
def test_blocks_run_again(
    architecture: type[ImageClassifier],
    options: dict[str, Any],
    head_dim: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Gradients are the same, and each block that runs again has been asked to."""
    plain = logits_and_grads(architecture, options)
    asked = []

    def counted(block: flow.nn.Module, x: flow.Tensor, **settings: Any) -> flow.Tensor:
        asked.append(block)
        return checkpoint(block, x, **settings)

    monkeypatch.setattr(stage, "checkpoint", counted)
    name = "use_chk" if architecture is cswin.CSWinTransformer else "use_checkpoint"
    again = logits_and_grads(architecture, {**options, name: True})
    for want, got in zip(plain, again, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9)
    assert len(asked) == 3
