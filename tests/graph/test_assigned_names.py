"""Names that `build` gives other tensors: what it returns, and what the names mean afterwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import oneflow as flow
from oneflow import nn
from tests.graph.helpers import graph_of


class TwoBuffers(nn.Module):
    """A module whose forward pass is a function of it and the argument."""

    def __init__(self, forward: Callable[[Any, flow.Tensor], Any], is_one: bool = False) -> None:
        super().__init__()
        self.weight = nn.Parameter(flow.ones(2))
        self.register_buffer("first", flow.zeros(2))
        self.register_buffer("second", self.first if is_one else flow.ones(2))
        self._forward = forward

    def forward(self, x: flow.Tensor) -> Any:
        """Call the function."""
        return self._forward(self, x)


def former_one_returned(module: Any, x: flow.Tensor) -> Any:
    former = module.first
    module.first = module.first + x
    return former


def former_one_written_to(module: Any, x: flow.Tensor) -> Any:
    former = module.first
    module.first = module.first + x
    former.add_(5)
    return former, module.first


def exchanged(module: Any, x: flow.Tensor) -> Any:
    module.first, module.second = module.second, module.first + x
    return module.first


def moved_on(module: Any, x: flow.Tensor) -> Any:
    module.first = module.second
    module.second = module.second + x
    return module.first


def parameter_replaced(module: Any, x: flow.Tensor) -> Any:
    former = module.weight
    module.weight = nn.Parameter(module.weight.detach() + x)
    return former, module.weight * 2


def both_names_assigned(module: Any, x: flow.Tensor) -> Any:
    module.first = module.second = module.first + x
    return module.second


PROGRAMS = [
    former_one_returned,
    former_one_written_to,
    exchanged,
    moved_on,
    parameter_replaced,
    both_names_assigned,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_assigned_names_are_those_of_eager_mode(program: Callable[[Any, flow.Tensor], Any]):
    is_one = program is both_names_assigned
    eager, captured = TwoBuffers(program, is_one), TwoBuffers(program, is_one)
    graph = graph_of(lambda x: captured(x), model=captured)
    for number in range(3):
        x = flow.full((2,), number + 1.0)
        expected, results = eager(x), graph(x)
        if isinstance(expected, flow.Tensor):
            expected, results = [expected], [results]
        assert [y.tolist() for y in results] == [y.tolist() for y in expected]
        state = {name: value.tolist() for name, value in eager.state_dict().items()}
        assert {name: value.tolist() for name, value in captured.state_dict().items()} == state


@pytest.mark.parametrize("name", ["first", "second"])
def test_one_of_two_names_cannot_be_assigned(name: str):
    def assign(module: Any, x: flow.Tensor) -> Any:
        setattr(module, name, module.first + x)
        return module.second

    model = TwoBuffers(assign, is_one=True)
    with pytest.raises(RuntimeError, match="give each name a tensor of its own"):
        graph_of(lambda x: model(x), model=model)(flow.ones(2))
    assert model.first is model.second
    assert model.first.tolist() == [0, 0]


def test_a_buffer_cannot_become_none():
    def forget(module: Any, x: flow.Tensor) -> Any:
        module.first = None
        return x * 2

    model = TwoBuffers(forget)
    with pytest.raises(RuntimeError, match="was a tensor and became None"):
        graph_of(lambda x: model(x), model=model)(flow.ones(2))
    assert model.first.tolist() == [0, 0]
