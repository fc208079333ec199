"""Steps that a device may skip: whether it does, the host does not learn."""

from __future__ import annotations

from typing import Any, TypeGuard

import numpy as np

from oneflow.base.device import Device
from oneflow.differentiation.grad_mode import no_grad
from oneflow.functional.elementwise.clamp import where
from oneflow.optim.build_check import check_not_in_build
from oneflow.optim.optimizer import Optimizer
from oneflow.primitives.operators.optimizer import pack_numbers
from oneflow.primitives.operators.values_unless import values_unless
from oneflow.program.value import Value
from oneflow.tensor.call import wrap
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import to_place, value_from_numpy
from oneflow.tensor.views import unwrap


def may_step_unless(optimizer: Any) -> TypeGuard[Optimizer]:
    """Return whether `step_unless` can step an optimizer: none of its own code runs in a step.

    Args:
        optimizer: an optimizer, or an object of a library that has its methods.
    """
    return (
        isinstance(optimizer, Optimizer)
        and optimizer.steps_by_update
        and "step" not in vars(optimizer)
        and not any(group.get("differentiable") for group in optimizer.param_groups)
    )


def step_unless(skipped: Tensor, optimizer: Optimizer) -> None:
    """Step an optimizer, unless `skipped` is true; nothing is read.

    Parameters, states and counts keep their values then. Counts are 0-dim tensors afterwards.

    Args:
        skipped: a truth value on the parameters' device.
        optimizer: one that `may_step_unless`.
    """
    check_not_in_build(type(optimizer).__name__, optimizer.param_groups)
    optimizer.has_tensor_counts = True
    optimizer.step_counter = SkippableCounts(skipped, optimizer)
    try:
        optimizer.step()
    finally:
        optimizer.step_counter = None


class SkippableCounts:
    """The counts of one step that may be skipped. States with equal counts share their tensors.

    Args:
        skipped: whether the step is skipped.
        optimizer: the optimizer.
    """

    def __init__(self, skipped: Tensor, optimizer: Optimizer) -> None:
        self._skipped = unwrap(skipped)
        self._optimizer = optimizer
        # The counts before, which are kept alive, and after, by the group and those before.
        self._advanced: dict[tuple[Any, ...], tuple[dict[str, Any], dict[str, Any]]] = {}

    def advance(self, state: dict[str, Any], group: dict[str, Any]) -> Any:
        """Count a step of one parameter, on the device."""
        before = self._optimizer.counts_of(state)
        clock = (id(group), *map(_identity, before.values()))
        entry = self._advanced.get(clock)
        if entry is None:
            entry = self._advanced[clock] = before, self._counts_after(before, group)
        state.update(entry[1])
        return clock

    def _counts_after(self, before: dict[str, Any], group: dict[str, Any]) -> dict[str, Any]:
        counts = {name: self._tensor(count) for name, count in before.items()}
        with no_grad():
            advanced = _exact(counts)
            self._optimizer.advance(advanced, group)
            skipped = wrap(self._skipped)
            return {
                name: where(skipped, count, advanced[name].to(count.dtype))
                for name, count in counts.items()
            }

    def _tensor(self, count: float | Tensor) -> Tensor:
        """A count, where it is known whether the step is skipped."""
        device = self._skipped.spec.device
        if isinstance(count, Tensor):
            return wrap(to_place(unwrap(count), device))
        return wrap(value_from_numpy(np.asarray(count), device))

    def pack(self, group: dict[str, Any], state: dict[str, Any], device: Device) -> Value:
        """The numbers of the next update of a parameter with `state`, from counts on the device."""
        counts = self._optimizer.counts_of(state)
        with no_grad():
            numbers = self._optimizer.numbers(group, {**state, **_exact(counts)})
        return to_place(pack_numbers(*numbers, device=self._skipped.spec.device), device)

    def results(self, before: list[Value], after: list[Value]) -> list[Value]:
        """The values of parameters and states behind an update: those before a skipped one."""
        skipped = to_place(self._skipped, before[0].spec.device)
        return values_unless(skipped, *before, *after)


def _exact(counts: dict[str, Any]) -> dict[str, Any]:
    """Counts in the precision of Python's numbers: of integers, float32 would come."""
    return {name: count.double() for name, count in counts.items()}


def _identity(count: Any) -> Any:
    return id(count) if isinstance(count, Tensor) else count
