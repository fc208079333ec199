"""Schedules that a graph steps: between a call and the next one they show what the call used."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, repeat
from typing import Any
from weakref import WeakKeyDictionary, ref

from oneflow.optim.groups import ParamGroup

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
    used_options: list[dict[str, Any]] | None = None

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
        self.used_options = [dict(group) for group in self.param_groups]

    def step_due_schedule(self) -> None:
        """Step the schedule for the latest call, unless that has been done.

        It goes on from the options of that call, as in eager mode. What the program has set since
        then stays: its rate, its momentum, and the groups that it has added.
        """
        if self.used_options is None:
            return
        changes = []
        used_options = chain(self.used_options, repeat(None))
        for group, used in zip(self.param_groups, used_options, strict=False):
            names = set(group) if used is None else _written_names(group, used)
            changes.append((group, names, {n: group[n] for n in names if n in group}))
            _set_options(group, names, used or dict(group))
        try:
            self.schedule_of_graph.step()
        finally:
            for change in changes:
                _set_options(*change)

    def leave_schedule_of_graph(self) -> None:
        """Let the program step the schedule itself: it has stepped the optimizer."""
        self.step_due_schedule()
        self.schedule_of_graph = None


def _written_names(group: dict[str, Any], used: dict[str, Any]) -> set[str]:
    """Return the names of the options that the program has set or removed since a call.

    Args:
        group: a group. One that the program itself has put there notes nothing: what is equal
            counts as not written.
        used: its options in that call.
    """
    if isinstance(group, ParamGroup):
        return set(group.written)
    return {name for name in {*group, *used} if not _is_same(name, group, used)}


def _is_same(name: str, group: dict[str, Any], used: dict[str, Any]) -> bool:
    value, before = group.get(name), used.get(name)
    return value is before or (isinstance(value, float | int | str) and value == before)


def _set_options(group: dict[str, Any], names: Iterable[str], options: dict[str, Any]) -> None:
    """Set `names` in a group to their `options`; remove those that these lack."""
    for name in names:
        if name in options:
            group[name] = options[name]
        else:
            group.pop(name, None)
