"""The step counts of a captured optimizer step, and the run-time numbers that depend on them.

`HostCounts`: steps are counted in Python before each call, and the numbers computed from them are
filled in. `TensorCounts`: only the program knows if a step counts, because a gradient scaler may
skip it; so the program keeps the counts and computes the numbers, and the options of parameter
groups are filled in.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from numbers import Real
from typing import Any

import numpy as np

from oneflow.base.device import Device
from oneflow.differentiation.grad_mode import no_grad
from oneflow.graph.capturing_recorder import CapturingRecorder
from oneflow.graph.variables import GraphVariables
from oneflow.optim.groups import read_options, states_of_parameters
from oneflow.optim.numbers_ahead import numbers_of_update, options_ahead
from oneflow.optim.optimizer import Optimizer
from oneflow.primitives.operators.optimizer import pack_numbers
from oneflow.program.update_number import UpdateNumber, uses_number_tables
from oneflow.program.value import Value
from oneflow.tensor.call import wrap
from oneflow.tensor.global_values import on_placement
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import value_from_numpy
from oneflow.tensor.views import unwrap, write


@dataclass
class _SharedCount:
    """Parameters of a group that have taken the same steps: only the first one's are counted.

    Attributes:
        group: the group.
        leader: state of the first.
        others: states of the others.
        tensors: the counts in the program, by name.
    """

    group: dict[str, Any]
    leader: dict[str, Any]
    others: list[dict[str, Any]] = field(default_factory=list)
    tensors: dict[str, Tensor] = field(default_factory=dict)


class StepCounts:
    """Abstract: the counts of one optimizer while it is recorded, and afterwards."""

    def __init__(self, optimizer: Optimizer, recorder: CapturingRecorder) -> None:
        self._optimizer = optimizer
        self._recorder = recorder
        self._counts: list[_SharedCount] = []

    def add(self, group: dict[str, Any], states: Iterable[dict[str, Any]]) -> None:
        """Take the states of the parameters of `group` that are stepped."""
        for state in states:
            signature = self._signature(state)
            for count in self._counts:
                if count.group is group and self._signature(count.leader) == signature:
                    count.others.append(state)
                    break
            else:
                self._counts.append(_SharedCount(group, state))

    def _signature(self, state: dict[str, Any]) -> list[Any]:
        counts = self._optimizer.counts_of(state).values()
        return [id(number) if isinstance(number, Tensor) else number for number in counts]

    def snapshot(self) -> list[dict[str, Any]]:
        """The present counts, for `restore`."""
        return [self._optimizer.counts_of(count.leader) for count in self._counts]

    def restore(self, counts: list[dict[str, Any]]) -> None:
        """Go back to the counts that `snapshot` returned: the step did not happen."""
        for count, before in zip(self._counts, counts, strict=True):
            for state in (count.leader, *count.others):
                state.update(before)

    def begin(self, variables: GraphVariables, prefix: str) -> list[Tensor]:
        """Prepare for recording; returns the tensors that hold counts."""
        raise NotImplementedError

    def is_current(self) -> bool:
        """Return whether the recorded counts are valid for the present options."""
        raise NotImplementedError

    def advance(self, state: dict[str, Any], group: dict[str, Any]) -> Any:
        """Count a step of one parameter; called by the optimizer."""
        raise NotImplementedError

    def pack(self, group: dict[str, Any], state: dict[str, Any], device: Device) -> Value:
        """Return the numbers of an update as a value; called by the optimizer."""
        raise NotImplementedError

    def results(self, before: list[Value], after: list[Value]) -> list[Value]:
        """Return `after`: what a step that is skipped leaves is chosen behind the whole step."""
        return after

    def slots(self) -> set[int]:
        """The indices of the run-time numbers that `update_numbers` writes."""
        raise NotImplementedError

    def synchronize(self) -> None:
        """Take over, before a call, changes that others made to the counts since the last one."""
        raise NotImplementedError

    def update_numbers(self, numbers: list[Any]) -> None:
        """Count one more step, unless the program does, and write the numbers it needs."""
        raise NotImplementedError


class HostCounts(StepCounts):
    """Counts that are Python numbers."""

    def __init__(self, optimizer: Optimizer, recorder: CapturingRecorder) -> None:
        super().__init__(optimizer, recorder)
        self._slots: list[tuple[dict[str, Any], dict[str, Any], int]] = []

    def begin(self, variables: GraphVariables, prefix: str) -> list[Tensor]:
        """Make sure that counts are Python numbers."""
        self.synchronize()
        return []

    def is_current(self) -> bool:
        """Return true: all numbers are computed anew before each call."""
        return True

    def advance(self, state: dict[str, Any], group: dict[str, Any]) -> Any:
        """Count as the optimizer does."""
        return self._optimizer.advance(state, group)

    def pack(self, group: dict[str, Any], state: dict[str, Any], device: Device) -> Value:
        """Return the optimizer's numbers, and remember their slots."""
        self._slots.append((group, state, len(self._recorder.scalars)))
        return pack_numbers(*self._numbers(group, state), device=device)

    def _numbers(self, group: dict[str, Any], state: dict[str, Any]) -> tuple[Any, ...]:
        """The numbers of an update; options that are tensors are read."""
        options = read_options(group)
        return numbers_of_update(self._optimizer, options, state, self._recorder.device)

    def slots(self) -> set[int]:
        """The indices of the numbers of each update."""
        return {
            start + index
            for group, state, start in self._slots
            for index in range(len(self._numbers(group, state)))
        }

    def synchronize(self) -> None:
        """Turn counts that became tensors into numbers."""
        if self._optimizer.has_tensor_counts:
            self._optimizer.read_counts()

    def update_numbers(self, numbers: list[Any]) -> None:
        """Count one more step, and write the numbers of each update."""
        optimizer = self._optimizer
        for count in self._counts:
            optimizer.advance(count.leader, count.group)
            if count.others:
                for name, number in optimizer.counts_of(count.leader).items():
                    for state in count.others:
                        state[name] = number
        for group, state, start in self._slots:
            updated = self._numbers(group, state)
            numbers[start : start + len(updated)] = updated


