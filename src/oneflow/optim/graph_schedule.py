"""Schedules that a graph steps: between a call and the next one they show the rates of the call."""

from __future__ import annotations

from typing import Any


class GraphSchedule:
    """The state of an optimizer whose schedule a graph steps.

    Attributes:
        schedule_of_graph: the schedule, from the first call of the graph.
        used_lrs: the rates of the latest call, until the schedule is stepped for it.
    """

    param_groups: list[dict[str, Any]]
    schedule_of_graph: Any = None
    used_lrs: list[Any] | None = None

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
