"""Layers that learn the number of their inputs from the first one, against PyTorch's."""

from __future__ import annotations

import pickle

import pytest
import torch

import oneflow as flow
from tests.nn.twins import (
    assert_same_parameter_gradients,
    both,
    copy_state,
    raised_by,
    random_array,
)

LAZY = [
    ("LazyLinear", (3,), {}, (2, 5)),
    ("LazyLinear", (3,), {"bias": False}, (5,)),
    *(
        (f"Lazy{kind}{n}d", (4, 2), options, (2, 6, *(4,) * n))
        for n in (1, 2, 3)
        for kind, options in (("Conv", {"groups": 2}), ("ConvTranspose", {"stride": 2}))
    ),
    *(
        (f"Lazy{kind}{n}d", (), options, (2, 6, *(4,) * n))
        for n in (1, 2, 3)
        for kind, options in (
            ("BatchNorm", {"momentum": 0.3}),
            ("BatchNorm", {"affine": False}),
            ("InstanceNorm", {"affine": False}),
        )
    ),
]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("kind", "args", "options", "shape"), LAZY)
def test_they_become_the_layers_of_the_first_input(kind, args, options, shape):
    mine, theirs = (getattr(lib.nn, kind)(*args, **options).double() for lib in (flow, torch))
    assert mine.has_uninitialized_params() == theirs.has_uninitialized_params()
    x, y = both(random_array(*shape))
    mine(x)
    theirs(y)
    assert type(mine).__name__ == type(theirs).__name__ == kind.removeprefix("Lazy")
    assert list(mine.state_dict()) == list(theirs.state_dict())
    copy_state(mine, theirs)
    mine(x).square().sum().backward()
    theirs(y).square().sum().backward()
    assert_same_parameter_gradients(mine, theirs)
    assert all(parameter.dtype is flow.float64 for parameter in mine.parameters())


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("kind", "args", "options", "shape"), LAZY[:11])
def test_they_become_the_layers_of_a_state_dict(kind, args, options, shape):
    first, second = (getattr(flow.nn, kind)(*args, **options) for _ in range(2))
    x = flow.tensor(random_array(*shape), dtype=flow.float32)
    expected = first(x)
    parent = flow.nn.Sequential(second)
    parent.load_state_dict({f"0.{name}": tensor for name, tensor in first.state_dict().items()})
    assert not second.has_uninitialized_params()
    assert parent(x).equal(expected)
    assert repr(parent[0]) == repr(first)


def test_an_optimizer_keeps_the_parameters():
    layer = flow.nn.LazyLinear(1, bias=False)
    optimizer = flow.optim.SGD(layer.parameters(), lr=1.0)
    layer(flow.ones(1, 2)).sum().backward()
    before = layer.weight.numpy()
    optimizer.step()
    assert (layer.weight.numpy() == before - 1).all()
    assert isinstance(layer.weight, flow.nn.Parameter)
    assert list(pickle.loads(pickle.dumps(layer)).state_dict()) == ["weight"]


@pytest.mark.parametrize(
    "misuse",
    [
        lambda lib: lib.nn.LazyBatchNorm1d().running_mean.shape,
        lambda lib: lib.nn.LazyLinear(3).weight.shape,
        lambda lib: lib.nn.LazyConv2d(3),
    ],
)
def test_errors_are_of_pytorchs_type(misuse):
    with pytest.raises(raised_by(lambda: misuse(torch))):
        misuse(flow)


class Initialized(flow.nn.Module):
    def forward(self, x, *, size=2):
        return x * 0


class Scale(flow.nn.modules.lazy.LazyModuleMixin, Initialized):
    cls_to_become = Initialized

    def __init__(self, leave=False):
        super().__init__()
        self.leave = leave
        self.factor = flow.nn.UninitializedParameter()
        self.register_buffer("shift", flow.nn.UninitializedBuffer())

    def initialize_parameters(self, x, *, size=2):
        self.factor.materialize(size)
        if not self.leave:
            self.shift = flow.zeros(size)


def test_layers_of_users_make_their_parameters_in_the_first_call():
    layer = Scale()
    assert layer.has_uninitialized_params()
    layer.register_forward_pre_hook(lambda module, args: args[0] + 1)
    assert layer(flow.ones(3), size=3).shape == (3,)
    assert type(layer) is Initialized
    assert layer.factor.shape == (3,)
    assert layer.shift.shape == (3,)
    with pytest.raises(RuntimeError, match="must initialize all"):
        Scale(leave=True)(flow.ones(3))


@pytest.mark.parametrize("name", ["weight", "running_mean"])
def test_what_computes_with_uninitialized_tensors_is_refused(name):
    layer = flow.nn.LazyBatchNorm1d()
    tensor = getattr(layer, name)
    assert layer.state_dict()[name] is tensor
    for call in (lambda: tensor + 1, lambda: 1 - tensor, lambda: tensor.sum(), lambda: tensor[0]):
        with pytest.raises(ValueError, match="uninitialized"):
            call()
    assert layer.double().weight.dtype is flow.float64
    with pytest.raises(RuntimeError, match="shape"):
        flow.nn.BatchNorm1d(2).load_state_dict(flow.nn.LazyBatchNorm1d().state_dict())


class Registered(flow.nn.modules.lazy.LazyModuleMixin, flow.nn.Module):
    def __init__(self, factor, shift):
        super().__init__()
        self.register_parameter("factor", factor)
        self.register_buffer("shift", shift)


def test_states_of_layers_of_users():
    def uninitialized():
        lazy = flow.nn.modules.lazy
        return Registered(lazy.UninitializedParameter(), lazy.UninitializedBuffer())

    layer = uninitialized()
    layer.load_state_dict(uninitialized().state_dict())
    assert layer.has_uninitialized_params()
    given = Registered(flow.nn.Parameter(flow.ones(2, 3)), flow.zeros(4))
    layer.load_state_dict(given.state_dict())
    assert not layer.has_uninitialized_params()
    assert (layer.factor.tolist(), layer.shift.tolist()) == ([[1.0] * 3] * 2, [0.0] * 4)
    assert type(layer.factor) is flow.nn.Parameter
    with pytest.raises(RuntimeError, match="shape"):
        given.load_state_dict(uninitialized().state_dict())


@pytest.mark.parametrize("name", ["weight_norm", "spectral_norm"])
def test_weights_without_a_shape_are_not_normalised(name):
    with pytest.raises(ValueError, match=name):
        getattr(flow.nn.utils, name)(flow.nn.LazyLinear(7))
