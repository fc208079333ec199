"""Parameters that are computed from others, and calls with other parameters: as in PyTorch."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

import oneflow as flow
from tests.nn.twins import assert_same, assert_twins_agree, copy_state, raised_by, random_array

LIBRARIES = (flow, torch)


def layers(inputs=3, outputs=3):
    """A linear layer of each library with the same parameters."""
    mine, theirs = (lib.nn.Linear(inputs, outputs).double() for lib in LIBRARIES)
    copy_state(mine, theirs)
    return mine, theirs


def symmetric(lib):
    class Symmetric(lib.nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).mT

        def right_inverse(self, x):
            return x.triu()

    return Symmetric()


def scaled(lib):
    class Scaled(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = lib.nn.Parameter(lib.tensor(2.0, dtype=lib.float64))

        def forward(self, x):
            return x * self.scale

        def right_inverse(self, x):
            return x / self.scale

    return Scaled()


def test_a_chain_of_parametrizations():
    pair = layers()
    for lib, layer in zip(LIBRARIES, pair, strict=True):
        register = lib.nn.utils.parametrize.register_parametrization
        register(layer, "weight", symmetric(lib))
        register(layer, "weight", scaled(lib))
        register(layer, "bias", scaled(lib))
    mine, theirs = pair
    assert list(mine.state_dict()) == list(theirs.state_dict())
    assert_twins_agree(mine, theirs, [random_array(2, 3)])
    value = random_array(3, 3)
    mine.weight, theirs.weight = flow.tensor(value), torch.tensor(value)
    assert_same(mine.weight, theirs.weight)
    for lib, layer in zip(LIBRARIES, pair, strict=True):
        tools = lib.nn.utils.parametrize
        assert tools.is_parametrized(layer, "weight")
        assert not tools.is_parametrized(layer, "x")
        assert tools.type_before_parametrizations(layer) is lib.nn.Linear
        tools.remove_parametrizations(layer, "weight")
        tools.remove_parametrizations(layer, "bias", leave_parametrized=False)
        assert type(layer) is lib.nn.Linear
    assert sorted(mine.state_dict()) == sorted(theirs.state_dict())
    assert_same(mine.weight, theirs.weight)
    assert_same(mine.bias, theirs.bias)


def test_values_are_computed_once_while_cached():
    layer = flow.nn.Linear(2, 2)
    calls = []

    class Counted(flow.nn.Module):
        def forward(self, x):
            calls.append(1)
            return x * 1

    tools = flow.nn.utils.parametrize
    tools.register_parametrization(layer, "weight", Counted(), unsafe=True)
    with tools.cached():
        assert layer.weight is layer.weight
        with tools.cached():
            layer(flow.ones(1, 2))
    assert len(calls) == 1
    assert layer.weight is not layer.weight


def test_a_parametrized_buffer_and_a_copy():
    layer = flow.nn.BatchNorm1d(2)
    flow.nn.utils.parametrize.register_parametrization(layer, "running_mean", scaled(flow))
    twin = copy.deepcopy(layer)
    assert "parametrizations.running_mean.original" in dict(twin.named_buffers())
    np.testing.assert_array_equal(twin.running_mean.numpy(), layer.running_mean.numpy())
    flow.nn.utils.parametrize.remove_parametrizations(twin, "running_mean")
    assert "running_mean" in dict(twin.named_buffers())
    assert flow.nn.utils.parametrize.is_parametrized(layer)


@pytest.mark.parametrize("dim", [0, 1, None])
def test_weight_norm(dim):
    mine, theirs = layers(3, 4)
    flow.nn.utils.parametrizations.weight_norm(mine, dim=dim)
    torch.nn.utils.parametrizations.weight_norm(theirs, dim=dim)
    assert list(mine.state_dict()) == list(theirs.state_dict())
    for name, tensor in theirs.state_dict().items():
        assert_same(mine.state_dict()[name], tensor, name)
    assert_twins_agree(mine, theirs, [random_array(2, 3)])


@pytest.mark.parametrize(
    ("kind", "args", "name"),
    [
        ("Linear", (3, 4), "weight"),
        ("ConvTranspose1d", (3, 4, 2), "weight"),
        ("Linear", (3, 4), "bias"),
    ],
)
def test_spectral_norm(kind, args, name):
    mine, theirs = (getattr(lib.nn, kind)(*args).double() for lib in LIBRARIES)
    for lib, layer in zip(LIBRARIES, (mine, theirs), strict=True):
        lib.nn.utils.parametrizations.spectral_norm(layer, name, n_power_iterations=2)
    assert list(mine.state_dict()) == list(theirs.state_dict())
    copy_state(mine, theirs)
    inputs = [random_array(2, 3) if kind == "Linear" else random_array(2, 3, 4)]
    assert_twins_agree(mine, theirs, inputs)
    for path, buffer in theirs.named_buffers():
        assert_same(dict(mine.named_buffers())[path], buffer, path)
    mine.eval()
    theirs.eval()
    assert_twins_agree(mine, theirs, inputs)


@pytest.mark.one_in(9)
@pytest.mark.parametrize("trivialization", [True, False])
@pytest.mark.parametrize("form", ["matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("sizes", [(3, 3), (2, 4), (4, 2)])
def test_orthogonal(form, sizes, trivialization):
    mine, theirs = layers(*sizes)
    assign = trivialization or form == "householder"
    for lib, layer in zip(LIBRARIES, (mine, theirs), strict=True):
        lib.nn.utils.parametrizations.orthogonal(
            layer, orthogonal_map=form, use_trivialization=trivialization
        )
        if assign:
            layer.weight = lib.nn.init.orthogonal_(lib.empty(*sizes[::-1], dtype=lib.float64))
    assert list(mine.state_dict()) == list(theirs.state_dict())
    copy_state(mine, theirs)
    rng = np.random.default_rng(0)
    if not assign:
        value = rng.normal(size=sizes[::-1])
        for lib, layer in zip(LIBRARIES, (mine, theirs), strict=True):
            with lib.no_grad():
                layer.parametrizations.weight.original.copy_(lib.tensor(value))
    weight = mine.weight.numpy()
    small = weight @ weight.T if sizes[0] > sizes[1] else weight.T @ weight
    np.testing.assert_allclose(small, np.eye(len(small)), atol=1e-9)
    assert_twins_agree(mine, theirs, [random_array(2, sizes[0])])


def returning(lib, forward, right_inverse=lambda x: x):
    """A parametrization that returns what these functions do."""

    class Parametrization(lib.nn.Module):
        pass

    Parametrization.forward = lambda self, *tensors: forward(*tensors)
    Parametrization.right_inverse = lambda self, x: right_inverse(x)
    return Parametrization()


def registered(lib, layer, forward, *right_inverse, times=1):
    """Register a parametrization of the weight, the last of several."""
    register = lib.nn.utils.parametrize.register_parametrization
    for _ in range(times - 1):
        register(layer, "weight", returning(lib, lambda x: x))
    return register(layer, "weight", returning(lib, forward, *right_inverse))


@pytest.mark.parametrize(
    "misuse",
    [
        lambda p, lib, layer: registered(lib, layer, lambda x: 2),
        lambda p, lib, layer: registered(lib, layer, lambda x: (x, x), times=2),
        lambda p, lib, layer: registered(lib, layer, lambda x: x, lambda x: (x, x), times=2),
        lambda p, lib, layer: registered(lib, layer, lambda x: x, lambda x: x[:1], times=2),
        lambda p, lib, layer: registered(lib, layer, lambda x: x, lambda x: None),
        lambda p, lib, layer: registered(lib, layer, lambda x, y: x, lambda x: (None, x)),
        lambda p, lib, layer: registered(lib, layer, lambda x: x, lambda x: x.bool()),
        lambda p, lib, layer: p.weight_norm(layer, "absent"),
        lambda p, lib, layer: p.orthogonal(layer, "bias"),
        lambda p, lib, layer: p.orthogonal(layer, "absent"),
        lambda p, lib, layer: p.orthogonal(layer, orthogonal_map="x"),
        lambda p, lib, layer: p.spectral_norm(layer, "absent"),
        lambda p, lib, layer: p.spectral_norm(layer, n_power_iterations=0),
        lambda p, lib, layer: p.spectral_norm(layer, dim=5),
        lambda p, lib, layer: lib.nn.utils.parametrize.remove_parametrizations(layer, "weight"),
        lambda p, lib, layer: lib.nn.utils.parametrize.remove_parametrizations(
            p.weight_norm(layer), "weight", leave_parametrized=False
        ),
        lambda p, lib, layer: lib.nn.utils.parametrize.register_parametrization(
            layer, "weight", lib.nn.Flatten(0)
        ),
        lambda p, lib, layer: setattr(
            lib.nn.utils.parametrize.register_parametrization(layer, "weight", lib.nn.ReLU()),
            "weight",
            lib.ones(3, 2),
        ),
        lambda p, lib, layer: setattr(
            p.orthogonal(layer, orthogonal_map="cayley", use_trivialization=False),
            "weight",
            lib.ones(3, 2),
        ),
    ],
)
def test_errors_are_of_pytorchs_type(misuse):
    expected = raised_by(
        lambda: misuse(torch.nn.utils.parametrizations, torch, torch.nn.Linear(2, 3))
    )
    with pytest.raises(expected):
        misuse(flow.nn.utils.parametrizations, flow, flow.nn.Linear(2, 3))


def tied(lib):
    """Two layers with one weight, and a buffer."""
    first, second = lib.nn.Linear(2, 2, bias=False), lib.nn.Linear(2, 2, bias=False)
    second.weight = first.weight
    model = lib.nn.Sequential(first, second, lib.nn.BatchNorm1d(2))
    return model.double().eval()


@pytest.mark.parametrize("tie_weights", [True, False])
@pytest.mark.parametrize("names", [["0.weight"], ["0.weight", "2.running_mean"]])
def test_calls_with_given_parameters(tie_weights, names):
    mine, theirs = (tied(lib) for lib in LIBRARIES)
    copy_state(mine, theirs)
    results = []
    for lib, model in zip(LIBRARIES, (mine, theirs), strict=True):
        given = {
            name: lib.tensor(
                random_array(*model.state_dict()[name].shape),
                requires_grad=name.endswith("weight"),
            )
            for name in names
        }
        x = lib.ones(1, 2, dtype=lib.float64)
        result = lib.func.functional_call(model, given, (x,), tie_weights=tie_weights)
        result.sum().backward()
        results.append((result, given[names[0]].grad))
        assert model[0].weight.grad is None or not tie_weights
    assert_same(*results)
    assert mine[0].weight is mine[1].weight


@pytest.mark.parametrize(
    "misuse",
    [
        lambda lib, model: lib.func.functional_call(model, {"x": lib.ones(1)}, lib.ones(1, 2)),
        lambda lib, model: lib.func.functional_call(model, {}, lib.ones(1, 2), strict=True),
        lambda lib, model: lib.func.functional_call(
            model, ({"0.weight": lib.ones(2, 2)},) * 2, lib.ones(1, 2)
        ),
    ],
)
def test_errors_of_calls_are_of_pytorchs_type(misuse):
    with pytest.raises(raised_by(lambda: misuse(torch, tied(torch)))):
        misuse(flow, tied(flow))


def test_a_buffer_by_assignment():
    states = []
    for lib in LIBRARIES:
        layer = lib.nn.Module()
        layer.kept = lib.nn.Buffer(lib.zeros(2))
        layer.left = lib.nn.Buffer(lib.zeros(2), persistent=False)
        layer.kept = lib.nn.Buffer(lib.ones(3))
        assert [name for name, _ in layer.named_buffers()] == ["kept", "left"]
        states.append({name: tensor.tolist() for name, tensor in layer.state_dict().items()})
    assert states[0] == states[1] == {"kept": [1, 1, 1]}
