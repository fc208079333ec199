"""Modules that ``torch.compile`` returns: ones around those that it is given, as in PyTorch."""

from __future__ import annotations

import copy
import importlib
from collections.abc import Iterator
from typing import Any

import pytest
import torch

from oneflow import mock_torch


def model_of(lib: Any) -> Any:
    class Model(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.factor = lib.nn.Linear(2, 3), 5
            self.register_buffer("ones", lib.ones(1))

        def forward(self, x: Any, scale: float = 1.0) -> Any:
            return self.first(x) * scale

        def doubled_factor(self) -> int:
            return 2 * self.factor

    return Model()


def names_of(lib: Any) -> Iterator[Any]:
    model = model_of(lib)
    compiled = lib.compile(model, backend="eager", mode=None)
    yield type(compiled).__name__, isinstance(compiled, type(model)), compiled._orig_mod is model
    yield isinstance(compiled, lib._dynamo.OptimizedModule)
    yield isinstance(compiled, lib._dynamo.eval_frame.OptimizedModule)
    yield list(compiled.state_dict()), [name for name, _ in compiled.named_parameters()]
    yield [name for name, _ in compiled.named_modules()], len(list(compiled.children()))
    yield {"doubled_factor", "_orig_mod", "forward"} <= set(dir(compiled)), repr(compiled)
    yield hasattr(compiled, "nothing"), getattr(model, "_orig_mod", model) is model


def attributes_of(lib: Any) -> Iterator[Any]:
    model = model_of(lib)
    compiled = lib.compile(model)
    yield compiled.factor, compiled.doubled_factor(), compiled.first is model.first
    compiled.factor, compiled.second = 7, lib.nn.ReLU()
    yield model.doubled_factor(), "second" in dict(model.named_children())
    del compiled.factor
    yield hasattr(model, "factor"), hasattr(compiled, "factor")
    yield compiled.eval() is compiled, model.training, model.first.training, compiled.training
    model.train()
    yield compiled.training
    compiled.training = False
    yield model.training
    compiled._orig_mod = other = model_of(lib)
    yield compiled.first is other.first, list(compiled.state_dict())


def states_of(lib: Any) -> Iterator[Any]:
    model = model_of(lib)
    compiled = lib.compile(model)
    compiled.load_state_dict({name: x * 0 for name, x in compiled.state_dict().items()})
    yield model.first.weight.sum().item()
    without_prefix = compiled._orig_mod.state_dict()
    model.load_state_dict({name: x + 1 for name, x in without_prefix.items()})
    yield compiled.first.bias.tolist()
    with pytest.raises(RuntimeError, match="Missing key"):
        compiled.load_state_dict(without_prefix)
    twin = copy.deepcopy(compiled)
    yield type(twin).__name__, twin._orig_mod is model, list(twin.state_dict())
    yield compiled.to(lib.float64) is compiled, str(model.first.weight.dtype)
    yield compiled.requires_grad_(False) is compiled, model.first.weight.requires_grad
    yield len(lib.compile(lib.nn.Sequential(lib.nn.ReLU(), lib.nn.ReLU())))
    with pytest.raises(TypeError, match="len"):
        len(compiled)


def calls_of(lib: Any) -> Iterator[Any]:
    model, x, called = model_of(lib), lib.ones(1, 2), []
    compiled = lib.compile(model, disable=True)
    yield compiled is model
    compiled = lib.compile(model, backend="eager")
    compiled.register_forward_hook(lambda *_: called.append("compiled"))
    model.register_forward_hook(lambda *_: called.append("model"))
    yield (compiled(x, scale=2.0) - 2 * model.first(x)).abs().max().item(), called
    compiled(x).sum().backward()
    yield model.first.bias.grad.tolist()
    yield model.compile(), list(model.state_dict())
    yield lib.compile(lambda y: y + 1, backend="eager")(x).tolist()
    yield lib.compile(backend="eager")(lambda y: y + 2)(x).tolist()


@pytest.mark.parametrize("program", [names_of, attributes_of, states_of, calls_of])
def test_compiled_modules_are_as_in_pytorch(program: Any) -> None:
    theirs = list(program(torch))
    with mock_torch.enable():
        ours = list(program(importlib.import_module("torch")))
    assert ours == theirs
