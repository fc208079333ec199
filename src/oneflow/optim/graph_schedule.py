"""Schedules that a graph steps: between a call and the next one they show what the call used."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, repeat
from typing import Any
from weakref import WeakKeyDictionary, ref

from oneflow.optim.groups import ParamGroup, copied_option, read_option, tensor_options
from oneflow.tensor.tensor import Tensor

# The schedule that was made last for each optimizer: those in it were made before.
_LATEST: WeakKeyDictionary[GraphSchedule, ref[Any]] = WeakKeyDictionary()


class GraphSchedule:
    """The state of an optimizer whose schedule a graph steps.

    Attributes:
        schedule_of_graph: the schedule, from the first call of the graph.
        used_options: the options of each group in the latest call, until the schedule is stepped
            for it.
    """

    param_groups: list[dict[str, Any]]
    schedule_of_graph: Any = None
    used_options: list[_UsedOptions] | None = None

    def note_schedule(self, schedule: Any) -> None:
        """Remember the schedule that was made last."""
        _LATEST[self] = ref(schedule)

    def schedule_in_step(self, taken: float | None) -> Any:
        """The schedule that goes on by one in each step, as far as is known; else None.

        Args:
            taken: the steps that the optimizer has taken; None if nobody on the host knows.
        """
        if self.schedule_of_graph is not None:
            return self.schedule_of_graph
        latest = _LATEST.get(self)
        schedule = None if latest is None or taken is None else latest()
        is_in_step = schedule is not None and schedule.last_step + 1 == taken
        return schedule if is_in_step else None

    def make_schedule_due(self, schedule: Any) -> None:
        """Let `schedule` be stepped for a call that has just ended."""
        self.schedule_of_graph = schedule
        for group in self.param_groups:
            if isinstance(group, ParamGroup):
                group.written.clear()
        self.used_options = list(map(_UsedOptions, self.param_groups))

    def step_due_schedule(self) -> None:
        """Step the schedule for the latest call, unless that has been done.

        It goes on from the options of that call, as in eager mode. Values that the program has set
        since then stay: its rate, its momentum, and the groups that it has added.
        """
        if self.used_options is None:
            return
        changes = []
        used_options = chain(self.used_options, repeat(None))
        for group, used in zip(self.param_groups, used_options, strict=False):
            names = set(group) if used is None else used.written_since(group)
            changes.append((group, names, {n: group[n] for n in names if n in group}))
            _set_options(group, names, dict(group) if used is None else used.copies)
        try:
            self.schedule_of_graph.step()
        finally:
            for change in changes:
                _set_options(*change)

    def leave_schedule_of_graph(self) -> None:
        """Let the program step the schedule itself: it has stepped the optimizer."""
        self.step_due_schedule()
        self.schedule_of_graph = None


class _UsedOptions:
    """The options of a group in a call.

    Attributes:
        copies: the options, with copies of those that are tensors.

    Args:
        group: the group, right after the call.
    """

    def __init__(self, group: dict[str, Any]) -> None:
        self._options = self.copies = dict(group)
        tensors = tensor_options(group)
        self._versions = {name: _versions(option) for name, option in tensors.items()}
        if tensors:
            copies = {name: copied_option(option) for name, option in tensors.items()}
            self.copies = {**group, **copies}

    def written_since(self, group: dict[str, Any]) -> set[str]:
        """Return the names of the options that the program has set, filled or removed.

        Args:
            group: the group now. One that the program itself has put there notes nothing: what is
                equal counts as not written.
        """
        filled = {
            name for name, versions in self._versions.items() if self._is_filled(name, versions)
        }
        if not isinstance(group, ParamGroup):
            names = {*group, *self._options}
            return filled | {name for name in names if not self._has(name, group)}
        written = set(group.written)
        rate = group.get("lr")
        if isinstance(rate, Tensor) and rate is self._options.get("lr"):
            written.discard("lr")  # the schedule fills it: to put it there again changes nothing
        return filled | written

    def _has(self, name: str, group: dict[str, Any]) -> bool:
        value, before = group.get(name), self._options.get(name)
        return value is before or (isinstance(value, float | int | str) and value == before)

    def _is_filled(self, name: str, versions: tuple[int, ...]) -> bool:
        """Return whether a tensor among the options has been written to."""
        option = self._options[name]
        # Who writes through NumPy's array or `.data` does not count as a version.
        return _versions(option) != versions or read_option(option) != read_option(
            self.copies[name]
        )


def _versions(option: Any) -> tuple[int, ...]:
    """Return how often the tensors of an option have been written to."""
    if type(option) is tuple:
        return tuple(chain.from_iterable(map(_versions, option)))
    return (option._version,) if isinstance(option, Tensor) else ()


def _set_options(group: dict[str, Any], names: Iterable[str], options: dict[str, Any]) -> None:
    """Set `names` in a group to their `options`; remove those that these lack."""
    for name in names:
        if name in options:
            group[name] = options[name]
        else:
            group.pop(name, None)
