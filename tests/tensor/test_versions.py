"""`Tensor._version` counts what autograd must know of, as in PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import oneflow as flow


def _without_recording(lib: Any, x: Any) -> None:
    with lib.no_grad():
        x.mul_(2)


def _other_data(lib: Any, x: Any) -> None:
    x.data = other = lib.ones(4)
    other.add_(1).mul_(2)


ACTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "reading": lambda lib, x: (x + 1).sum().item(),
    "an operation in place": lambda lib, x: x.add_(1),
    "several of them": lambda lib, x: x.add_(1).mul_(2).zero_(),
    "an operator": lambda lib, x: x.__iadd__(1),
    "an activation": lambda lib, x: lib.nn.functional.relu(x, inplace=True),
    "an element": lambda lib, x: x.__setitem__(0, 1.0),
    "a list of positions": lambda lib, x: x.__setitem__([0, 1], 1.0),
    "a mask": lambda lib, x: x.__setitem__(x > 1, 1.0),
    "copy_": lambda lib, x: x.copy_(lib.ones(4)),
    "index_fill_": lambda lib, x: x.index_fill_(0, lib.tensor([0]), 1.0),
    "scatter_": lambda lib, x: x.scatter_(0, lib.tensor([0]), 1.0),
    "random numbers": lambda lib, x: x.normal_(),
    "a result": lambda lib, x: lib.add(lib.ones(4), 1, out=x),
    "a view": lambda lib, x: x[1:].add_(1),
    "two views": lambda lib, x: (x[1:].add_(1), x.view(2, 2).t().mul_(2)),
    "a detached alias": lambda lib, x: x.detach().add_(1),
    "the data": lambda lib, x: x.data.add_(1),
    "a clone": lambda lib, x: x.clone().add_(1),
    "without recording": _without_recording,
    "an initialization": lambda lib, x: lib.nn.init.ones_(x),
    "requires_grad_": lambda lib, x: x.requires_grad_(),
    "a smaller shape": lambda lib, x: x.resize_(2),
    "a larger shape": lambda lib, x: x.resize_(9),
    "the same shape": lambda lib, x: x.resize_(4),
    "the shape of a view": lambda lib, x: x[1:].resize_(2),
    "a result in a part": lambda lib, x: lib.add(lib.ones(3), 1, out=x[1:]),
    "a result of another shape": lambda lib, x: lib.add(lib.ones(3), 1, out=x[:0]),
    "a larger result": lambda lib, x: lib.add(lib.ones(9), 1, out=x),
    "a view in place": lambda lib, x: x.unsqueeze_(0).t_(),
    "other data": lambda lib, x: setattr(x, "data", lib.ones(4)),
    "other data of another shape": lambda lib, x: setattr(x, "data", lib.ones(3)),
    "writes to other data": _other_data,
    "writes after other data": lambda lib, x: (_other_data(lib, x), x.add_(1)),
}


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
@pytest.mark.parametrize("is_shared", [False, True])
@pytest.mark.parametrize("name", ACTIONS)
def test_writes_are_counted(name: str, is_shared: bool) -> None:
    counts = []
    for lib in (flow, torch):
        x = lib.zeros(4).add_(1)
        view = x[:2] if is_shared else None
        before = x._version
        ACTIONS[name](lib, x)
        counts.append((before, x._version, None if view is None else view._version))
    assert counts[0] == counts[1]


def test_parameters_count_the_steps_of_optimizers() -> None:
    for lib in (flow, torch):
        layer = lib.nn.Linear(2, 2)
        optimizer = lib.optim.SGD(layer.parameters(), 0.1)
        before = layer.weight._version
        layer(lib.ones(1, 2)).sum().backward()
        optimizer.step()
        optimizer.step()
        layer.load_state_dict(layer.state_dict())
        assert layer.weight._version == before + 3


def test_the_data_count_for_themselves() -> None:
    for lib in (flow, torch):
        x = lib.zeros(2).add_(1)
        data = x.data.add_(1)
        assert (x._version, data._version, x.data._version, data.detach()._version) == (1, 1, 0, 1)
        assert x.detach()._version == 1


def test_what_is_made_in_inference_mode_has_no_version():
    for lib in (flow, torch):
        with lib.inference_mode():
            x = lib.ones(2)
            views = [x, x[1:], x.detach()]
        for tensor in views:
            with pytest.raises(RuntimeError, match="do not track version counter"):
                str(tensor._version)
        y = lib.ones(2, requires_grad=True)
        with lib.inference_mode():
            view = y[1:]
        assert view._version == 0
        with pytest.raises(RuntimeError, match="created in inference mode"):
            view.add_(1)
