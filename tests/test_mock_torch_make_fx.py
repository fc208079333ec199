"""Graphs of operators: `make_fx` writes those that PyTorch's writes."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from tests.in_place import in_place_of

OURS = in_place_of("torch")
_MODULE = "torch.fx.experimental.proxy_tensor"


def _proxy_tensor(library: Any) -> Any:
    return importlib.import_module(_MODULE) if library is torch else in_place_of(_MODULE)


def _gradient(f: Any, x: Any) -> Any:
    x = x.detach().requires_grad_()
    return f.autograd.grad((x * x).sin().sum(), x)[0]


def _in_place(f: Any, x: Any) -> Any:
    copy = x.clone()
    copy.add_(1)
    copy[0].mul_(2)
    return copy.sum(), copy


def _layers(f: Any, x: Any) -> Any:
    hidden = f.nn.functional.layer_norm(f.nn.functional.relu(x), (3,))
    return hidden.softmax(-1)


def _parameters(f: Any) -> Any:
    layer = f.nn.Linear(3, 2)
    for parameter in layer.parameters():
        f.nn.init.constant_(parameter, 0.5)
    return lambda x: layer(x)


# Functions of a library that make functions of one matrix.
FUNCTIONS: dict[str, Callable[[Any], Callable[..., Any]]] = {
    "arithmetic": lambda f: lambda x: x + x.t().sum() * 2,
    "in place": lambda f: lambda x: _in_place(f, x),
    "factories": lambda f: lambda x: f.zeros(2, 3) + x @ x.new_ones(3, 3),
    "several results": lambda f: lambda x: (x.max(0)[0], x.split(1), None, 3),
    "layers": lambda f: lambda x: _layers(f, x),
    "constants": lambda f: _constant(f.tensor([1.0, 2.0, 3.0])),
    "parameters": lambda f: _parameters(f),
    "a module": lambda f: f.nn.Sequential(f.nn.ReLU(), f.nn.Softmax(-1)),
    "views": lambda f: lambda x: [x.view(-1), (x[0], x[:, 1:])],
    "argument": lambda f: lambda x: x,
    "joined": lambda f: lambda x: f.cat([x, x]).t(),
    "any arguments": lambda f: lambda *args: args[0].exp(),
    "gradient": lambda f: lambda x: _gradient(f, x),
}


def _constant(value: Any) -> Callable[..., Any]:
    return lambda x: x + value


def _matrix(library: Any, seed: int) -> Any:
    return library.tensor(np.random.default_rng(seed).normal(size=(2, 3)).astype(np.float32))


def _numbers(result: Any) -> Any:
    if isinstance(result, tuple | list):
        return [_numbers(member) for member in result]
    return result.detach().numpy() if hasattr(result, "detach") else result


def _facts(graph: Any) -> list[Any]:
    # PyTorch adds what its backward passes give in another order.
    return [
        (node.op, node.name, str(node.target), sorted(map(str, node.all_input_nodes)))
        for node in graph.nodes
    ]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_graphs_are_pytorchs_and_compute_the_function(name: str) -> None:
    facts = []
    for library in (OURS, torch):
        traced = _proxy_tensor(library).make_fx(FUNCTIONS[name](library))(_matrix(library, 0))
        facts.append(_facts(traced.graph))
        # Numbers other than those that it was traced with.
        result = _numbers(traced(_matrix(library, 1)))
        expected = _numbers(FUNCTIONS[name](torch)(_matrix(torch, 1)))
        _assert_close(result, expected)
    ours, theirs = ([row[:-1] for row in rows] for rows in facts)
    assert ours == theirs
    if name != "gradient":
        assert facts[0] == facts[1]


def _assert_close(ours: Any, theirs: Any) -> None:
    assert type(ours) is type(theirs)
    if isinstance(ours, list):
        for one, other in zip(ours, theirs, strict=True):
            _assert_close(one, other)
    elif isinstance(ours, np.ndarray):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
    else:
        assert ours == theirs


def test_members_of_arguments_are_read_from_them() -> None:
    traced = _proxy_tensor(OURS).make_fx(lambda pair, by: pair[0] * by["k"])(
        [OURS.ones(2), 3], {"k": OURS.ones(2)}
    )
    result = traced([OURS.tensor([2.0, 3.0]), 3], {"k": OURS.tensor([5.0, 7.0])})
    assert result.tolist() == [10.0, 21.0]


def test_operators_are_decomposed_by_a_table() -> None:
    targets = []
    for library in (OURS, torch):
        table = {library.ops.aten.silu.default: lambda x: x * x.sigmoid()}
        module = library.nn.SiLU()
        graph = _proxy_tensor(library).make_fx(module, table)(_matrix(library, 0)).graph
        targets.append([str(node.target) for node in graph.nodes])
    assert targets[0] == targets[1]
    assert "aten.sigmoid.default" in targets[0]


def test_the_mode_is_known_while_a_function_is_traced() -> None:
    proxy_tensor, modes = _proxy_tensor(OURS), []

    def function(x: Any) -> Any:
        modes.append(proxy_tensor.get_proxy_mode())
        return x

    proxy_tensor.make_fx(function)(OURS.ones(1))
    assert isinstance(modes[0], proxy_tensor.ProxyTorchDispatchMode)
    assert proxy_tensor.get_proxy_mode() is None


def test_sizes_that_stand_for_others_are_refused() -> None:
    with pytest.raises(NotImplementedError, match="tracing_mode"):
        _proxy_tensor(OURS).make_fx(lambda x: x, tracing_mode="symbolic")
