"""In which order the tasks of a pipeline run: one forward, one backward.

Narayanan et al., "PipeDream: Generalized Pipeline Parallelism for DNN Training" (2019): of S
stages, stage s starts the forward passes of S - s micro batches, and then does one backward pass
for each further forward pass. So it keeps the activations of S - s micro batches only, however many
there are.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from oneflow.base.placement import Placement
from oneflow.passes.tasks import BACKWARD, FORWARD, Task

# How long tasks take if nobody has measured it: a backward pass multiplies twice as many matrices.
ASSUMED = {FORWARD: 1.0, BACKWARD: 2.0}


@dataclass(frozen=True)
class Slot:
    """One task in a schedule.

    Attributes:
        task: its place in the list of tasks.
        start: when it starts.
        end: when it ends.
    """

    task: int
    start: float
    end: float


def stages_of(tasks: Sequence[Task]) -> list[Placement]:
    """The placements in the order in which a micro batch first gets to them."""
    depths: dict[Placement, int] = {}
    longest: list[int] = []
    for task in tasks:
        forward = task.turn.phase == FORWARD
        before = [longest[need] for need in task.needs if tasks[need].turn.phase == FORWARD]
        longest.append(1 + max(before, default=-1) if forward else -1)
        if forward and task.turn.batch == 0:
            depths.setdefault(task.placement, longest[-1])
    order = sorted(depths, key=depths.__getitem__)
    others = dict.fromkeys(task.placement for task in tasks if task.placement not in depths)
    return [*order, *others]


def assumed_duration(task: Task) -> float:
    """How long a task takes if nobody has measured it, in units of a forward pass."""
    return ASSUMED.get(task.turn.phase, 0.0)


def one_forward_one_backward(
    tasks: Sequence[Task], duration: Callable[[Task], float] = assumed_duration
) -> list[Slot]:
    """When each task runs, in the order of their starts.

    A device runs one task at a time. Where several could start, backward passes go first, then
    lower micro batches.
    """
    return _Planning(tasks, duration).run()


def timeline(
    tasks: Sequence[Task], order: Sequence[Slot], duration: Callable[[Task], float]
) -> list[Slot]:
    """When tasks run that every device takes up in the given order, each as soon as it can."""
    ends: dict[int, float] = {}
    free: dict[int, float] = defaultdict(float)
    slots = []
    for slot in order:
        task = tasks[slot.task]
        waits = [ends[need] for need in task.needs] + [free[rank] for rank in task.placement.flat]
        start = max(waits)
        ends[slot.task] = end = start + duration(task)
        free.update(dict.fromkeys(task.placement.flat, end))
        slots.append(Slot(slot.task, start, end))
    return slots


def idle_shares(tasks: Sequence[Task], slots: Sequence[Slot]) -> dict[Placement, float]:
    """By stage, the share of the time from the first start to the last end in which it waits.

    That is the bubble of the pipeline: with S equal stages and n micro batches
    ``(S - 1) / (S - 1 + n)``.
    """
    span = max((slot.end for slot in slots), default=0.0)
    busy: dict[Placement, float] = defaultdict(float)
    for slot in slots:
        busy[tasks[slot.task].placement] += slot.end - slot.start
    return {stage: 1 - busy[stage] / span if span else 0.0 for stage in stages_of(tasks)}


class _Planning:
    """The schedule while it is made, from its start on."""

    def __init__(self, tasks: Sequence[Task], duration: Callable[[Task], float]) -> None:
        self._tasks = tasks
        self._duration = duration
        self._stages = stages_of(tasks)
        self._trains = any(task.turn.phase == BACKWARD for task in tasks)
        self._waiting = [set(task.needs) for task in tasks]
        self._followers: dict[int, list[int]] = defaultdict(list)
        for place, task in enumerate(tasks):
            for need in task.needs:
                self._followers[need].append(place)
        self._ready = [place for place, needs in enumerate(self._waiting) if not needs]
        self._left: dict[tuple[Placement, int], int] = defaultdict(int)
        for task in tasks:
            if task.turn.phase == BACKWARD:
                self._left[task.placement, task.turn.batch] += 1
        self._started: dict[Placement, set[int]] = defaultdict(set)
        self._busy: set[int] = set()

    def run(self) -> list[Slot]:
        """All slots."""
        slots: list[Slot] = []
        running: list[tuple[float, int]] = []
        now = 0.0
        while self._ready or running:
            place = self._next(forced=not running)
            if place is None:
                now, done = heapq.heappop(running)
                self._finish(done)
                continue
            end = now + self._duration(self._tasks[place])
            slots.append(Slot(place, now, end))
            self._start(place)
            heapq.heappush(running, (end, place))
        return slots

    def _next(self, forced: bool) -> int | None:
        """A task that can start now, or None."""
        free = [
            each for each in self._ready if self._busy.isdisjoint(self._tasks[each].placement.flat)
        ]
        allowed = [each for each in free if not self._holds_enough(self._tasks[each])]
        # Where a stage takes part twice, waiting for a backward pass might wait for ever.
        candidates = allowed or (free if forced else [])
        return min(candidates, key=self._urgency, default=None)

    def _urgency(self, place: int) -> tuple:
        turn = self._tasks[place].turn
        return (turn.phase != BACKWARD, turn.batch, place)

    def _holds_enough(self, task: Task) -> bool:
        """Whether a stage keeps the activations of as many micro batches as it should."""
        if task.turn.phase != FORWARD or not self._trains:
            return False
        started = self._started[task.placement]
        held = [batch for batch in started if self._left[task.placement, batch]]
        stage = self._stages.index(task.placement)
        return task.turn.batch not in started and len(held) >= len(self._stages) - stage

    def _start(self, place: int) -> None:
        task = self._tasks[place]
        self._ready.remove(place)
        self._busy.update(task.placement.flat)
        if task.turn.phase == FORWARD:
            self._started[task.placement].add(task.turn.batch)

    def _finish(self, place: int) -> None:
        task = self._tasks[place]
        self._busy.difference_update(task.placement.flat)
        if task.turn.phase == BACKWARD:
            self._left[task.placement, task.turn.batch] -= 1
        for follower in self._followers[place]:
            self._waiting[follower].discard(place)
            if not self._waiting[follower]:
                self._ready.append(follower)
