"""`Pipeline`: a step on several placements, run task by task."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from oneflow.base.placement import Placement
from oneflow.base.spec import TensorSpec
from oneflow.base.uninterruptible import run_uninterruptible
from oneflow.compiler.lower import Executable
from oneflow.graph.agreement import runner_of
from oneflow.graph.schedule import Slot, assumed_duration, one_forward_one_backward, stages_of
from oneflow.passes.pipeline import Watch, optimize
from oneflow.passes.tasks import (
    FORWARD,
    Move,
    Partition,
    Task,
    Turn,
    split_into_tasks,
    task_program,
)
from oneflow.primitives.operation import Operation
from oneflow.primitives.shard_shapes import shard_shape
from oneflow.program.ir import Program
from oneflow.runtime import checks
from oneflow.runtime.carrying import carry, takes_part
from oneflow.runtime.eager import Absent
from oneflow.runtime.memory import wait_until_ready

# The first call pages memory in; the second one is measured.
_MEASURED_CALL = 2


@dataclass
class Run:
    """One task as it is run.

    Attributes:
        task: its place in the partition.
        run: runs its program; None if this process has no part in it.
        inputs: numbers of the values it reads.
        slots: places of the run-time numbers it reads.
        outputs: numbers of the values it makes.
        moves: which values are carried to other placements afterwards.
        dropped: values that nothing needs after it and its moves.
        checked: its operations with a run-time check, and the lines that called them.
    """

    task: int
    run: Callable[..., Any] | None
    inputs: list[int]
    slots: list[int]
    outputs: tuple[int, ...]
    moves: list[Move]
    dropped: list[int]
    checked: list[tuple[Operation, str]]


class Pipeline:
    """A compiled step on several placements; called as an `Executable` is.

    Attributes:
        program: the whole of it.
        partition: its tasks.
        stages: placements in the order in which a micro batch gets to them.
        order: the tasks as they are scheduled.

    Args:
        program: what to run.
        turns: the turn of each instruction.
        donated: inputs that nobody needs any more; the first outputs take their places.
        constants: Python numbers, by their place, that are the same in every run.
        checked: operations with a run-time check, and the lines that called them.
        name: what profilers and dumps call it.
        watch: sees the passes.
    """

    def __init__(
        self,
        program: Program,
        turns: Sequence[Turn],
        donated: Sequence[int],
        constants: Mapping[int, Any],
        checked: Sequence[tuple[Operation, str]],
        name: str,
        watch: Watch | None = None,
    ) -> None:
        self.program = program
        self.partition: Partition = split_into_tasks(program, turns)
        self.stages = stages_of(self.partition.tasks)
        self.order: list[Slot] = one_forward_one_backward(self.partition.tasks)
        self.durations: dict[int, float] = {}
        # What takes the place of each of them.
        self._replaced_by = dict(zip(donated, self.partition.outputs, strict=False))
        self._constants = constants
        self._name = name
        self._watch = watch
        self._lines = {
            instruction.results.start: each
            for instruction, each in zip(program.checks, checked, strict=True)
        }
        self._executables: dict[tuple, Executable] = {}
        self._last = self._last_readers()
        self._early = [each for each in self.partition.moves.values() if each.maker is None]
        self._runs = [self._run_of(slot.task) for slot in self.order]
        self._calls = 0

    def compile(self) -> Pipeline:
        """Compile every program now."""
        for executable in self._executables.values():
            executable.compile()
        return self

    # --- making

    def _moves_after(self, task: int) -> list[Move]:
        return [each for each in self.partition.moves.values() if each.maker == task]

    def _last_readers(self) -> dict[int, int]:
        """By value, the last task in order that reads it, or after which it is carried away."""
        last: dict[int, int] = {}
        for slot in self.order:
            reads = [*self.partition.tasks[slot.task].inputs]
            reads += self.partition.tasks[slot.task].outputs
            for move in self._moves_after(slot.task):
                reads += [move.source, move.result]
            last.update(dict.fromkeys(reads, slot.task))
        kept = {*self.partition.outputs}
        return {number: task for number, task in last.items() if number not in kept}

    def _run_of(self, place: int) -> Run:
        task = self.partition.tasks[place]
        program, inputs, slots = task_program(self.program, task)
        moves = self._moves_after(place)
        given = len(self.program.inputs)
        carried = {each.source for each in moves}
        dying = [number for number, last in self._last.items() if last == place]
        # Of a variable there must always be the old or the new value, even if a task fails.
        free = {
            number
            for number in dying
            if number >= given or self._replaced_by.get(number) in task.outputs
        } - carried
        donated = tuple(i for i, number in enumerate(inputs) if number in free)
        runner = None
        if task.placement.includes_this_process:
            runner = runner_of(self._executable(program, task.placement, donated, slots))
        starts = [each.results.start for each in task.instructions]
        checked = [self._lines[start] for start in starts if start in self._lines]
        return Run(place, runner, inputs, slots, task.outputs, moves, dying, checked)

    def _executable(
        self, program: Program, placement: Placement, donated: tuple, slots: list[int]
    ) -> Executable:
        """The executable of a program; micro batches share theirs."""
        constants = {
            place: self._constants[slot]
            for place, slot in enumerate(slots)
            if slot in self._constants
        }
        key = (program, donated, tuple(constants.items()))
        if key not in self._executables:
            self._executables[key] = Executable(
                optimize(program, self._watch),
                donated,
                placement,
                constants,
                self._name,
                self._watch,
            )
        return self._executables[key]

    # --- running

    def __call__(
        self, arrays: Sequence[Any], scalars: Sequence[Any], box: list | None = None
    ) -> tuple[list[Any], None]:
        """The results. Rows of run-time checks are handed on as each task gives them.

        Args:
            arrays: the inputs.
            scalars: the Python numbers.
            box: an empty list that gets the results as one element, even if a task fails; then
                those that are missing are None.
        """
        box = [] if box is None else box
        rows: list[tuple[Any, list, list]] = []
        try:
            # Tasks give up what only the results of others hold, so all of them have to run.
            run_uninterruptible(lambda: self._run_all(arrays, scalars, box, rows))
        finally:
            for each in rows:
                checks.add(*each)
        return self.sorted_results(box[0])

    @staticmethod
    def sorted_results(results: list[Any]) -> tuple[list[Any], None]:
        """What an `Executable` says of its results."""
        return results, None

    def _run_all(
        self, arrays: Sequence[Any], scalars: Sequence[Any], box: list, rows: list
    ) -> None:
        self._calls += 1
        measures = self._calls == _MEASURED_CALL
        if measures:
            wait_until_ready([each for each in arrays if not isinstance(each, Absent)])
        values: dict[int, Any] = dict(enumerate(arrays))
        missing: Absent | None = None
        try:
            for move in self._early:
                self._carry(move, values)
            for run in self._runs:
                self._run(run, values, scalars, measures, rows)
            missing = Absent()
        finally:
            box.append([values.get(number, missing) for number in self.partition.outputs])

    def _run(
        self,
        run: Run,
        values: dict[int, Any],
        scalars: Sequence[Any],
        measures: bool,
        rows: list,
    ) -> None:
        if run.run is not None:
            operands = [values[number] for number in run.inputs]
            start = time.perf_counter()
            if measures:
                wait_until_ready(operands)
                start = time.perf_counter()
            results, checked = run.run(operands, [scalars[slot] for slot in run.slots])
            del operands
            if measures:
                wait_until_ready(results)
                self.durations[run.task] = time.perf_counter() - start
            values.update(zip(run.outputs, results, strict=True))
            if checked is not None:
                rows.append((checked, run.checked, results))
        for move in run.moves:
            self._carry(move, values)
        for number in run.dropped:
            values.pop(number, None)

    @staticmethod
    def _carry(move: Move, values: dict[int, Any]) -> None:
        if takes_part(move.before, move.after):
            array = values.get(move.source)
            values[move.result] = carry(array, move.before, move.after)

    # --- what is known of it

    def duration(self, task: Task) -> float:
        """Seconds that a task took in the call that was measured.

        One that ran in another process is taken to be as long as those here of its phase. Before
        that call it is `assumed_duration`.
        """
        if not self.durations:
            return assumed_duration(task)
        place = next(i for i, each in enumerate(self.partition.tasks) if each is task)
        if place in self.durations:
            return self.durations[place]
        alike = [
            seconds
            for other, seconds in self.durations.items()
            if self.partition.tasks[other].turn.phase == task.turn.phase
        ]
        return sum(alike) / len(alike) if alike else 0.0

    def kept_bytes(self) -> dict[Placement, list[tuple[int, int]]]:
        """What each stage keeps between tasks, per device, after each task of the order.

        Returns:
            ``(place of the task in the order, bytes)`` by placement; parameters, arguments and
            everything else that is given do not count.
        """
        specs = self.program.spec_table()
        given = len(self.program.inputs) + len(self.program.scalars)
        now: dict[Placement, dict[int, int]] = defaultdict(dict)
        seen: dict[Placement, list[tuple[int, int]]] = {stage: [] for stage in self.stages}
        for place, run in enumerate(self._runs):
            made = [*run.outputs, *[move.result for move in run.moves]]
            for number in made:
                spec = specs[number]
                if number >= given and number in self._last:
                    now[spec.device][number] = part_bytes(spec)
            stage = self.partition.tasks[run.task].placement
            seen[stage].append((place, sum(now[stage].values())))
            for number in run.dropped:
                now[specs[number].device].pop(number, None)
        return seen

    def held_batches(self) -> dict[Placement, int]:
        """For how many micro batches each stage keeps activations at most."""
        most: dict[Placement, int] = {}
        for stage in self.stages:
            held: set[int] = set()
            most[stage] = 0
            for slot in self.order:
                task = self.partition.tasks[slot.task]
                if task.placement is stage:
                    (held.add if task.turn.phase == FORWARD else held.discard)(task.turn.batch)
                    most[stage] = max(most[stage], len(held))
        return most


def part_bytes(spec: TensorSpec) -> int:
    """How many bytes each device holds of a global tensor."""
    placement: Any = spec.device
    return math.prod(shard_shape(spec.shape, placement.hierarchy, spec.sbp or ())) * (
        spec.dtype.itemsize
    )
