"""Attention in models without a twin, restated token by token in PyTorch.

Each reference computes a block's attention with loops over windows and offsets, from the weights of
ours and the formulas of the paper.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional as F

import oneflow as flow
from flowvision.layers import SR_Attention
from flowvision.models import crossformer, cswin, pvt
from flowvision.models.image_classifier import ImageClassifier


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
    dim, heads, size, height, width = 16, 4, 2, 4, 6
    block = crossformer.CrossFormerBlock(dim, (height, width), heads, size, far).double()
    block.attn.pos.residual = residual
    state = weights(block)
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
]


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
        assert parameter.grad.abs().max() > 0, name
    assert (images.grad != 0).all()


@pytest.mark.parametrize(("architecture", "options"), SMALL)
def test_other_image_sizes_are_refused(
    architecture: type[ImageClassifier], options: dict[str, Any]
) -> None:
    model = architecture(img_size=32, **options)
    with pytest.raises(ValueError, match=r"images of shape \(N, C, 32, 32\)"):
        model(flow.zeros(1, 3, 32, 40))
    model.reset_classifier(0)
    assert model(flow.zeros(1, 3, 32, 32)).shape == (1, model.num_features)
