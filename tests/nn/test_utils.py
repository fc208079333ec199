"""Utilities: parameters as a vector, weight and spectral normalisation, skipped initial values."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import oneflow as flow
from tests.nn.twins import (
    assert_same,
    assert_twins_agree,
    copy_state,
    raised_by,
    random_array,
)


def test_parameters_to_a_vector_and_back():
    layer = flow.nn.Linear(2, 3)
    vector = flow.nn.utils.parameters_to_vector(layer.parameters())
    expected = np.concatenate([parameter.numpy().ravel() for parameter in layer.parameters()])
    np.testing.assert_array_equal(vector.numpy(), expected)
    flow.nn.utils.vector_to_parameters(vector * 2, layer.parameters())
    np.testing.assert_array_equal(layer.bias.numpy(), expected[6:] * 2)
    assert layer.bias.requires_grad
    with pytest.raises(ValueError, match="9 together"):
        flow.nn.utils.vector_to_parameters(vector[:4], layer.parameters())


def test_skipping_initial_values():
    layer = flow.nn.utils.skip_init(flow.nn.Linear, 2, 3, bias=False)
    assert layer.weight.shape == (3, 2)
    assert layer.weight.requires_grad
    with pytest.raises(RuntimeError, match="Expected a Module"):
        flow.nn.utils.skip_init(dict)


@pytest.mark.parametrize("dim", [0, 1, None])
def test_weight_norm(dim):
    mine, theirs = (lib.nn.Linear(3, 4).double() for lib in (flow, torch))
    copy_state(mine, theirs)
    flow.nn.utils.weight_norm(mine, dim=dim)
    torch.nn.utils.weight_norm(theirs, dim=dim)
    assert list(mine.state_dict()) == list(theirs.state_dict())
    for name, tensor in theirs.state_dict().items():
        assert_same(mine.state_dict()[name], tensor, name)
    assert_twins_agree(mine, theirs, [random_array(2, 3)])
    before = mine(flow.ones(1, 3, dtype=flow.float64)).numpy()
    flow.nn.utils.remove_weight_norm(mine)
    torch.nn.utils.remove_weight_norm(theirs)
    assert sorted(mine.state_dict()) == sorted(theirs.state_dict())
    np.testing.assert_allclose(mine(flow.ones(1, 3, dtype=flow.float64)).numpy(), before)


@pytest.mark.parametrize("kind", ["Linear", "ConvTranspose1d"])
def test_spectral_norm(kind):
    args = (3, 4) if kind == "Linear" else (3, 4, 2)
    mine, theirs = (getattr(lib.nn, kind)(*args).double() for lib in (flow, torch))
    flow.nn.utils.spectral_norm(mine, n_power_iterations=2)
    torch.nn.utils.spectral_norm(theirs, n_power_iterations=2)
    assert sorted(mine.state_dict()) == sorted(theirs.state_dict())
    copy_state(mine, theirs)
    inputs = [random_array(2, 3) if kind == "Linear" else random_array(2, 3, 4)]
    assert_twins_agree(mine, theirs, inputs)
    for name, buffer in theirs.named_buffers():
        assert_same(dict(mine.named_buffers())[name], buffer, name)
    mine.eval()
    theirs.eval()
    assert_twins_agree(mine, theirs, inputs)
    flow.nn.utils.remove_spectral_norm(mine)
    assert sorted(mine.state_dict()) == ["bias", "weight"]


@pytest.mark.parametrize(
    "misuse",
    [
        lambda lib, layer: lib.nn.utils.remove_weight_norm(layer),
        lambda lib, layer: lib.nn.utils.remove_spectral_norm(layer),
        lambda lib, layer: lib.nn.utils.weight_norm(lib.nn.utils.weight_norm(layer)),
        lambda lib, layer: lib.nn.utils.spectral_norm(lib.nn.utils.spectral_norm(layer)),
        lambda lib, layer: lib.nn.utils.spectral_norm(layer, n_power_iterations=0),
    ],
)
def test_errors_are_of_pytorchs_type(misuse):
    expected = raised_by(lambda: misuse(torch, torch.nn.Linear(2, 2)))
    with pytest.raises(expected):
        misuse(flow, flow.nn.Linear(2, 2))


@pytest.mark.parametrize("order", [2.0, 1.0, float("inf")])
def test_clipping_with_a_norm_that_is_known(order):
    results = []
    for lib in (flow, torch):
        weights = [lib.tensor(random_array(3, seed=seed), requires_grad=True) for seed in (0, 1)]
        sum((weight**3).sum() for weight in weights).backward()
        norm = lib.nn.utils.get_total_norm([weight.grad for weight in weights], order)
        lib.nn.utils.clip_grads_with_norm_([*weights, lib.ones(1)], 0.5, norm)
        results.append([norm.numpy(), *(weight.grad.numpy() for weight in weights)])
    for mine, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5)


def test_total_norm_of_nothing_and_of_nan():
    assert flow.nn.utils.get_total_norm([]).item() == 0.0
    nan = flow.tensor([float("nan")])
    assert flow.nn.utils.get_total_norm(nan).isnan().item()
    with pytest.raises(RuntimeError, match="non-finite"):
        flow.nn.utils.get_total_norm(nan, error_if_nonfinite=True)
