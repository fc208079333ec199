"""Making graphs of functions and of training steps."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import oneflow as flow
from oneflow import nn


def graph_of(function: Callable, **modules: nn.Module) -> nn.Graph:
    """A graph whose `build` is `function`; modules become attributes."""

    class FunctionGraph(nn.Graph):
        def __init__(self):
            super().__init__()
            for name, module in modules.items():
                setattr(self, name, module)

        def build(self, *args, **kwargs):
            return function(*args, **kwargs)

    return FunctionGraph()


def only_step(graph: nn.Graph) -> Any:
    """The only compiled step of a graph."""
    (step,) = graph._steps.values()
    return step


class TrainGraph(nn.Graph):
    """A training step: ``loss_of(module, *inputs)`` and one optimizer."""

    def __init__(self, module, loss_of, optimizer, schedule=None, **options):
        super().__init__()
        self.module = module
        self.loss_of = loss_of
        self.add_optimizer(optimizer, lr_sch=schedule, **options)

    def build(self, *inputs):
        loss = self.loss_of(self.module, *inputs)
        loss.backward()
        return loss


def train_eagerly(module, loss_of, optimizer, batches, schedule=None) -> list[float]:
    """The losses of the same steps as `TrainGraph`'s."""
    losses = []
    for inputs in batches:
        loss = loss_of(module, *inputs)
        loss.backward()
        optimizer.clip_grad()
        optimizer.step()
        optimizer.zero_grad()
        if schedule is not None:
            schedule.step()
        losses.append(loss.item())
    return losses


def assert_same_training(
    module: nn.Module,
    loss_of: Callable[..., flow.Tensor],
    batches: Sequence[tuple],
    make_optimizer: Callable[[Any], Any],
    make_schedule: Callable[[Any], Any] = lambda optimizer: None,
    tolerance: float = 1e-5,
) -> nn.Graph:
    """Eager training and the graph give the same losses, parameters and buffers."""
    twin = copy.deepcopy(module)
    optimizer = make_optimizer(module)
    flow.manual_seed(5)
    eager = train_eagerly(module, loss_of, optimizer, batches, make_schedule(optimizer))
    position = flow.get_rng_state().numpy()
    optimizer = make_optimizer(twin)
    graph = TrainGraph(twin, loss_of, optimizer, make_schedule(optimizer))
    flow.manual_seed(5)
    static = [graph(*inputs).item() for inputs in batches]
    np.testing.assert_allclose(static, eager, rtol=tolerance, atol=tolerance)
    for (name, mine), theirs in zip(
        twin.state_dict().items(), module.state_dict().values(), strict=True
    ):
        np.testing.assert_allclose(
            mine.numpy(), theirs.numpy(), rtol=10 * tolerance, atol=10 * tolerance, err_msg=name
        )
    assert (flow.get_rng_state().numpy() == position).all()
    return graph
