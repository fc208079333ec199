"""Drop path, stochastic depth, DropBlock and the initialisation of weights."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

import oneflow as flow
from flowvision import layers
from flowvision.layers.weight_init import variance_scaling_


@pytest.mark.parametrize("mode", ["row", "batch"])
@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
def test_stochastic_depth(mode: str, p: float) -> None:
    flow.manual_seed(0)
    branch = flow.randn(500, 3, 2)
    result = layers.StochasticDepth(p, mode)(branch).numpy()
    kept = (result != 0).any((1, 2))
    scale = 1 / (1 - p) if p < 1 else 0.0
    np.testing.assert_allclose(result[kept], branch.numpy()[kept] * scale, rtol=1e-6)
    if mode == "batch":
        assert kept.all() or not kept.any()
    else:
        assert abs(kept.mean() - (1 - p)) < 0.08


def test_stochastic_depth_has_the_branch_s_gradient() -> None:
    flow.manual_seed(0)
    branch = flow.ones(64, 2, requires_grad=True)
    result = layers.drop_path(branch, 0.5, training=True)
    result.sum().backward()
    np.testing.assert_array_equal(branch.grad.numpy(), result.detach().numpy())


@pytest.mark.parametrize(
    "layer", [layers.DropPath(0.5), layers.StochasticDepth(0.5, "row"), layers.DropBlock(3)]
)
def test_nothing_happens_in_evaluation(layer: flow.nn.Module) -> None:
    x = flow.randn(4, 2, 8, 8)
    np.testing.assert_array_equal(layer.eval()(x).numpy(), x.numpy())


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_drop_block_drops_whole_squares(size: int) -> None:
    flow.manual_seed(1)
    dropped = layers.DropBlock(block_size=size, p=0.2)(flow.ones(20, 4, 16, 16)).numpy()
    holes = torch.from_numpy((dropped == 0).astype(np.float32))
    corners = 1 - torch.nn.functional.max_pool2d(1 - holes, size, stride=1)  # whole squares
    grown = torch.nn.functional.max_pool2d(
        torch.nn.functional.pad(corners, (size - 1,) * 4), size, stride=1
    )
    torch.testing.assert_close(grown, holes)
    assert abs(holes.mean() - 0.2) < 0.06
    np.testing.assert_allclose(dropped.mean(), 1, rtol=1e-4)


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match="probability"):
        layers.stochastic_depth(flow.ones(2), 1.5, "row")
    with pytest.raises(ValueError, match="'batch' or 'row'"):
        layers.stochastic_depth(flow.ones(2), 0.5, "column")
    with pytest.raises(ValueError, match="below 1"):
        layers.DropBlock(p=1.0)
    with pytest.raises(ValueError, match="squares of 7 got a feature map of 4 x 9"):
        layers.DropBlock()(flow.ones(1, 1, 4, 9))
    with pytest.raises(ValueError, match="`distribution`"):
        variance_scaling_(flow.empty(2, 2), distribution="cauchy")
    with pytest.raises(ValueError, match="even"):
        layers.GluMlp(4, 3)
    with pytest.raises(ValueError, match=r"\(N, C, 32, 32\)"):
        layers.PatchEmbed(32, 8)(flow.ones(1, 3, 32, 16))


@pytest.mark.parametrize("distribution", ["normal", "truncated_normal", "uniform"])
@pytest.mark.parametrize(("mode", "fan"), [("fan_in", 108), ("fan_out", 1800), ("fan_avg", 954)])
def test_variance(distribution: str, mode: str, fan: int) -> None:
    flow.manual_seed(2)
    numbers = variance_scaling_(flow.empty(200, 12, 3, 3), 2.0, mode, distribution).numpy()
    np.testing.assert_allclose(numbers.std(), math.sqrt(2 / fan), rtol=0.02)
    assert abs(numbers.mean()) < 0.02 * numbers.std()
    if distribution != "normal":
        assert np.abs(numbers).max() < 2.4 * numbers.std()


def test_gates_open() -> None:
    gated = layers.GluMlp(6, 8, act_layer=flow.nn.Identity)
    gated.init_weights()
    x = flow.randn(3, 6)
    values = gated.fc1(x)[:, :4]
    np.testing.assert_allclose(gated(x).numpy(), gated.fc2(values).numpy(), atol=1e-4)
