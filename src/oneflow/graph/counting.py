"""How a recorded optimizer step counts, and gets its numbers.

`HostCounts`: steps are counted in Python before each call, and the numbers made from them are
filled in. `TensorCounts`: whether a step counts is known inside the program only, because a
gradient scaler may skip it; so the program keeps the counts and makes the numbers, and what is
filled in are the options of parameter groups.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np

from oneflow.base.device import Device
from oneflow.differentiation.grad_mode import no_grad
from oneflow.graph.recorder import CapturingRecorder
from oneflow.graph.variables import Variables
from oneflow.optim.optimizer import Optimizer
from oneflow.primitives.operators.optimizer import pack_numbers
from oneflow.program.value import Value
from oneflow.tensor.call import wrap
from oneflow.tensor.global_values import on_placement
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import value_from_numpy


@dataclass
class _Count:
    """Parameters of a group that have taken the same steps: only the first one's are counted.

    Attributes:
        group: the group.
        leader: state of the first.
        followers: states of the others.
        tensors: what counts in the program, by name.
    """

    group: dict[str, Any]
    leader: dict[str, Any]
    followers: list[dict[str, Any]] = field(default_factory=list)
    tensors: dict[str, Tensor] = field(default_factory=dict)


class StepCounts:
    """Abstract: the counts of one optimizer while it is recorded, and afterwards."""

    def __init__(self, optimizer: Optimizer, recorder: CapturingRecorder) -> None:
        self._optimizer = optimizer
        self._recorder = recorder
        self._counts: list[_Count] = []

    def add(self, group: dict[str, Any], states: Iterable[dict[str, Any]]) -> None:
        """Take the states of the parameters of `group` that are stepped."""
        for state in states:
            now = self._signature(state)
            for count in self._counts:
                if count.group is group and self._signature(count.leader) == now:
                    count.followers.append(state)
                    break
            else:
                self._counts.append(_Count(group, state))

    def _signature(self, state: dict[str, Any]) -> list[Any]:
        counts = self._optimizer.counts_of(state).values()
        return [id(each) if isinstance(each, Tensor) else each for each in counts]

    def now(self) -> list[dict[str, Any]]:
        """The counts as they are, for `restore`."""
        return [self._optimizer.counts_of(count.leader) for count in self._counts]

    def restore(self, counts: list[dict[str, Any]]) -> None:
        """Go back to the counts that `now` returned: the step did not happen."""
        for count, before in zip(self._counts, counts, strict=True):
            for state in (count.leader, *count.followers):
                state.update(before)

    def begin(self, variables: Variables, prefix: str) -> list[Tensor]:
        """Get ready for recording; the tensors that count."""
        raise NotImplementedError

    def advance(self, state: dict[str, Any], group: dict[str, Any]) -> Any:
        """What an optimizer calls to count a step of one parameter."""
        raise NotImplementedError

    def pack(self, group: dict[str, Any], state: dict[str, Any], device: Device) -> Value:
        """What an optimizer calls for the numbers of an update."""
        raise NotImplementedError

    def slots(self) -> set[int]:
        """Places of the run-time numbers that `refill` writes."""
        raise NotImplementedError

    def settle(self) -> None:
        """Before each call: what others did to the counts since the last one is taken over."""
        raise NotImplementedError

    def refill(self, numbers: list[Any]) -> None:
        """Count one more step, if that is not part of it, and write the numbers it needs."""
        raise NotImplementedError


class HostCounts(StepCounts):
    """Counts that are Python numbers."""

    def __init__(self, optimizer: Optimizer, recorder: CapturingRecorder) -> None:
        super().__init__(optimizer, recorder)
        self._slots: list[tuple[dict[str, Any], dict[str, Any], int]] = []

    def begin(self, variables: Variables, prefix: str) -> list[Tensor]:
        """Nothing but to see that counts are numbers."""
        self.settle()
        return []

    def advance(self, state: dict[str, Any], group: dict[str, Any]) -> Any:
        """The optimizer's own counting."""
        return self._optimizer.advance(state, group)

    def pack(self, group: dict[str, Any], state: dict[str, Any], device: Device) -> Value:
        """The optimizer's own numbers; where they are is remembered."""
        self._slots.append((group, state, len(self._recorder.scalars)))
        return pack_numbers(*self._optimizer.numbers(group, state), device=device)

    def slots(self) -> set[int]:
        """Places of the numbers of each update."""
        return {
            start + place
            for group, state, start in self._slots
            for place in range(len(self._optimizer.numbers(group, state)))
        }

    def settle(self) -> None:
        """Make numbers of counts that became tensors."""
        if self._optimizer.has_tensor_counts:
            self._optimizer.read_counts()

    def refill(self, numbers: list[Any]) -> None:
        """Count one more step, and write the numbers of each update."""
        optimizer = self._optimizer
        for count in self._counts:
            optimizer.advance(count.leader, count.group)
            if count.followers:
                counted = optimizer.counts_of(count.leader)
                for state in count.followers:
                    state.update(counted)
        for group, state, start in self._slots:
            fresh = optimizer.numbers(group, state)
            numbers[start : start + len(fresh)] = fresh


