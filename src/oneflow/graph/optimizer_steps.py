"""The optimizers of a graph: their steps are recorded once, and get new numbers in each call."""

from __future__ import annotations

from collections.abc import Container, Iterator
from itertools import chain
from operator import is_not, methodcaller
from typing import Any

from oneflow.amp.grad_scaler import StaticGradScaler
from oneflow.differentiation.grad_mode import no_grad
from oneflow.graph.capturing_recorder import CapturingRecorder
from oneflow.graph.step_counts import HostCounts, StepCounts, TensorCounts
from oneflow.graph.variables import GraphVariables
from oneflow.optim.build_check import has_gradients
from oneflow.optim.groups import OptionsSnapshot, copied_state
from oneflow.optim.lr_scheduler.scheduler import LRScheduler
from oneflow.optim.optimizer import Optimizer
from oneflow.primitives.operators.elementwise import where
from oneflow.tensor.global_values import on_placement
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import unwrap, write

_IS_CURRENT = methodcaller("is_current")


def parameters_of(optimizer: Optimizer) -> Iterator[Tensor]:
    """The parameters of all groups."""
    return chain.from_iterable(group["params"] for group in optimizer.param_groups)


class GraphOptimizer:
    """An optimizer that was added to a graph, with its schedule.

    Args:
        optimizer: the optimizer.
        scheduler: the schedule of its learning rate.
        is_sparse: update only those rows of embeddings that were looked up.
    """

    def __init__(
        self, optimizer: Optimizer, scheduler: LRScheduler | None, is_sparse: bool
    ) -> None:
        self.optimizer = optimizer
        self.scheduler = scheduler
        self.is_sparse = is_sparse

    def has_gradients(self) -> bool:
        """Return true if `build` left a gradient in one of the parameters."""
        return has_gradients(self.optimizer.param_groups)

    def finish(self, captured: Container[GraphOptimizer], is_updated: bool) -> None:
        """Make the schedule due after a call, and step the optimizer if its step was not captured.

        Args:
            captured: the optimizers whose steps are part of the program.
            is_updated: the optimizer has updated rows of embeddings already.
        """
        if is_updated or self in captured:
            self._end_step()
        elif not self.optimizer.steps_by_update and self.has_gradients():
            self.optimizer.clip_grad()
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=True)
            self._end_step()

    def _end_step(self) -> None:
        # Until the program steps the schedule, or calls again, it shows the rate that was used.
        if self.scheduler is not None:
            self.optimizer.make_schedule_due(self.scheduler)


