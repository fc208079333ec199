"""The state dict of a graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from oneflow.graph.capture import Capturable
from oneflow.graph.oneflow_state import (
    TRAIN_STEP,
    load_optimizers,
    states_of_optimizers,
    train_step,
)
from oneflow.module.state import IncompatibleKeys, copy_into
from oneflow.tensor.tensor import Tensor


def graph_state(graph: Capturable, destination: dict[str, Any]) -> dict[str, Any]:
    """Put the state of everything in `graph` into `destination`, and return it."""
    for added in graph.added_optimizers():
        added.optimizer.step_due_schedule()
    for name, part in _parts(graph).items():
        destination[name] = part.detach() if isinstance(part, Tensor) else part.state_dict()
    optimizers = graph.added_optimizers()
    if optimizers:
        destination[TRAIN_STEP] = train_step(optimizers)
    return destination


def load_graph_state(graph: Capturable, state: Mapping[str, Any], strict: bool) -> IncompatibleKeys:
    """Load a state that `graph_state` collected, or OneFlow; return the names that do not fit.

    Raises:
        RuntimeError: with `strict`, names do not fit.
    """
    parts = _parts(graph)
    names = {*parts, TRAIN_STEP}
    optimizers = graph.added_optimizers()
    is_oneflow = bool(optimizers) and TRAIN_STEP in state and "optimizer.0" not in state
    states: list[dict[str, Any]] = []
    if is_oneflow:
        states, taken = states_of_optimizers(optimizers, graph.named_modules(), state)
        names |= taken
        of_modules = {name for name, _ in graph.named_modules()}
        parts = {n: part for n, part in parts.items() if n in of_modules or n in state}
    missing = [name for name in parts if name not in state]
    unexpected = [name for name in state if name not in names]
    if strict and (missing or unexpected):
        raise RuntimeError(
            f"Error(s) in loading state_dict for {graph.name}: missing {missing}, "
            f"unexpected {unexpected}"
        )
    if is_oneflow:
        load_optimizers(optimizers, states, int(state[TRAIN_STEP].item()))
    modules = dict(graph.named_modules())
    for name, part in parts.items():
        if name not in state:
            continue
        if name in modules:
            keys = part.load_state_dict(state[name], strict=strict)
            missing += [f"{name}.{key}" for key in keys.missing_keys]
            unexpected += [f"{name}.{key}" for key in keys.unexpected_keys]
        elif isinstance(part, Tensor):
            copy_into(part, state[name])
        else:
            part.load_state_dict(state[name])
    return IncompatibleKeys(missing, unexpected)


def _parts(graph: Capturable) -> dict[str, Any]:
    """Everything in a graph that has a state, by its name in the state dict.

    Attributes have no dots in their names, so the others cannot be taken for them.
    """
    parts: dict[str, Any] = dict(graph.named_modules())
    parts.update(
        {n: value for n, value in graph.graph_attributes().items() if isinstance(value, Tensor)}
    )
    for index, added in enumerate(graph.added_optimizers()):
        parts[f"optimizer.{index}"] = added.optimizer
        if added.scheduler is not None:
            parts[f"lr_scheduler.{index}"] = added.scheduler
    if graph.settings.scaler is not None:
        parts["scaler.0"] = graph.settings.scaler
    return parts