class TensorCounts(StepCounts):
    """Counts that are 0-dim tensors in the states of an optimizer, and variables of a program."""

    def __init__(self, optimizer: Optimizer, recorder: CapturingRecorder) -> None:
        super().__init__(optimizer, recorder)
        self._options: dict[int, dict[str, Any]] = {}
        self._slots: list[tuple[dict[str, Any], int]] = []

    def begin(self, variables: Variables, prefix: str) -> list[Tensor]:
        """Let tensors count, and make them variables."""
        tensors = []
        for index, count in enumerate(self._counts):
            count.tensors = {
                name: each if isinstance(each, Tensor) else wrap(self._value(each))
                for name, each in self._optimizer.counts_of(count.leader).items()
            }
            self._share(count)
            for name, tensor in count.tensors.items():
                variables.add(f"{prefix}.{name}.{index}", "state", tensor, (count.leader, name))
                tensors.append(tensor)
        return tensors

    def _value(self, number: float) -> Value:
        return value_from_numpy(np.asarray(number), self._recorder.device)

    def _share(self, count: _Count) -> None:
        """Put the tensors into the states."""
        self._optimizer.has_tensor_counts = True
        for state in (count.leader, *count.followers):
            state.update(count.tensors)

    def advance(self, state: dict[str, Any], group: dict[str, Any]) -> Any:
        """Count one step in the program, once for all that share the tensors."""
        clock = self._signature(state)
        for count in self._counts:
            if count.leader is state:
                fresh: dict[str, Any] = dict(count.tensors)
                self._optimizer.advance(fresh, self._options_of(group))
                for name, tensor in count.tensors.items():
                    tensor.assign(fresh[name].value)
        return clock

    def pack(self, group: dict[str, Any], state: dict[str, Any], device: Device) -> Value:
        """The optimizer's own numbers, made in the program."""
        numbers = self._optimizer.numbers(self._options_of(group), state)
        return on_placement(pack_numbers(*numbers, device=self._recorder.device), device)

    def _options_of(self, group: dict[str, Any]) -> dict[str, Any]:
        """A group whose numbers are values in the program."""
        known = self._options.get(id(group))
        if known is None:
            self._slots.append((group, len(self._recorder.scalars)))
            packed = pack_numbers(*_numbers_in(group), device=self._recorder.device)
            values = iter(wrap(packed).unbind())
            known = {name: _replaced(each, values) for name, each in _options(group)}
            self._options[id(group)] = known
        return known

    def slots(self) -> set[int]:
        """Places of the options of each group."""
        return {
            start + place
            for group, start in self._slots
            for place in range(len(_numbers_in(group)))
        }

    def settle(self) -> None:
        """Put the tensors back where something else took their place."""
        for count in self._counts:
            now = self._optimizer.counts_of(count.leader)
            moved = [name for name, tensor in count.tensors.items() if now[name] is not tensor]
            with no_grad():
                for name in moved:
                    each = now[name]
                    value = each.value if isinstance(each, Tensor) else self._value(each)
                    count.tensors[name].assign(value)
            if moved:
                self._share(count)

    def refill(self, numbers: list[Any]) -> None:
        """Write the options of each group."""
        for group, start in self._slots:
            fresh = _numbers_in(group)
            numbers[start : start + len(fresh)] = fresh


def _options(group: dict[str, Any]) -> list[tuple[str, Any]]:
    return [(name, each) for name, each in group.items() if name != "params"]


def _numbers_in(group: dict[str, Any]) -> list[float]:
    """The numbers among the options of a group, in order."""
    options = [each if isinstance(each, list | tuple) else (each,) for _, each in _options(group)]
    return [float(each) for option in options for each in option if _is_number(each)]


def _replaced(option: Any, values: Any) -> Any:
    """An option with its numbers replaced by the next of `values`."""
    if isinstance(option, list | tuple):
        return [next(values) if _is_number(each) else each for each in option]
    return next(values) if _is_number(option) else option


def _is_number(option: Any) -> bool:
    return isinstance(option, Real | Tensor) and not isinstance(option, bool)
