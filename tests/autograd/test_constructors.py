"""Constructors that are given a tensor: which pass gradients on, as in PyTorch."""

import pytest
import torch

import oneflow as flow

CONSTRUCTORS = {
    "Tensor": lambda package, x: package.Tensor(x),
    "FloatTensor": lambda package, x: package.FloatTensor(x),
    "new": lambda package, x: x.new(x),
    "tensor": lambda package, x: package.tensor(x),
    "new_tensor": lambda package, x: x.new_tensor(x),
    "as_tensor": lambda package, x: package.as_tensor(x),
}


def result(package, construct, is_leaf):
    weight = package.ones(2, 2, requires_grad=True)
    made = construct(package, weight if is_leaf else weight * 2)
    if made.requires_grad:
        (made * 3).sum().backward()
    gradient = None if weight.grad is None else weight.grad.tolist()
    return made.requires_grad, made.is_leaf, gradient


@pytest.mark.filterwarnings("ignore:To copy construct")
@pytest.mark.parametrize("is_leaf", [True, False])
@pytest.mark.parametrize("name", CONSTRUCTORS)
def test_constructors_pass_gradients_on_as_pytorchs_do(name, is_leaf):
    construct = CONSTRUCTORS[name]
    assert result(flow, construct, is_leaf) == result(torch, construct, is_leaf)


def test_a_device_does_not_stop_them():
    """Programs for OneFlow give one; PyTorch refuses it."""
    weight = flow.ones(2, requires_grad=True)
    flow.Tensor(weight * 2, device="cpu").sum().backward()
    assert weight.grad.tolist() == [2, 2]
