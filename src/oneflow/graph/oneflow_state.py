"""States of graphs as OneFlow 0.8 and 0.9 wrote them: optimizers by the names of parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from oneflow.base.device import CPU
from oneflow.base.dtype import int64
from oneflow.graph.optimizer_steps import GraphOptimizer, parameters_of
from oneflow.module.module import Module
from oneflow.optim.groups import states_of_parameters
from oneflow.tensor.call import wrap
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import value_from_numpy

# The number of calls that have trained.
TRAIN_STEP = "System-Train-TrainStep"
# OneFlow's names of what optimizers keep, behind the name of a parameter and a hyphen.
_NAMES = {
    "momentum": "momentum_buffer",
    "m": "exp_avg",
    "v": "exp_avg_sq",
    "max_v": "max_exp_avg_sq",
    "mean_square": "square_avg",
    "mean_gradient": "grad_avg",
    "square_avgs": "square_avg",
    "acc_deltas": "acc_delta",
}


def train_step(optimizers: Iterable[GraphOptimizer]) -> Tensor:
    """The number of steps that optimizers and their schedules have taken, of shape (1,).

    Nothing is read: where the program counts, because a gradient scaler may skip steps, it is a
    count of the program.
    """
    steps = [added.scheduler.last_step for added in optimizers if added.scheduler is not None]
    for added in [] if steps else optimizers:
        for state_of_parameter in states_of_parameters(added.optimizer.state):
            count = added.optimizer.counts_of(state_of_parameter).get("step", 0)
            if isinstance(count, Tensor):
                return count.detach().reshape(1).to(int64)
            steps.append(count)
    return wrap(value_from_numpy(np.asarray([max(steps, default=0)], np.int64), CPU))


def states_of_optimizers(
    optimizers: Iterable[GraphOptimizer],
    modules: Iterable[tuple[str, Module]],
    state: Mapping[str, Any],
) -> tuple[list[dict[str, Any]], set[str]]:
    """The states of optimizers for their `load_state_dict`, and their names in `state`."""
    steps = int(state[TRAIN_STEP].item())
    names = {
        id(parameter): name
        for root, module in modules
        for name, parameter in module.named_parameters(prefix=root)
    }
    tensors: dict[str, dict[str, Any]] = {}
    for key in state:
        parameter_name, separator, kind = key.rpartition("-")
        if separator and key != TRAIN_STEP:
            tensors.setdefault(parameter_name, {})[kind] = state[key]
    taken, all_states = {TRAIN_STEP}, []
    for added in optimizers:
        states = added.optimizer.state_dict()
        for number, parameter in enumerate(parameters_of(added.optimizer)):
            name = names.get(id(parameter), "")
            stored = tensors.get(name, {})
            taken.update(f"{name}-{kind}" for kind in stored)
            state_by_name = {_NAMES.get(kind, kind): tensor for kind, tensor in stored.items()}
            states["state"][number] = {"step": steps, **state_by_name}
        all_states.append(states)
    return all_states, taken


def load_optimizers(
    optimizers: Iterable[GraphOptimizer], states: Iterable[dict[str, Any]], steps: int
) -> None:
    """Load the states of optimizers, and move their schedules to the step that was reached."""
    for added, state in zip(optimizers, states, strict=True):
        added.optimizer.load_state_dict(state)
        if added.scheduler is not None:
            added.scheduler.step(steps)
