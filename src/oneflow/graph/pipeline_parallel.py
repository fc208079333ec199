"""`PipelineExecutable`: a step on several placements, run task by task."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from oneflow.base.no_interrupt import run_without_interrupt
from oneflow.base.placement import Placement
from oneflow.compiler.failed_flag import CheckResults
from oneflow.compiler.lower import Executable
from oneflow.graph.program_consistency import any_rank, runner_for
from oneflow.graph.schedule import Slot, assumed_duration, one_forward_one_backward, stages_of
from oneflow.passes.partition import (
    FORWARD,
    UPDATE,
    Phase,
    PipelineTask,
    TaskPartition,
    Transfer,
    split_into_tasks,
    task_program,
)
from oneflow.passes.pipeline import PassGroup, PassObserver, run_passes
from oneflow.primitives.cost.operation_cost import shard_bytes
from oneflow.primitives.operation import Operation
from oneflow.program.ir import Program
from oneflow.runtime import checks
from oneflow.runtime.checks import local_rows
from oneflow.runtime.memory import wait_until_ready
from oneflow.runtime.meta_array import MetaArray
from oneflow.runtime.transfer import includes_this_process, transfer_array

# The first call pages memory in; the second one is measured.
_PROFILED_CALL = 2


@dataclass
class TaskRun:
    """One task as it runs.

    Attributes:
        task: its index in the partition.
        run: runs its program; None if this process has no part in it.
        inputs: numbers of the values it reads.
        slots: indices of the run-time numbers it reads.
        donated: positions of the inputs that it may write over.
        outputs: numbers of the values it produces.
        transfers: values that are transferred to other placements afterwards.
        freed: values that nothing needs after it and its transfers.
        checks: its operations with a run-time check, and the lines that called them.
    """

    task: int
    run: Callable[..., Any] | None
    inputs: list[int]
    slots: list[int]
    donated: tuple[int, ...]
    outputs: tuple[int, ...]
    transfers: list[Transfer]
    freed: list[int]
    checks: list[tuple[Operation, str]]


class PipelineExecutable:
    """A compiled step on several placements; called as an `Executable` is.

    Attributes:
        program: the whole of it.
        partition: its tasks.
        stages: placements in the order in which a micro batch gets to them.
        order: the tasks as they are scheduled.
        runs: the tasks as they run, in that order.
        replaced_by: the output that replaces a donated input, by this input.

    Args:
        program: the program.
        phases: the phase of each instruction.
        donated: inputs that are not needed afterwards; the first outputs replace them.
        constants: run-time numbers, by their index, that are the same in every run.
        checks: operations with a run-time check, and the lines that called them.
        name: its name in profilers and dumps.
        observer: sees the passes of the tasks.
    """

    def __init__(
        self,
        program: Program,
        phases: Sequence[Phase],
        donated: Sequence[int],
        constants: Mapping[int, Any],
        checks: Sequence[tuple[Operation, str]],
        name: str,
        observer: PassObserver | None = None,
    ) -> None:
        self.program = program
        self.partition: TaskPartition = split_into_tasks(program, phases)
        self.stages = stages_of(self.partition.tasks)
        self.order: list[Slot] = one_forward_one_backward(self.partition.tasks)
        if program.checks:
            # Nothing is updated before all checks are known.
            self.order.sort(key=lambda slot: self._is_update(slot.task))
        self.durations: dict[int, float] = {}
        self.replaced_by = dict(zip(donated, self.partition.outputs, strict=False))
        self._constants = constants
        self._name = name
        self._observer = observer
        self._lines = {
            instruction.results.start: check
            for instruction, check in zip(program.checks, checks, strict=True)
        }
        self._optimized: dict[Program, Program] = {}
        self._executables: dict[tuple, Executable] = {}
        self._last = self._last_uses()
        self._first_transfers = [
            transfer
            for transfer in self.partition.transfer_by_result.values()
            if transfer.producer is None
        ]
        self.runs = [self._run_of(slot.task) for slot in self.order]
        self._calls = 0
        self._has_failed = False

    def compile(self) -> PipelineExecutable:
        """Compile every program now."""
        for executable in self._executables.values():
            executable.compile()
        return self

    # --- the tasks

    def _transfers_of(self, task: int) -> list[Transfer]:
        return [
            transfer
            for transfer in self.partition.transfer_by_result.values()
            if transfer.producer == task
        ]

    def _last_uses(self) -> dict[int, int]:
        """Map values to the last task in order that reads them, or after which they are sent."""
        last: dict[int, int] = {}
        for slot in self.order:
            reads = [*self.partition.tasks[slot.task].inputs]
            reads += self.partition.tasks[slot.task].outputs
            for transfer in self._transfers_of(slot.task):
                reads += [transfer.source, transfer.result]
            last.update(dict.fromkeys(reads, slot.task))
        outputs = {*self.partition.outputs}
        return {number: task for number, task in last.items() if number not in outputs}

    def _run_of(self, index: int) -> TaskRun:
        task = self.partition.tasks[index]
        program, inputs, slots = task_program(self.program, task)
        transfers = self._transfers_of(index)
        input_count = len(self.program.inputs)
        sources = {transfer.source for transfer in transfers}
        freed = [number for number, last in self._last.items() if last == index]
        # A variable must always have its old or its new value, even if a task fails.
        free = {
            number
            for number in freed
            if number >= input_count or self.replaced_by.get(number) in task.outputs
        } - sources
        donated = tuple(i for i, number in enumerate(inputs) if number in free)
        runner = None
        if task.placement.includes_this_process:
            runner = runner_for(self._executable(program, task.placement, donated, slots))
        starts = [instruction.results.start for instruction in task.instructions]
        checks = [self._lines[start] for start in starts if start in self._lines]
        return TaskRun(
            index, runner, inputs, slots, donated, task.outputs, transfers, freed, checks
        )

    def program_of(self, run: TaskRun) -> Program:
        """The program of a task after its passes; micro batches share theirs."""
        return self._optimize(task_program(self.program, self.partition.tasks[run.task])[0])

    def executable_of(self, run: TaskRun) -> Executable:
        """The executable of a task, whichever process runs it; micro batches share theirs."""
        task = self.partition.tasks[run.task]
        program, _, slots = task_program(self.program, task)
        return self._executable(program, task.placement, run.donated, slots)

    def _executable(
        self, program: Program, placement: Placement, donated: tuple, slots: list[int]
    ) -> Executable:
        """The executable of a program; micro batches share theirs."""
        constants = {
            index: self._constants[slot]
            for index, slot in enumerate(slots)
            if slot in self._constants
        }
        key = (program, donated, tuple(constants.items()))
        if key not in self._executables:
            optimized = self._optimize(program)
            self._executables[key] = Executable(
                optimized, donated, placement, constants, self._name
            )
        return self._executables[key]

    def _optimize(self, program: Program) -> Program:
        if program not in self._optimized:
            self._optimized[program] = run_passes(
                program, PassGroup.PROGRAM, PassGroup.EXECUTABLE, observer=self._observer
            )
        return self._optimized[program]

    # --- running

    def __call__(
        self, arrays: Sequence[Any], scalars: Sequence[Any], box: list[Any] | None = None
    ) -> tuple[list[Any], None]:
        """Return the results. Rows of run-time checks are passed on as each task gives them.

        Args:
            arrays: the inputs.
            scalars: the Python numbers.
            box: see `Executable`; it gets the results even if a task fails, None for each that is
                missing.
        """
        box = [] if box is None else box
        rows: list[tuple[CheckResults, list, list]] = []
        try:
            # Tasks donate values that cannot be computed again, so all of them have to run.
            run_without_interrupt(lambda: self._run_all(arrays, scalars, box, rows))
        finally:
            for results, checked, outputs in rows:
                checks.add(results, checked, self.stages[0], outputs)
        if self._has_failed:
            checks.raise_failed()
            raise RuntimeError(
                f"{self._name}: a run-time check has failed on another rank, so that nothing was "
                "updated; its error says more"
            )
        return self.sorted_results(box[0])

    @staticmethod
    def sorted_results(results: list[Any]) -> tuple[list[Any], None]:
        """Return results in the form of `Executable.sorted_results`."""
        return results, None

    def _run_all(
        self, arrays: Sequence[Any], scalars: Sequence[Any], box: list, rows: list
    ) -> None:
        self._calls += 1
        profile = self._calls == _PROFILED_CALL
        if profile:
            wait_until_ready([array for array in arrays if not isinstance(array, MetaArray)])
        values: dict[int, Any] = dict(enumerate(arrays))
        missing: MetaArray | None = None
        try:
            for transfer in self._first_transfers:
                self._transfer(transfer, values)
            has_no_checks = not self.program.checks
            self._has_failed = False
            for run in self.runs:
                if not has_no_checks and self._is_update(run.task):
                    has_no_checks = True
                    self._has_failed = self._any_failed(rows)
                    if self._has_failed:
                        values.clear()
                        return
                self._run(run, values, scalars, profile, rows)
            missing = MetaArray()
        finally:
            box.append([values.get(number, missing) for number in self.partition.outputs])

    def _is_update(self, task: int) -> bool:
        return self.partition.tasks[task].phase.kind == UPDATE

    def _any_failed(self, rows: Sequence[tuple[CheckResults, list, list]]) -> bool:
        """Wait for the run-time checks so far; true if one has failed, on any rank."""
        tables = [local_rows(results.rows, len(checked)) for results, checked, _ in rows]
        failed = any(table[:, 0].any() for table in tables)
        ranks = sorted({rank for stage in self.stages for rank in stage.flat})
        return any_rank(failed, Placement(self.stages[0].type, ranks))

    def _run(
        self,
        run: TaskRun,
        values: dict[int, Any],
        scalars: Sequence[Any],
        profile: bool,
        rows: list,
    ) -> None:
        if run.run is not None:
            operands = [values[number] for number in run.inputs]
            start = time.perf_counter()
            if profile:
                wait_until_ready(operands)
                start = time.perf_counter()
            results, checked = run.run(operands, [scalars[slot] for slot in run.slots])
            del operands
            if profile:
                wait_until_ready(results)
                self.durations[run.task] = time.perf_counter() - start
            values.update(zip(run.outputs, results, strict=True))
            if checked is not None:
                rows.append((checked, run.checks, results))
        for transfer in run.transfers:
            self._transfer(transfer, values)
        for number in run.freed:
            values.pop(number, None)

    @staticmethod
    def _transfer(transfer: Transfer, values: dict[int, Any]) -> None:
        if includes_this_process(transfer.before, transfer.after):
            array = values.get(transfer.source)
            values[transfer.result] = transfer_array(array, transfer.before, transfer.after)

    # --- durations and memory

    def duration(self, task: PipelineTask) -> float:
        """The seconds that a task took in the call that was measured.

        A task of another process is assumed to take as long as those here of its kind of phase.
        Before the measured call it is `assumed_duration`.
        """
        if not self.durations:
            return assumed_duration(task)
        index = next(i for i, candidate in enumerate(self.partition.tasks) if candidate is task)
        if index in self.durations:
            return self.durations[index]
        same_kind = [
            seconds
            for other, seconds in self.durations.items()
            if self.partition.tasks[other].phase.kind == task.phase.kind
        ]
        return sum(same_kind) / len(same_kind) if same_kind else 0.0

    def live_bytes(self) -> dict[Placement, list[tuple[int, int]]]:
        """The bytes per device that each stage keeps between tasks.

        Returns:
            ``(index of a task in the order, bytes after it)`` by placement; inputs of the program,
            such as parameters and arguments, do not count.
        """
        specs = self.program.spec_table()
        input_count = len(self.program.inputs) + len(self.program.scalars)
        live: dict[Placement, dict[int, int]] = defaultdict(dict)
        sizes: dict[Placement, list[tuple[int, int]]] = {stage: [] for stage in self.stages}
        for index, run in enumerate(self.runs):
            for number in (*run.outputs, *[transfer.result for transfer in run.transfers]):
                spec = specs[number]
                if number >= input_count and number in self._last:
                    live[spec.device][number] = shard_bytes(spec)
            stage = self.partition.tasks[run.task].placement
            sizes[stage].append((index, sum(live[stage].values())))
            for number in run.freed:
                live[specs[number].device].pop(number, None)
        return sizes

    def max_live_micro_batches(self) -> dict[Placement, int]:
        """The largest number of micro batches whose activations each stage holds at one time."""
        counts: dict[Placement, int] = {}
        for stage in self.stages:
            live: set[int] = set()
            counts[stage] = 0
            for slot in self.order:
                task = self.partition.tasks[slot.task]
                if task.placement is stage:
                    change = live.add if task.phase.kind == FORWARD else live.discard
                    change(task.phase.micro_batch)
                    counts[stage] = max(counts[stage], len(live))
        return counts
