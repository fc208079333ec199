"""Subclasses of tensors: their methods, and in PyTorch's place functions, ask them."""

from __future__ import annotations

import copy
import importlib
import pickle
import subprocess
import sys

import pytest
import torch

import oneflow as flow
from oneflow.tensor.subclasses import DisableTorchFunctionSubclass
from tests.in_place import no_subclass_yet


@pytest.fixture(autouse=True)
def plain_functions():
    """Leave functions and methods as they are in this process."""
    with no_subclass_yet():
        yield


def logging_class(framework, seen):
    class Logged(framework.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            seen.append(getattr(func, "__name__", str(func)))
            return super().__torch_function__(func, types, args, kwargs or {})

    return Logged


METHODS = {
    "add": lambda f, x: x + 1,
    "reflected": lambda f, x: 1 + x,
    "beside a tensor": lambda f, x: f.ones(2, 3) + x,
    "sum": lambda f, x: x.sum(),
    "index": lambda f, x: x[0],
    "relu": lambda f, x: x.relu(),
    "transposed": lambda f, x: x.T,
    "pair": lambda f, x: x.max(0),
    "parts": lambda f, x: x.unbind(),
    "in place": lambda f, x: x.add_(1),
    "itself": lambda f, x: x.requires_grad_(),
    "plain": lambda f, x: x.as_subclass(f.Tensor),
    "detached": lambda f, x: x.detach(),
    "data": lambda f, x: x.data,
    "new": lambda f, x: x.new_ones(2),
    "compared": lambda f, x: x == x,
    "list": lambda f, x: x.tolist(),
    "number": lambda f, x: x.sum().item(),
    "length": lambda f, x: len(x),
    "sizes": lambda f, x: tuple(x.size()),
    "cast": lambda f, x: x.double(),
}


def kinds(result):
    values = result if isinstance(result, tuple) else (result,)
    return [type(value).__name__ for value in values]


@pytest.mark.parametrize("name", METHODS)
def test_results_of_methods_have_the_class(name):
    def outcome(framework):
        seen = []
        x = framework.ones(2, 3).as_subclass(logging_class(framework, seen))
        result = METHODS[name](framework, x)
        return kinds(result), bool(seen)

    assert outcome(flow) == outcome(torch)


def test_a_class_without_a_function_of_its_own_is_kept():
    for framework in (flow, torch):
        kind = type("Plain", (framework.Tensor,), {})
        x = kind([1.0, 2.0])
        assert type(x) is kind
        assert type(x * 2 + 1) is kind
        assert (x * 2 + 1).tolist() == [3.0, 5.0]


def test_gradients_go_through_subclasses():
    x = flow.ones(2, requires_grad=True)
    y = x.as_subclass(logging_class(flow, []))
    (y * 3).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
    y = flow.ones(2).as_subclass(logging_class(flow, []))
    y[0] = 5
    assert y.tolist() == [5.0, 1.0]
    leaf = flow.Tensor._make_subclass(type(y), flow.zeros(2), True)
    assert (type(leaf), leaf.requires_grad, leaf.is_leaf) == (type(y), True, True)


def test_the_most_special_class_decides():
    class First(flow.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    class Second(First):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return f"{func.__name__} by {cls.__name__}"

    class Third(Second):
        pass

    first, second, third = (flow.ones(2).as_subclass(kind) for kind in (First, Second, Third))
    assert first.mul(second) == second.mul(first) == "mul by Second"
    assert second.mul(third) == third.mul(second) == "mul by Third"
    with pytest.raises(TypeError, match=r"`mul` for \['First'\]"):
        first.mul(2)
    with DisableTorchFunctionSubclass():
        assert type(first.mul(2)) is flow.Tensor
    with pytest.raises(TypeError, match="`cls` must be a subclass of Tensor"):
        flow.ones(2).as_subclass(int)


def test_parameters_are_not_asked():
    class Weight(flow.nn.Parameter):
        pass

    assert "add" not in vars(Weight)
    assert type(Weight(flow.ones(2)) + 1) is flow.Tensor


# In a process of its own: from the first subclass on, modules in PyTorch's place have others.
FUNCTIONS = """
from oneflow import mock_torch
mock_torch.enable()
import torch
import torch.nn.functional as F

class Meters(torch.Tensor):
    handled = {}

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func in cls.handled:
            return cls.handled[func](*args)
        return super().__torch_function__(func, types, args, kwargs or {})

Meters.handled[torch.mean] = lambda x: "a mean"
x, plain = torch.ones(2, 3).as_subclass(Meters), torch.ones(2, 3)
assert torch.mean(x) == "a mean"
assert torch.mean(plain).item() == 1
for result in (
    torch.stack([x, plain]), torch.cat((plain, x)), F.relu(x), torch.add(plain, x),
    torch.max(x, 0)[0],
    torch.zeros_like(x), torch.linalg.norm(x), F.linear(x, plain), torch.split(x, 1)[1],
):
    assert type(result) is Meters, result
assert type(torch.stack([plain, plain])) is torch.Tensor
import torch.special
assert type(torch.special.expit(x)) is Meters
assert torch.overrides.has_torch_function([x]) and not torch.overrides.has_torch_function([plain])
def area(x, y):
    if torch.overrides.has_torch_function((x, y)):
        return torch.overrides.handle_torch_function(area, (x, y), x, y)
    return x * y
Meters.handled[area] = lambda x, y: "an area"
assert area(plain, x) == "an area" and area(2, 3) == 6
"""


def test_functions_ask_in_pytorchs_place():
    importlib.import_module("oneflow.mock_torch")
    done = subprocess.run([sys.executable, "-c", FUNCTIONS], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_classes_beside_tensor_are_told_of_a_subclass():
    class Named:
        def __init_subclass__(cls, label="", **options):
            super().__init_subclass__(**options)
            cls.label = label

    class Labelled(flow.Tensor, Named, label="a"):
        pass

    assert Labelled.label == "a"
    with pytest.raises(TypeError):
        type("Wrong", (flow.Tensor,), {}, unknown=1)


class Named:
    """A first base, with a dictionary of its own."""

    def names(self):
        return sorted(vars(self))


@pytest.mark.parametrize("bases", [(Named, flow.Tensor), (flow.Tensor,)], ids=["other", "tensor"])
@pytest.mark.parametrize(
    "copied",
    [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))],
    ids=["copy", "deepcopy", "pickle"],
)
def test_copies_have_the_class_and_what_users_set(bases, copied, monkeypatch):
    kind = type("Described", bases, {"__module__": __name__})
    monkeypatch.setattr(sys.modules[__name__], "Described", kind, raising=False)
    x = flow.tensor([1.0, 2.0]).as_subclass(kind)
    x.note = {"a": [1]}
    assert vars(x) == {"note": {"a": [1]}}
    result = copied(x)
    assert type(result) is kind
    assert vars(result) == vars(x)
    assert result.tolist() == [1.0, 2.0]
    assert (vars(x + 1), type(x + 1)) == ({}, kind)


@pytest.mark.parametrize("data", [2, [1.5, 2.0], 3.5])
def test_what_a_class_has_made_stays(data):
    """Arguments of a class with its own `__new__` mean what that says."""
    outcomes = []
    for framework in (torch, flow):

        class Named(framework.Tensor):
            make = framework.tensor

            def __new__(cls, x, **options):
                made = cls.make(x).as_subclass(cls)
                vars(made).update(options)
                return made

        made = Named(data, label="one")
        outcomes.append((tuple(made.shape), made.tolist(), made.label, type(made) is Named))
    assert outcomes[1] == outcomes[0]
