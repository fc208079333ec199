"""L-BFGS: PyTorch's steps, calls of the closure, and states."""

from __future__ import annotations

import io

import numpy as np
import pytest
import torch

import oneflow as flow


def rosenbrock(x):
    return (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2


class Run:
    """A minimization by one of the libraries, from a point."""

    def __init__(self, lib, point, options):
        self.x = lib.tensor(point, dtype=lib.float64, requires_grad=True)
        self.optimizer = lib.optim.LBFGS([self.x], **options)
        self.calls = 0

    def closure(self):
        self.calls += 1
        self.optimizer.zero_grad()
        loss = rosenbrock(self.x)
        loss.backward()
        return loss

    def steps(self, count):
        """Losses, calls of the closure and the point after some steps."""
        losses = [self.optimizer.step(self.closure).item() for _ in range(count)]
        return [*losses, self.calls, *self.x.tolist()]


OPTIONS = [
    {"lr": 0.01, "max_iter": 6, "history_size": 3},
    {"lr": 0.01, "max_iter": 1},
    {"lr": 0.01, "max_iter": 6, "max_eval": 4},
    {"lr": 0.01, "max_iter": 6, "tolerance_grad": 100.0},
    {"lr": 1.0, "line_search_fn": "strong_wolfe", "max_iter": 6, "history_size": 3},
    {"lr": 1.0, "line_search_fn": "strong_wolfe", "max_iter": 1},
    {"lr": 1.0, "line_search_fn": "strong_wolfe", "max_iter": 6, "max_eval": 4},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_steps_and_calls_are_those_of_torch(options):
    mine, theirs = (Run(lib, [-1.2, 1.0], options).steps(4) for lib in (flow, torch))
    np.testing.assert_allclose(mine, theirs, rtol=1e-6)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_goes_on_from_a_state_of_torch(options):
    theirs = Run(torch, [-1.2, 1.0], options)
    theirs.steps(2)
    file = io.BytesIO()
    torch.save(theirs.optimizer.state_dict(), file)
    file.seek(0)
    mine = Run(flow, theirs.x.tolist(), options)
    mine.optimizer.load_state_dict(flow.load(file))
    theirs.calls = 0
    np.testing.assert_allclose(mine.steps(3), theirs.steps(3), rtol=1e-6)


def test_torch_goes_on_from_its_state():
    options = {"lr": 0.01, "max_iter": 6}
    mine = Run(flow, [-1.2, 1.0], options)
    mine.steps(2)
    state = mine.optimizer.state_dict()
    tensors = {
        name: [torch.tensor(tensor.numpy()) for tensor in value] if name in LISTS else value
        for name, value in state["state"][0].items()
    }
    tensors.update({name: torch.tensor(tensors[name].numpy()) for name in ("d", "prev_flat_grad")})
    theirs = Run(torch, mine.x.tolist(), options)
    theirs.optimizer.load_state_dict({**state, "state": {0: {**tensors, "al": [None] * 100}}})
    mine.calls = 0
    np.testing.assert_allclose(theirs.steps(3), mine.steps(3), rtol=1e-6)


LISTS = ("old_dirs", "old_stps")


def test_lbfgs_finds_the_minimum_of_a_hard_function():
    x = flow.tensor([-1.2, 1.0], dtype=flow.float64, requires_grad=True)
    optimizer = flow.optim.LBFGS([x], lr=1.0, max_iter=60, line_search_fn="strong_wolfe")

    def closure():
        optimizer.zero_grad()
        loss = rosenbrock(x)
        loss.backward()
        return loss

    optimizer.step(closure)
    np.testing.assert_allclose(x.numpy(), [1.0, 1.0], rtol=1e-4)


def test_lbfgs_needs_a_closure_and_one_group():
    with pytest.raises(TypeError, match="closure"):
        flow.optim.LBFGS([flow.tensor(1.0, requires_grad=True)]).step()
    with pytest.raises(ValueError, match="parameter groups"):
        flow.optim.LBFGS(
            [
                {"params": [flow.tensor(1.0, requires_grad=True)]},
                {"params": [flow.tensor(1.0, requires_grad=True)]},
            ]
        )
