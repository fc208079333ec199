"""Schedules that a graph steps: between a call and the next one they show the rates of the call."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary, ref

# The schedule that was made last for each optimizer: those in it were made before.
_LATEST: WeakKeyDictionary[GraphSchedule, ref[Any]] = WeakKeyDictionary()


class GraphSchedule:
    """The state of an optimizer whose schedule a graph steps.

    Attributes:
        schedule_of_graph: the schedule, from the first call of the graph.
        used_lrs: the rates of the latest call, until the schedule is stepped for it.
    """

    param_groups: list[dict[str, Any]]
    schedule_of_graph: Any = None
    used_lrs: list[Any] | None = None

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

    def step_due_schedule(self) -> None:
        """Step the schedule for the latest call, unless that has been done.

        A rate that the program has set since then stays.
        """
        if self.used_lrs is None:
            return
        groups = zip(self.param_groups, self.used_lrs, strict=False)  # some may have been added
        before = [(group, group["lr"], used) for group, used in groups]
        self.schedule_of_graph.step()
        for group, lr, used in before:
            if lr is not used:
                group["lr"] = lr

    def leave_schedule_of_graph(self) -> None:
        """Let the program step the schedule itself: it has stepped the optimizer."""
        self.step_due_schedule()
        self.schedule_of_graph = None
