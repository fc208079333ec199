"""The order in which the tasks of a pipeline run: one forward, one backward (1F1B).

Narayanan et al., "PipeDream: Generalized Pipeline Parallelism for DNN Training" (2019): of S
stages, stage s starts the forward passes of S - s micro batches, and then does one backward pass
for each further forward pass. So it keeps the activations of S - s micro batches only, however many
there are.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from oneflow.base.placement import Placement
from oneflow.passes.partition import BACKWARD, FORWARD, PipelineTask

# Durations of tasks before they are measured: a backward pass multiplies twice as many matrices.
ASSUMED = {FORWARD: 1.0, BACKWARD: 2.0}


@dataclass(frozen=True)
class Slot:
    """One task in a schedule.

    Attributes:
        task: its index in the list of tasks.
        start: time at which it starts.
        end: time at which it ends.
    """

    task: int
    start: float
    end: float


def stages_of(tasks: Sequence[PipelineTask]) -> list[Placement]:
    """The placements in the order in which a micro batch first gets to them."""
    levels: dict[Placement, int] = {}
    longest: list[int] = []
    for task in tasks:
        forward = task.phase.kind == FORWARD
        before = [longest[need] for need in task.dependencies if tasks[need].phase.kind == FORWARD]
        longest.append(1 + max(before, default=-1) if forward else -1)
        if forward and task.phase.micro_batch == 0:
            levels.setdefault(task.placement, longest[-1])
    order = sorted(levels, key=levels.__getitem__)
    others = dict.fromkeys(task.placement for task in tasks if task.placement not in levels)
    return [*order, *others]


def assumed_duration(task: PipelineTask) -> float:
    """The duration of a task before it is measured, in units of a forward pass."""
    return ASSUMED.get(task.phase.kind, 0.0)


def one_forward_one_backward(
    tasks: Sequence[PipelineTask], duration: Callable[[PipelineTask], float] = assumed_duration
) -> list[Slot]:
    """Return the 1F1B schedule, in the order of starts.

    A device runs one task at a time. If several could start, backward passes go first, then lower
    micro batches.
    """
    return _Scheduler(tasks, duration).run()


def timeline(
    tasks: Sequence[PipelineTask],
    order: Sequence[Slot],
    duration: Callable[[PipelineTask], float],
    delay: Mapping[tuple[int, int], float] | None = None,
) -> list[Slot]:
    """Return the schedule if every device runs its tasks in the given order, as soon as it can.

    Args:
        tasks: the tasks.
        order: the order in which they start.
        duration: the duration of a task.
        delay: the time between a task and one that depends on it, by the indices of both.
    """
    latency = delay or {}
    ends: dict[int, float] = {}
    free: dict[int, float] = defaultdict(float)
    slots = []
    for slot in order:
        task = tasks[slot.task]
        waits = [ends[need] + latency.get((need, slot.task), 0.0) for need in task.dependencies]
        waits += [free[rank] for rank in task.placement.flat]
        start = max(waits)
        ends[slot.task] = end = start + duration(task)
        free.update(dict.fromkeys(task.placement.flat, end))
        slots.append(Slot(slot.task, start, end))
    return slots


def idle_fraction(tasks: Sequence[PipelineTask], slots: Sequence[Slot]) -> dict[Placement, float]:
    """The bubble of each stage: the share of the whole time in which it waits.

    With S equal stages and n micro batches
    ``(S - 1) / (S - 1 + n)`` of the time is bubble.
    """
    span = max((slot.end for slot in slots), default=0.0)
    seconds: dict[Placement, float] = defaultdict(float)
    for slot in slots:
        seconds[tasks[slot.task].placement] += slot.end - slot.start
    return {stage: 1 - seconds[stage] / span if span else 0.0 for stage in stages_of(tasks)}


class _Scheduler:
    """The schedule while it is made, from its start on."""

    def __init__(
        self, tasks: Sequence[PipelineTask], duration: Callable[[PipelineTask], float]
    ) -> None:
        self._tasks = tasks
        self._duration = duration
        self._stages = stages_of(tasks)
        self._trains = any(task.phase.kind == BACKWARD for task in tasks)
        self._waiting = [set(task.dependencies) for task in tasks]
        self._dependents_of: dict[int, list[int]] = defaultdict(list)
        for index, task in enumerate(tasks):
            for need in task.dependencies:
                self._dependents_of[need].append(index)
        self._ready = [index for index, needs in enumerate(self._waiting) if not needs]
        self._backward_left: dict[tuple[Placement, int], int] = defaultdict(int)
        for task in tasks:
            if task.phase.kind == BACKWARD:
                self._backward_left[task.placement, task.phase.micro_batch] += 1
        self._started: dict[Placement, set[int]] = defaultdict(set)
        self._busy: set[int] = set()

    def run(self) -> list[Slot]:
        """Return all slots."""
        slots: list[Slot] = []
        running: list[tuple[float, int]] = []
        now = 0.0
        while self._ready or running:
            index = self._next(is_idle=not running)
            if index is None:
                now, done = heapq.heappop(running)
                self._finish(done)
                continue
            end = now + self._duration(self._tasks[index])
            slots.append(Slot(index, now, end))
            self._start(index)
            heapq.heappush(running, (end, index))
        return slots

    def _next(self, is_idle: bool) -> int | None:
        """A task that can start now, or None; `is_idle` says that no task is running."""
        free = [
            task for task in self._ready if self._busy.isdisjoint(self._tasks[task].placement.flat)
        ]
        allowed = [task for task in free if not self._is_full(self._tasks[task])]
        # A stage that takes part twice might wait for a backward pass forever.
        candidates = allowed or (free if is_idle else [])
        return min(candidates, key=self._priority, default=None)

    def _priority(self, index: int) -> tuple:
        phase = self._tasks[index].phase
        return (phase.kind != BACKWARD, phase.micro_batch, index)

    def _is_full(self, task: PipelineTask) -> bool:
        """Return whether a stage holds activations of the maximal number of micro batches."""
        if task.phase.kind != FORWARD or not self._trains:
            return False
        started = self._started[task.placement]
        live = [batch for batch in started if self._backward_left[task.placement, batch]]
        stage = self._stages.index(task.placement)
        return task.phase.micro_batch not in started and len(live) >= len(self._stages) - stage

    def _start(self, index: int) -> None:
        task = self._tasks[index]
        self._ready.remove(index)
        self._busy.update(task.placement.flat)
        if task.phase.kind == FORWARD:
            self._started[task.placement].add(task.phase.micro_batch)

    def _finish(self, index: int) -> None:
        task = self._tasks[index]
        self._busy.difference_update(task.placement.flat)
        if task.phase.kind == BACKWARD:
            self._backward_left[task.placement, task.phase.micro_batch] -= 1
        for dependent in self._dependents_of[index]:
            self._waiting[dependent].discard(index)
            if not self._waiting[dependent]:
                self._ready.append(dependent)
