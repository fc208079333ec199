"""Schedules that a graph steps: between a call and the next one they show what the call used."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary, ref

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
            # Numbers of our own: what the program sets is another object, even if it is equal.
            group.update({n: value + 0.0 for n, value in group.items() if type(value) is float})
        self.used_options = [dict(group) for group in self.param_groups]

    def step_due_schedule(self) -> None:
        """Step the schedule for the latest call, unless that has been done.

        Options that the program has set since then stay: its rate, and its momentum.
        """
        if self.used_options is None:
            return
        groups = zip(self.param_groups, self.used_options, strict=False)  # some may have been added
        changes = [
            {name: value for name, value in group.items() if value is not used.get(name)}
            for group, used in groups
        ]
        self.schedule_of_graph.step()
        for group, changed in zip(self.param_groups, changes, strict=False):
            group.update(changed)

    def leave_schedule_of_graph(self) -> None:
        """Let the program step the schedule itself: it has stepped the optimizer."""
        self.step_due_schedule()
        self.schedule_of_graph = None