class OptimizerStep:
    """An optimizer's step that is part of a program.

    Attributes:
        owner: the optimizer of the graph.
        tensors: identities of the parameters it updates.
    """

    def __init__(self, owner: GraphOptimizer) -> None:
        self.owner = owner
        self.tensors: set[int] = set()
        self._optimizer = owner.optimizer
        self._state = self._optimizer.state
        self._groups = list(self._optimizer.param_groups)
        self._forms: list[tuple] = []
        # The groups' options when they last had those forms.
        self._options: list[OptionsSnapshot] = []
        self._parameters: list[list[Tensor]] = []
        self._owners: list[dict[str, Any]] = []
        self._keys: list[str] = []
        self._tensors: list[Tensor] = []
        self._counts: StepCounts
        self._state_count = 0
        self._before: list[tuple[Any, Any]] = [
            (key, copied_state(state)) for key, state in self._state.items()
        ]

    def record(
        self,
        recorder: CapturingRecorder,
        variables: GraphVariables,
        prefix: str,
        scaler: StaticGradScaler | None,
    ) -> None:
        """Record unscaling, clipping and the step itself; the states become variables."""
        optimizer = self._optimizer
        skips = scaler is not None and scaler.may_skip()
        counts = self._counts = (TensorCounts if skips else HostCounts)(optimizer, recorder)
        updated = self._add_states(variables, prefix)
        self._state_count = len(self._state)
        updated += counts.begin(variables, prefix)
        overflow = None if scaler is None else scaler.unscale_(optimizer)
        before = [unwrap(tensor) for tensor in updated]
        optimizer.clip_grad()
        optimizer.step_counter = counts
        try:
            optimizer.step()
        finally:
            optimizer.step_counter = None
        if overflow is not None and skips:
            with no_grad():
                for tensor, old in zip(updated, before, strict=True):
                    skipped = on_placement(unwrap(overflow), old.spec.device)
                    write(tensor, where(skipped, old, unwrap(tensor)))

    def _add_states(self, variables: GraphVariables, prefix: str) -> list[Tensor]:
        """Make variables of the states; returns the tensors it updates, except counts."""
        optimizer = self._optimizer
        updated: list[Tensor] = []
        names = {id(variable.tensor): variable.name for variable in variables}
        for group in optimizer.param_groups:
            self._forms.append(optimizer.form(group))
            self._parameters.append(list(group["params"]))
            updated_params = [
                parameter for parameter in group["params"] if parameter.grad is not None
            ]
            self.tensors.update(map(id, updated_params))
            updated += updated_params
            states = optimizer.states_of_group(group)
            self._counts.add(group, states)
            for parameter, state in zip(updated_params, states, strict=True):
                name = f"{prefix}.{names.get(id(parameter), 'parameter')}"
                updated += self._add_state(variables, name, state)
        return updated

    def _add_state(self, variables: GraphVariables, name: str, state: dict) -> list[Tensor]:
        """Make variables of the tensors in a parameter's state, except counts; returns them."""
        counts = self._optimizer.counts_of(state)
        tensors = {
            key: value
            for key, value in state.items()
            if isinstance(value, Tensor) and key not in counts
        }
        for key, tensor in tensors.items():
            variables.add(f"{name}.{key}", "state", tensor, state, key)
            self._owners.append(state)
            self._keys.append(key)
            self._tensors.append(tensor)
        return list(tensors.values())

    def slots(self) -> set[int]:
        """The indices of the run-time numbers that `update_numbers` writes."""
        return self._counts.slots()

    def update_numbers(self, numbers: list[Any]) -> None:
        """Count one more step, and write its numbers."""
        self._counts.update_numbers(numbers)

    def synchronize_counts(self) -> None:
        """Take over, before each call, changes that others made to the counts."""
        self._counts.synchronize()

    def counts(self) -> list[dict[str, Any]]:
        """The number of steps taken so far, for `restore_counts`."""
        return self._counts.snapshot()

    def restore_counts(self, counts: list[dict[str, Any]]) -> None:
        """Forget a step that failed."""
        self._counts.restore(counts)

    def is_current(self) -> bool:
        """Return true if the optimizer still steps in the form that was recorded."""
        optimizer = self._optimizer
        return (
            optimizer.state is self._state
            and len(self._state) >= self._state_count
            and len(optimizer.param_groups) == len(self._groups)
            and not any(map(is_not, optimizer.param_groups, self._groups))
            and self._has_same_form()
            and all(map(_has_parameters, optimizer.param_groups, self._parameters))
            and not any(map(is_not, map(dict.get, self._owners, self._keys), self._tensors))
            and optimizer.steps_by_update
            and self._counts.is_current()
        )

    def _has_same_form(self) -> bool:
        """Return whether the groups have the forms that they had; they are of the same number."""
        groups = self._optimizer.param_groups
        if self._options and all(map(_IS_CURRENT, self._options)):
            return True
        if list(map(self._optimizer.form, groups)) != self._forms:
            return False
        # A class of the user's may look at more than at the options.
        self._options = list(map(OptionsSnapshot, groups)) if self._optimizer._is_formula else []
        return True

    def undo(self) -> None:
        """Forget that the step was recorded."""
        self._state.clear()
        for key, state in self._before:
            self._state[key] = state


def _has_parameters(group: dict[str, Any], parameters: list[Tensor]) -> bool:
    """Return whether a group has these parameters."""
    members = group["params"]
    return len(members) == len(parameters) and not any(map(is_not, members, parameters))
