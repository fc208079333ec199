"""Steps of optimizers where a class or a mode computes operators: beside those of PyTorch.

What counts steps is left out: that is a number here and a tensor there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.utils import _python_dispatch, _pytree

from tests.in_place import dispatch_enabled, in_place_of

OURS = in_place_of("torch")
_TREES = {torch: _pytree, OURS: in_place_of("torch.utils._pytree")}
_DISPATCH = {torch: _python_dispatch, OURS: in_place_of("torch.utils._python_dispatch")}
STEPS: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {}),
    ("SGD", {"momentum": 0.9, "dampening": 0.1, "weight_decay": 0.1}),
    ("SGD", {"momentum": 0.9, "nesterov": True, "maximize": True}),
    ("Adam", {}),
    ("Adam", {"amsgrad": True, "weight_decay": 0.1}),
    ("AdamW", {}),
    ("NAdam", {"weight_decay": 0.1}),
    ("NAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RAdam", {}),
    ("RAdam", {"betas": (0.5, 0.6)}),
    ("Adamax", {}),
    ("Adagrad", {"lr_decay": 0.1, "initial_accumulator_value": 0.5}),
    ("Adadelta", {"maximize": True}),
    ("RMSprop", {}),
    ("RMSprop", {"momentum": 0.9, "centered": True}),
    ("Rprop", {}),
    ("ASGD", {"t0": 1, "weight_decay": 0.1}),
]
# The first step of a warm-up.
STEPS += [(name, {"lr": 0.0}) for name in dict.fromkeys(name for name, _ in STEPS)]


@pytest.fixture(scope="module", autouse=True)
def _dispatch() -> Iterator[None]:
    with dispatch_enabled():
        yield


def _held(library: Any) -> Any:
    """A class of tensors that hold another, with which each operator is computed."""
    tree_map, tools = _TREES[library].tree_map, _DISPATCH[library]

    class Held(library.Tensor):
        @staticmethod
        def __new__(cls, inner):
            return library.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

        def __init__(self, inner):
            self.inner = inner

        def __repr__(self):
            return f"Held({self.inner})"

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            inside = tree_map(lambda x: x.inner if isinstance(x, Held) else x, (args, kwargs))
            result = func(*inside[0], **inside[1])
            result = tree_map(lambda x: Held(x) if isinstance(x, library.Tensor) else x, result)
            return tools.return_and_correct_aliasing(func, args, kwargs, result)

    return Held


def _recorder(library: Any) -> Any:
    class Recorder(_DISPATCH[library].TorchDispatchMode):
        def __init__(self):
            super().__init__()
            self.operators = []

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            shapes = [tuple(x.shape) for x in args if isinstance(x, library.Tensor)]
            # Counts of steps have no dimension, and Adagrad has made its sums before.
            if (2, 2) in shapes and str(func) != "aten.full_like.default":
                self.operators.append(str(func))
            return func(*args, **(kwargs or {}))

    return Recorder()


def _numbers(tensor: Any) -> Any:
    return (tensor.inner if type(tensor).__name__ == "Held" else tensor).tolist()


def _trained(library: Any, name: str, options: dict[str, Any], is_wrapper: bool) -> Any:
    values = library.tensor([[1.0, 2.0], [-1.0, 0.5]])
    parameter = library.nn.Parameter(_held(library)(values) if is_wrapper else values)
    optimizer = getattr(library.optim, name)([parameter], **{"lr": 0.1, **options})
    operators = []
    for _ in range(4):
        optimizer.zero_grad()
        (parameter * parameter * parameter - parameter).sum().backward()
        with _recorder(library) as recorder:
            optimizer.step()
        operators.append(recorder.operators)
    states = {
        key: _numbers(state)
        for key, state in optimizer.state[parameter].items()
        if isinstance(state, library.Tensor) and state.dim()
    }
    kinds = {type(optimizer.state[parameter][key]).__name__ for key in states}
    return _numbers(parameter.detach()), states, kinds, operators


@pytest.mark.parametrize("is_wrapper", [True, False])
@pytest.mark.parametrize("case", STEPS, ids=lambda case: "-".join([case[0], *case[1]]))
def test_steps_are_pytorchs_operators(case: tuple[str, dict[str, Any]], is_wrapper: bool) -> None:
    values, states, kinds, operators = _trained(torch, *case, is_wrapper)
    our_values, our_states, our_kinds, our_operators = _trained(OURS, *case, is_wrapper)
    assert our_values == [pytest.approx(row, rel=1e-5) for row in values]
    assert our_states.keys() == states.keys()
    for key, rows in states.items():
        assert our_states[key] == [pytest.approx(row, rel=1e-5, abs=1e-7) for row in rows]
    assert (our_kinds, our_operators) == (kinds, operators)


def test_parameters_with_values_keep_their_step_beside_wrappers() -> None:
    weights = []
    for library in (torch, OURS):
        values = library.tensor([[1.0, 2.0], [-1.0, 0.5]])
        parameters = [library.nn.Parameter(x) for x in (_held(library)(values), values.clone())]
        optimizer = library.optim.Adam(parameters, lr=0.1, weight_decay=0.1)
        for _ in range(3):
            for parameter in parameters:
                (parameter * parameter).sum().backward()
            optimizer.step()
        weights.append([parameters[0].inner.tolist(), parameters[1].tolist()])
    assert weights[1][0] == [pytest.approx(row, rel=1e-5) for row in weights[0][0]]
    assert weights[1][1] == [pytest.approx(row, rel=1e-5) for row in weights[0][1]]