class TensorCounts(StepCounts):
    """Counts that are 0-dim tensors in the states of an optimizer, and variables of a program."""

    def __init__(self, optimizer: Optimizer, recorder: CapturingRecorder) -> None:
        super().__init__(optimizer, recorder)
        self._options: dict[int, dict[str, Any]] = {}
        self._slots: list[tuple[dict[str, Any], int]] = []
        self._forms: list[list[Any]] = []

    def begin(self, variables: GraphVariables, prefix: str) -> list[Tensor]:
        """Turn counts into tensors, and make variables of them."""
        tensors = []
        step_ids = {id(state) for count in self._counts for state in (count.leader, *count.others)}
        constant_ids = {
            id(count)
            for state in states_of_parameters(self._optimizer.state)
            if id(state) not in step_ids
            for count in self._optimizer.counts_of(state).values()
        }
        for index, count in enumerate(self._counts):
            count.tensors = {
                name: self._tensor_of(number, id(number) in constant_ids)
                for name, number in self._optimizer.counts_of(count.leader).items()
            }
            self._share(count)
            for name, tensor in count.tensors.items():
                variables.add(f"{prefix}.{name}.{index}", "state", tensor, count.leader, name)
                tensors.append(tensor)
        return tensors

    def _tensor_of(self, count: Any, is_shared: bool) -> Tensor:
        """The tensor of a count; another one if parameters that are not stepped share it."""
        if not isinstance(count, Tensor):
            return wrap(self._value(count))
        return wrap(unwrap(count).alias()) if is_shared else count

    def is_current(self) -> bool:
        """Return true if the options differ in numbers alone: others are part of the program."""
        return all(
            _form(group) == form for (group, _), form in zip(self._slots, self._forms, strict=True)
        )

    def _value(self, number: float) -> Value:
        return value_from_numpy(np.asarray(number), self._recorder.device)

    def _share(self, count: _SharedCount) -> None:
        """Put the tensors into the states."""
        self._optimizer.has_tensor_counts = True
        for state in (count.leader, *count.others):
            state.update(count.tensors)

    def advance(self, state: dict[str, Any], group: dict[str, Any]) -> Any:
        """Count one step in the program, once for all that share the tensors."""
        clock = self._signature(state)
        for count in self._counts:
            if count.leader is state:
                advanced: dict[str, Any] = dict(count.tensors)
                self._optimizer.advance(advanced, self._options_of(group))
                # A count may be what another one was before: all are read before any is written.
                values = [unwrap(advanced[name]) for name in count.tensors]
                for tensor, value in zip(count.tensors.values(), values, strict=True):
                    write(tensor, value)
        return clock

    def pack(self, group: dict[str, Any], state: dict[str, Any], device: Device) -> Value:
        """Return the optimizer's numbers, computed in the program."""
        numbers = self._optimizer.numbers(self._options_of(group), state)
        return on_placement(pack_numbers(*numbers, device=self._recorder.device), device)

    def _options_of(self, group: dict[str, Any]) -> dict[str, Any]:
        """The options of a group, with values of the program as numbers."""
        options = self._options.get(id(group))
        if options is None:
            self._slots.append((group, len(self._recorder.scalars)))
            self._forms.append(_form(group))
            packed = pack_numbers(*_numbers_in(group), device=self._recorder.device)
            values = iter(wrap(packed).unbind())
            options = {name: _replaced(option, values) for name, option in _options(group)}
            self._options[id(group)] = options
        return options

    def slots(self) -> set[int]:
        """The indices of the options of each group."""
        return {
            start + index
            for group, start in self._slots
            for index in range(len(_numbers_in(group)))
        }

    def synchronize(self) -> None:
        """Put the tensors back into states that got other counts, and give them those counts."""
        for count in self._counts:
            counts = self._optimizer.counts_of(count.leader)
            replaced = [n for n, tensor in count.tensors.items() if counts[n] is not tensor]
            with no_grad():
                for name in replaced:
                    count_value = counts[name]
                    value = (
                        unwrap(count_value)
                        if isinstance(count_value, Tensor)
                        else self._value(count_value)
                    )
                    write(count.tensors[name], value)
            if replaced:
                self._share(count)

    def update_numbers(self, numbers: list[Any]) -> None:
        """Write the options of each group."""
        has_tables = uses_number_tables(self._recorder.device)
        for group, start in self._slots:
            updated = _numbers_in(group)
            if updated and has_tables:
                updated[0] = UpdateNumber(updated[0], partial(self._ahead, group))
            numbers[start : start + len(updated)] = updated

    def _ahead(self, group: dict[str, Any], steps: int) -> list[list[float]]:
        """The numbers among the options of a group in the next steps."""
        return list(map(_numbers_in, options_ahead(self._optimizer, group, None, steps)))


def _options(group: dict[str, Any]) -> list[tuple[str, Any]]:
    return [(name, option) for name, option in group.items() if name != "params"]


def _numbers_in(group: dict[str, Any]) -> list[float]:
    """The numbers in the options of a group, in order."""
    options = [
        option if isinstance(option, list | tuple) else (option,) for _, option in _options(group)
    ]
    return [float(number) for option in options for number in option if _is_number(number)]


def _form(group: dict[str, Any]) -> list[Any]:
    """The options of a group, without its numbers."""
    return [
        (name, [None if _is_number(number) else number for number in option])
        if isinstance(option, list | tuple)
        else (name, None if _is_number(option) else option)
        for name, option in _options(group)
    ]


def _replaced(option: Any, values: Any) -> Any:
    """Return an option with its numbers replaced by the next of `values`."""
    if isinstance(option, list | tuple):
        return [next(values) if _is_number(number) else number for number in option]
    return next(values) if _is_number(option) else option


def _is_number(option: Any) -> bool:
    return isinstance(option, Real | Tensor) and not isinstance(option, bool)
