"""The plan of a pipeline: the work, memory, transfers and waiting time of each stage.

The tasks are those that would run, in their order (`graph/schedule.py`). Each takes as long as the
cost model says; a value that another stage reads arrives after the time that the link takes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from oneflow.base.placement import Placement
from oneflow.compiler.lower import Executable
from oneflow.graph.pipeline_parallel import PipelineExecutable, TaskRun
from oneflow.graph.schedule import idle_fraction, timeline
from oneflow.passes.partition import PipelineTask, Transfer
from oneflow.plan.estimate import CostEstimate
from oneflow.plan.hlo_account import ProgramAccount
from oneflow.plan.sums import flops_of, merge_collectives, sum_collectives
from oneflow.plan.xla import Compiled
from oneflow.primitives.cost.chips import Chip
from oneflow.primitives.cost.operation_cost import shard_bytes
from oneflow.program.cost import program_seconds
from oneflow.program.cse import eliminate_common_values
from oneflow.program.ir import Program
from oneflow.program.liveness import Memory, memory_of


@dataclass(frozen=True)
class StagePlan:
    """The plan of one stage, for each of its devices.

    Attributes:
        placement: its devices.
        model: the estimate by the cost model.
        xla: the estimate by XLA, if it compiled the tasks.
        work: the kernels of the tasks that XLA compiled for a chip.
        activation_bytes: the most bytes of activations that it keeps between tasks.
        micro_batches: the most micro batches of which it keeps activations.
        bytes_sent: bytes that it sends to other stages.
        seconds: the time of computation and of collectives, by the model.
        idle: the part of the step in which it waits.
    """

    placement: Placement
    model: CostEstimate
    xla: CostEstimate | None
    work: ProgramAccount | None
    activation_bytes: int
    micro_batches: int
    bytes_sent: int
    seconds: tuple[float, float]
    idle: float

    @property
    def estimate(self) -> CostEstimate:
        """XLA's estimate if there is one, else the model's."""
        return self.xla or self.model


@dataclass(frozen=True)
class PipelinePlan:
    """The plan of a pipeline.

    Attributes:
        stages: the stages in the order in which a micro batch gets to them.
        seconds: the time of a step.
    """

    stages: tuple[StagePlan, ...]
    seconds: float

    @property
    def largest_stage(self) -> StagePlan:
        """The stage that needs most memory on a device."""
        return max(self.stages, key=lambda stage: stage.estimate.memory.peak)

    @property
    def parts(self) -> tuple[float, float]:
        """The time that the stage with most work computes, and the rest of the step."""
        compute = max(stage.seconds[0] for stage in self.stages)
        return compute, self.seconds - compute

    def model(self) -> CostEstimate:
        """The model's estimate of the whole; see `_of_all`."""
        return _of_all([(stage.placement.size, stage.model) for stage in self.stages])

    def xla(self) -> CostEstimate | None:
        """XLA's estimate of the whole; see `_of_all`."""
        costs = [(stage.placement.size, stage.xla) for stage in self.stages if stage.xla]
        return _of_all(costs) if costs else None


def _of_all(costs: list[tuple[int, CostEstimate]]) -> CostEstimate:
    """The memory of the largest stage, the mean of operations, collectives of who sends most."""
    peak = max((estimate for _, estimate in costs), key=lambda estimate: estimate.memory.peak)
    largest = max((estimate for _, estimate in costs), key=lambda estimate: estimate.sent)
    size = sum(count for count, _ in costs)
    flops = sum(count * estimate.flops for count, estimate in costs) / size
    return CostEstimate(peak.by, peak.memory, flops, largest.collectives)


@dataclass(frozen=True)
class _TaskCosts:
    """The costs of a task; see `StagePlan`."""

    seconds: tuple[float, float]
    model: CostEstimate
    xla: CostEstimate | None = None
    work: ProgramAccount | None = None


Compile = Callable[[Callable[[], Executable], int], Compiled]


def plan_pipeline(
    pipeline: PipelineExecutable, chip: Chip, compile: Compile | None
) -> PipelinePlan:
    """Return the plan of a pipeline.

    Args:
        pipeline: the pipeline; nothing of it runs.
        chip: the kind of the devices.
        compile: compiles the program that a function makes, for so many devices; None: XLA is not
            asked.
    """
    return _Planning(pipeline, chip, compile).plan()


