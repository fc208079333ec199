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
    assert all(each.dtype is flow.float64 for each in mine.parameters())


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("kind", "args", "options", "shape"), LAZY[:11])
def test_they_become_the_layers_of_a_state_dict(kind, args, options, shape):
    first, second = (getattr(flow.nn, kind)(*args, **options) for _ in range(2))
    x = flow.tensor(random_array(*shape), dtype=flow.float32)
    expected = first(x)
    parent = flow.nn.Sequential(second)
    parent.load_state_dict({f"0.{name}": each for name, each in first.state_dict().items()})
    assert repr(parent[0]) == repr(first)
    assert parent(x).equal(expected)


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
