"""The optimizers of a graph: recording their steps once, counting and filling in numbers later."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from oneflow.amp.grad_scaler import GradScaler, StaticGradScaler
from oneflow.differentiation.grad_mode import no_grad
from oneflow.graph.recorder import CapturingRecorder
from oneflow.graph.variables import Variables
from oneflow.optim.lr_scheduler.scheduler import LRScheduler
from oneflow.optim.optimizer import Optimizer
from oneflow.primitives.elementwise import where
from oneflow.tensor.tensor import Tensor


class Training:
    """An optimizer added to a graph, with what belongs to it."""

    def __init__(self, optimizer: Optimizer, scheduler: LRScheduler | None, sparse: bool) -> None:
        self.optimizer = optimizer
        self.scheduler = scheduler
        self.sparse = sparse

    def has_gradients(self) -> bool:
        """Whether `build` left a gradient in one of the parameters."""
        return any(
            parameter.grad is not None
            for group in self.optimizer.param_groups
            for parameter in group["params"]
        )

    def finish(self, recorded: Sequence[RecordedStep]) -> None:
        """After the program has run: step the schedule, and the optimizer if it was not in it."""
        if any(each.training is self for each in recorded):
            self._step_schedule()
        elif not self.optimizer.steps_by_update and self.has_gradients():
            self.optimizer.clip_grad()
            self.optimizer.step()
            self.optimizer.zero_grad(set_to_none=True)
            self._step_schedule()

    def _step_schedule(self) -> None:
        if self.scheduler is not None:
            self.scheduler.step()


class _Count(NamedTuple):
    """Parameters of a group that have taken the same steps: only the first one's are counted."""

    group: dict[str, Any]
    leader: dict[str, Any]
    followers: list[dict[str, Any]]


def _counts_of(group: dict[str, Any], states: list[dict[str, Any]]) -> list[_Count]:
    counts: list[_Count] = []
    for state in states:
        for count in counts:
            if _plain(count.leader) == _plain(state):
                count.followers.append(state)
                break
        else:
            counts.append(_Count(group, state, []))
    return counts


def _plain(state: dict[str, Any]) -> dict[str, Any]:
    """What a state has besides tensors."""
    return {name: each for name, each in state.items() if not isinstance(each, Tensor)}


class RecordedStep:
    """An optimizer's step that is part of a program.

    Attributes:
        tensors: identities of the parameters it updates.
    """

    def __init__(self, training: Training) -> None:
        self.training = training
        self.tensors: set[int] = set()
        self._optimizer = training.optimizer
        self._state = self._optimizer.state
        self._forms: list[tuple] = []
        self._counts: list[_Count] = []
        self._slots: list[tuple[dict[str, Any], dict[str, Any], int]] = []
        self._before: list[tuple[Any, dict[str, Any]]] = [
            (key, dict(state)) for key, state in self._state.items()
        ]

    def record(
        self,
        recorder: CapturingRecorder,
        variables: Variables,
        prefix: str,
        scaler: StaticGradScaler | None,
    ) -> None:
        """Record unscaling, clipping and the step itself; the states become variables."""
        optimizer = self._optimizer
        updated: list[Tensor] = []
        names = {id(each.tensor): each.name for each in variables}
        for group in optimizer.param_groups:
            self._forms.append(optimizer.form(group))
            stepped = [each for each in group["params"] if each.grad is not None]
            self.tensors.update(map(id, stepped))
            updated += stepped
            states = optimizer.stepped_states(group)
            self._counts += _counts_of(group, states)
            for parameter, state in zip(stepped, states, strict=True):
                for key, kept in list(state.items()):
                    if isinstance(kept, Tensor):
                        name = f"{prefix}.{names.get(id(parameter), 'parameter')}.{key}"
                        variables.add(name, "state", kept, (state, key))
                        updated.append(kept)
        bad = None if scaler is None else scaler.unscale_(optimizer)
        before = [each.value for each in updated]
        optimizer.clip_grad()

        def note(group: dict[str, Any], state: dict[str, Any]) -> None:
            self._slots.append((group, state, len(recorder.scalars)))

        optimizer.before_numbers = note
        try:
            optimizer.step()
        finally:
            optimizer.before_numbers = None
        if bad is not None and isinstance(scaler, GradScaler):
            with no_grad():
                for tensor, old in zip(updated, before, strict=True):
                    tensor.assign(where(bad.value, old, tensor.value))

    def slots(self) -> set[int]:
        """Places of the run-time numbers that `refill` writes."""
        return {
            start + place
            for group, state, start in self._slots
            for place in range(len(self._optimizer.numbers(group, state)))
        }

    def refill(self, numbers: list[Any]) -> None:
        """Count one more step, and write its numbers into their places."""
        optimizer = self._optimizer
        for count in self._counts:
            optimizer.advance(count.group, count.leader)
            if count.followers:
                plain = _plain(count.leader)
                for state in count.followers:
                    state.update(plain)
        for group, state, start in self._slots:
            fresh = optimizer.numbers(group, state)
            numbers[start : start + len(fresh)] = fresh

    def fits(self) -> bool:
        """Whether the optimizer still steps in the form that was recorded."""
        optimizer = self._optimizer
        return (
            optimizer.state is self._state
            and len(optimizer.param_groups) == len(self._forms)
            and all(map(self._has_form, optimizer.param_groups, self._forms))
            and optimizer.steps_by_update
        )

    def _has_form(self, group: dict[str, Any], form: tuple) -> bool:
        return self._optimizer.form(group) == form

    def undo(self) -> None:
        """Forget that the step was recorded."""
        self._state.clear()
        for key, state in self._before:
            self._state[key] = state