class _Planning:
    """One plan while it is made; tasks with the same program are looked at once."""

    def __init__(self, pipeline: PipelineExecutable, chip: Chip, compile: Compile | None) -> None:
        self._pipeline = pipeline
        self._chip = chip
        self._compile = compile
        costs_by_program: dict[tuple[Program, tuple[int, ...]], _TaskCosts] = {}
        self._costs: dict[int, _TaskCosts] = {}
        for run in pipeline.runs:
            key = (pipeline.program_of(run), run.donated)
            if key not in costs_by_program:
                costs_by_program[key] = self._costs_of(run)
            self._costs[run.task] = costs_by_program[key]
        tasks = pipeline.partition.tasks
        self._numbers = {id(task): number for number, task in enumerate(tasks)}
        self._slots = timeline(tasks, pipeline.order, self._duration, self._latency())
        self._live = pipeline.live_bytes()

    def _costs_of(self, run: TaskRun) -> _TaskCosts:
        program = eliminate_common_values(self._pipeline.program_of(run))
        memory, collectives = memory_of(program, run.donated), tuple(sum_collectives(program))
        model = CostEstimate("model", memory, flops_of(program), collectives)
        seconds = program_seconds(program, self._chip)
        if self._compile is None:
            return _TaskCosts(seconds, model)
        size = self._task(run).placement.size
        compiled = self._compile(lambda: self._pipeline.executable_of(run), size)
        xla = CostEstimate("XLA", compiled.memory, compiled.flops, compiled.collectives)
        return _TaskCosts(seconds, model, xla, compiled.work)

    def plan(self) -> PipelinePlan:
        """Return the plan."""
        idle = idle_fraction(self._pipeline.partition.tasks, self._slots)
        counts = self._pipeline.max_live_micro_batches()
        stages = []
        for stage in self._pipeline.stages:
            runs = [run for run in self._pipeline.runs if self._task(run).placement is stage]
            costs = [self._costs[run.task] for run in runs]
            xla = [cost.xla for cost in costs if cost.xla is not None]
            works = [cost.work for cost in costs if cost.work is not None]
            compute, exchange = zip(*(cost.seconds for cost in costs), strict=True)
            stages.append(
                StagePlan(
                    stage,
                    self._estimate(stage, [cost.model for cost in costs]),
                    self._estimate(stage, xla) if xla else None,
                    _sum_of(works) if works else None,
                    max((size for _, size in self._live[stage]), default=0),
                    counts[stage],
                    sum(_bytes_of(transfer) for transfer in self._transfers_from(stage)),
                    (sum(compute), sum(exchange)),
                    idle[stage],
                )
            )
        return PipelinePlan(tuple(stages), max(slot.end for slot in self._slots))

    def _task(self, run: TaskRun) -> PipelineTask:
        return self._pipeline.partition.tasks[run.task]

    def _duration(self, task: PipelineTask) -> float:
        return sum(self._costs[self._numbers[id(task)]].seconds)

    def _transfers_from(self, stage: Placement) -> Iterable[Transfer]:
        transfers = self._pipeline.partition.transfer_by_result.values()
        return (transfer for transfer in transfers if transfer.before.device is stage)

    def _latency(self) -> dict[tuple[int, int], float]:
        """The time of the transfers between two tasks, by their indices."""
        transfers = self._pipeline.partition.transfer_by_result
        latency: dict[tuple[int, int], float] = defaultdict(float)
        for index, task in enumerate(self._pipeline.partition.tasks):
            for number in task.inputs:
                while (transfer := transfers.get(number)) is not None:
                    if transfer.producer is not None:
                        latency[transfer.producer, index] += self._transfer_seconds(transfer)
                    number = transfer.source
        return latency

    def _transfer_seconds(self, transfer: Transfer) -> float:
        before, after = transfer.before.device, transfer.after.device
        pairs = zip(before.flat, after.flat, strict=False)
        rate = min(self._chip.rate_between(source, target) for source, target in pairs)
        return self._chip.latency + _bytes_of(transfer) / rate

    def _estimate(self, stage: Placement, parts: list[CostEstimate]) -> CostEstimate:
        """The sums over the tasks of a stage, and its memory."""
        # While a task runs, its arguments and results are stored beside what it needs itself.
        temporary = max(
            live + part.memory.temporary
            for (_, live), part in zip(self._live[stage], parts, strict=True)
        )
        collectives = [collective for part in parts for collective in part.collectives]
        return CostEstimate(
            parts[0].by,
            self._memory(stage, temporary),
            sum(part.flops for part in parts),
            tuple(merge_collectives(collectives)),
        )

    def _memory(self, stage: Placement, temporary: int) -> Memory:
        """The memory of a stage, including values that live only during the step."""
        program = self._pipeline.program
        specs = program.spec_table()
        arguments = sum(shard_bytes(spec) for spec in program.inputs if spec.device is stage)
        updated = set(self._pipeline.replaced_by.values())
        outputs = [
            shard_bytes(specs[number])
            for number in set(self._pipeline.partition.outputs) - updated
            if specs[number].device is stage
        ]
        return Memory(arguments, sum(outputs), temporary)


def _sum_of(works: list[ProgramAccount]) -> ProgramAccount:
    return ProgramAccount(
        sum(work.kernels for work in works),
        sum(work.bytes for work in works),
        sum(work.asynchronous for work in works),
        sum(work.flops for work in works),
        sum(work.overlapped for work in works),
    )


def _bytes_of(transfer: Transfer) -> int:
    """The bytes that each device sends."""
    return shard_bytes(transfer.before)
