"""Initialisers: exact ones against PyTorch's, random ones by their distribution."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

import oneflow as flow
from tests.nn.twins import raised_by

SHAPE = (60, 50, 2, 2)


@pytest.mark.parametrize(
    "fill",
    [
        lambda lib: lib.nn.init.constant_(lib.empty(2, 3), 0.3),
        lambda lib: lib.nn.init.constant_(lib.empty(2, dtype=lib.int64), 3),
        lambda lib: lib.nn.init.ones_(lib.empty(2)),
        lambda lib: lib.nn.init.zeros_(lib.ones(2)),
        lambda lib: lib.nn.init.eye_(lib.empty(2, 3)),
        lambda lib: lib.nn.init.dirac_(lib.empty(4, 2, 3)),
        lambda lib: lib.nn.init.dirac_(lib.empty(4, 2, 3, 2), groups=2),
    ],
)
def test_exact_values(fill):
    np.testing.assert_array_equal(fill(flow).numpy(), fill(torch).numpy())


GAINS = ["linear", "conv2d", "sigmoid", "tanh", "relu", "leaky_relu", "selu"]


@pytest.mark.parametrize("name", GAINS)
def test_gains(name):
    assert flow.nn.init.calculate_gain(name) == torch.nn.init.calculate_gain(name)
    with_slope = [lib.nn.init.calculate_gain("leaky_relu", 0.3) for lib in (flow, torch)]
    assert with_slope[0] == with_slope[1]


RANDOM = [
    lambda lib, w: lib.nn.init.uniform_(w, -1.0, 3.0),
    lambda lib, w: lib.nn.init.normal_(w, 1.0, 2.0),
    lambda lib, w: lib.nn.init.trunc_normal_(w, 0.5, 1.0, -1.0, 1.0),
    lambda lib, w: lib.nn.init.xavier_uniform_(w, gain=2.0),
    lambda lib, w: lib.nn.init.xavier_normal_(w),
    lambda lib, w: lib.nn.init.kaiming_uniform_(w, a=math.sqrt(5)),
    lambda lib, w: lib.nn.init.kaiming_normal_(w, mode="fan_out", nonlinearity="relu"),
]


@pytest.mark.parametrize("fill", RANDOM)
def test_distributions(fill):
    """Mean, deviation and quantiles are those of PyTorch's numbers."""
    flow.manual_seed(0)
    weight = flow.empty(*SHAPE)
    assert fill(flow, weight) is weight
    assert not weight.requires_grad
    mine, theirs = weight.numpy().ravel(), fill(torch, torch.empty(*SHAPE)).numpy().ravel()
    spread = theirs.std()
    assert abs(mine.mean() - theirs.mean()) < 0.05 * spread
    assert abs(mine.std() - spread) < 0.05 * spread
    points = np.linspace(0.01, 0.99, 25)
    gap = np.abs(np.quantile(mine, points) - np.quantile(theirs, points)).max()
    assert gap < 0.15 * spread


METHODS = [
    *("xavier_uniform_", "xavier_normal_", "kaiming_uniform_", "kaiming_normal_"),
    *("orthogonal_", "trunc_normal_"),
]


@pytest.mark.parametrize("name", METHODS)
def test_methods_of_oneflow_write_to_parameters(name):
    weight, same = (flow.nn.Parameter(flow.zeros(3, 4)) for _ in range(2))
    flow.manual_seed(0)
    assert getattr(weight, name)() is weight
    flow.manual_seed(0)
    getattr(flow.nn.init, name)(same)
    assert weight.is_leaf
    np.testing.assert_array_equal(weight.detach().numpy(), same.detach().numpy())


def test_channels_last_weights_have_other_fans():
    first = flow.nn.init.kaiming_uniform_(flow.empty(8, 64, 3, 3)).numpy()
    last = flow.nn.init.kaiming_uniform_(flow.empty(8, 3, 3, 64), data_format="NHWC").numpy()
    assert abs(np.abs(first).max() / np.abs(last).max() - 1) < 0.05
    assert flow.nn.init._calculate_fan_in_and_fan_out(flow.empty(8, 4, 3, 3)) == (36, 72)
    assert flow.nn.init.calc_fan((8, 3, 3, 4), "fan_avg", "NHWC") == 54


@pytest.mark.parametrize("shape", [(3, 5), (5, 3), (4, 2, 2)])
def test_orthogonal(shape):
    weight = flow.nn.init.orthogonal_(flow.empty(*shape), gain=2.0).numpy()
    matrix = weight.reshape(shape[0], -1)
    small = matrix @ matrix.T if matrix.shape[0] <= matrix.shape[1] else matrix.T @ matrix
    np.testing.assert_allclose(small, 4 * np.eye(len(small)), atol=1e-5)


def test_sparse():
    weight = flow.nn.init.sparse_(flow.empty(10, 4), sparsity=0.25, std=0.1).numpy()
    assert ((weight == 0).sum(0) == 3).all()


def test_the_generator_decides():
    first, second = (
        flow.nn.init.normal_(flow.empty(4), generator=flow.Generator().manual_seed(7))
        for _ in range(2)
    )
    assert first.tolist() == second.tolist()


def test_parameters_stay_parameters():
    weight = flow.nn.Parameter(flow.zeros(3, 3))
    flow.nn.init.xavier_uniform_(weight)
    assert weight.requires_grad
    assert weight.is_leaf
    assert weight.abs().sum().item() > 0


@pytest.mark.parametrize(
    "call",
    [
        lambda lib: lib.nn.init.xavier_uniform_(lib.empty(3)),
        lambda lib: lib.nn.init.kaiming_normal_(lib.empty(3, 3), mode="sideways"),
        lambda lib: lib.nn.init.kaiming_normal_(lib.empty(3, 3), nonlinearity="none"),
        lambda lib: lib.nn.init.calculate_gain("leaky_relu", "steep"),
        lambda lib: lib.nn.init.eye_(lib.empty(3)),
        lambda lib: lib.nn.init.dirac_(lib.empty(3, 3)),
        lambda lib: lib.nn.init.dirac_(lib.empty(3, 3, 3), groups=2),
        lambda lib: lib.nn.init.orthogonal_(lib.empty(3)),
        lambda lib: lib.nn.init.sparse_(lib.empty(3), 0.5),
    ],
)
def test_errors_are_of_pytorchs_type(call):
    with pytest.raises(raised_by(lambda: call(torch))):
        call(flow)
