"""A graph notices every way to change what its modules hold, also in copies and loaded modules."""

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import oneflow as flow
from oneflow.base.change_count import CHANGES, VersionDict

nn = flow.nn

CHANGE: dict[str, Callable[[dict[str, int]], object]] = {
    "set": lambda d: d.__setitem__("a", 2),
    "delete": lambda d: d.__delitem__("a"),
    "clear": lambda d: d.clear(),
    "pop": lambda d: d.pop("a"),
    "popitem": lambda d: d.popitem(),
    "setdefault": lambda d: d.setdefault("b", 2),
    "update": lambda d: d.update(a=2),
    "or": lambda d: d.__ior__({"a": 2}),
}


@pytest.mark.parametrize("change", CHANGE)
def test_every_change_of_a_dict_counts(change: str) -> None:
    counted, plain = VersionDict(a=1), {"a": 1}
    before = CHANGES.value
    CHANGE[change](counted)
    CHANGE[change](plain)
    assert CHANGES.value > before
    assert counted == plain


def test_no_method_of_dicts_is_forgotten() -> None:
    changing = {"__setitem__", "__delitem__", "__ior__", "clear", "pop", "popitem"}
    changing |= {"setdefault", "update"}
    assert changing <= set(vars(VersionDict))


class Doubled(nn.Graph):
    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def build(self, x: flow.Tensor) -> flow.Tensor:
        return self.model(x) * 2


def _again(model: nn.Module) -> Any:
    return pickle.loads(pickle.dumps(model))


@pytest.mark.parametrize("make", [lambda model: model, copy.deepcopy, _again])
def test_graphs_see_what_was_replaced_in_the_dict(make: Callable[[nn.Module], Any]) -> None:
    model = make(nn.Sequential(nn.Linear(2, 2, bias=False)))
    graph, x = Doubled(model), flow.ones(1, 2)
    for _ in range(3):
        graph(x)
    model[0]._parameters["weight"] = nn.Parameter(flow.ones(2, 2))
    np.testing.assert_array_equal(graph(x).numpy(), [[4.0, 4.0]])
    model._modules["0"] = nn.Identity()
    np.testing.assert_array_equal(graph(x).numpy(), [[2.0, 2.0]])
    handle = model[0].register_forward_hook(lambda module, args, out: out * 3)
    np.testing.assert_array_equal(graph(x).numpy(), [[6.0, 6.0]])
    handle.remove()
    np.testing.assert_array_equal(graph(x).numpy(), [[2.0, 2.0]])
