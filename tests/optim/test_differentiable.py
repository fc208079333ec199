"""Gradients through the steps of optimizers that are differentiable, beside PyTorch's."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
import torch

import oneflow as flow

CASES = {
    "SGD": ("SGD", {}),
    "SGD with momentum": ("SGD", {"momentum": 0.9, "weight_decay": 0.1}),
    "SGD with Nesterov's momentum": ("SGD", {"momentum": 0.9, "nesterov": True}),
    "SGD upwards": ("SGD", {"maximize": True}),
    "Adam": ("Adam", {}),
    "Adam with the largest moments": ("Adam", {"amsgrad": True, "weight_decay": 0.1}),
    "AdamW": ("AdamW", {"weight_decay": 0.1}),
    "Adamax": ("Adamax", {}),
    "NAdam": ("NAdam", {}),
    "RAdam": ("RAdam", {}),
    "Adagrad": ("Adagrad", {"lr_decay": 0.1}),
    "Adadelta": ("Adadelta", {}),
    "RMSprop": ("RMSprop", {}),
    "RMSprop, centered": ("RMSprop", {"centered": True, "momentum": 0.5}),
    "ASGD": ("ASGD", {}),
}
# PyTorch refuses others in its own step, or leaves out the history of a first direction.
PYTORCHS = ("SGD", "SGD upwards", "Adam", "AdamW", "NAdam", "RAdam", "Adagrad", "Adadelta", "ASGD")
Variables = tuple[Any, Any, Any]


def variables(library: ModuleType, start: Any = (1.0, -2.0, 3.0), step: float = 0.0) -> Variables:
    """A start, a scale and a learning rate; the first number of each is `step` larger."""
    values = list(start), [0.5, 1.5], [0.1]
    for value in values:
        value[0] += step
    first, second, (rate,) = values
    return tuple(
        library.tensor(value, dtype=library.float64, requires_grad=True)
        for value in (first, second, rate)
    )


def learned(library: ModuleType, name: str, given: Variables, options: dict[str, Any]) -> Any:
    """Learn with weights that depend on the variables; return a loss of what was learned."""
    start, scale, rate = given
    weights = [start.clone(), start.sum() * scale]
    optimizer = getattr(library.optim, name)(weights, lr=rate, differentiable=True, **options)
    for step in range(3):
        loss = sum((scale.sum() * weight.clone() ** 2 + step * weight).sum() for weight in weights)
        gradients = library.autograd.grad(loss, weights, create_graph=True)
        for weight, gradient in zip(weights, gradients, strict=True):
            weight.grad = gradient
        optimizer.step()
    return sum((weight**3).sum() for weight in weights)


@pytest.mark.parametrize("case", CASES)
def test_gradients_are_differences(case: str) -> None:
    name, options = CASES[case]
    given = variables(flow)
    learned(flow, name, given, options).backward()
    above, below = variables(flow, step=1e-6), variables(flow, step=-1e-6)
    for position, variable in enumerate(given):
        moved = [
            learned(
                flow, name, (*given[:position], side[position], *given[position + 1 :]), options
            )
            for side in (above, below)
        ]
        difference = (moved[0] - moved[1]).item() / 2e-6
        gradient = variable.grad.reshape(-1)[0].item()
        assert gradient != 0
        assert gradient == pytest.approx(difference, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("case", PYTORCHS)
def test_gradients_are_pytorchs(case: str) -> None:
    name, options = CASES[case]
    gradients = []
    for library in (flow, torch):
        start, scale, _ = variables(library)
        learned(library, name, (start, scale, 0.1), options).backward()
        gradients.append([*start.grad.tolist(), *scale.grad.tolist()])
    assert gradients[0] == pytest.approx(gradients[1], rel=1e-4)


def test_steps_are_not_recorded_without_it() -> None:
    weight = flow.ones(2, requires_grad=True)
    optimizer = flow.optim.SGD([weight], lr=0.1, momentum=0.9)
    (weight**2).sum().backward(create_graph=True)
    optimizer.step()
    assert weight.is_leaf
    with pytest.raises(ValueError, match="non-leaf"):
        flow.optim.SGD([weight * 2], lr=0.1)


def test_a_leaf_is_not_written_to() -> None:
    weight = flow.ones(2, requires_grad=True)
    options: dict[str, Any] = {"differentiable": True}
    optimizer = flow.optim.SGD([weight], lr=0.1, **options)
    (weight**2).sum().backward()
    with pytest.raises(RuntimeError, match="leaf"):
        optimizer.step()
    with flow.no_grad():
        optimizer.step()
    assert weight.tolist() == pytest.approx([0.8, 0.8])


@pytest.mark.parametrize("name", ["LBFGS", "Adafactor", "LAMB", "SparseAdam", "Muon"])
def test_others_refuse_it(name: str) -> None:
    with pytest.raises(NotImplementedError, match="`differentiable` must be False"):
        getattr(flow.optim, name)([flow.ones(2, 2, requires_grad=True)], differentiable=True)
