"""The contents of a plan, as data."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from oneflow.base.placement import Placement
from oneflow.plan.estimate import CostEstimate
from oneflow.plan.hlo_account import ProgramAccount
from oneflow.plan.largest import StoredValue, largest_values
from oneflow.plan.pipeline import PipelinePlan, plan_pipeline
from oneflow.plan.rows import InputRow, OperatorRow, input_rows, operator_rows
from oneflow.plan.step_program import StepProgram
from oneflow.plan.sums import flops_of, merge_collectives, sum_collectives
from oneflow.plan.xla import MAX_DEVICES, can_compile, compiled
from oneflow.primitives.cost.chips import Chip, chip_of_type
from oneflow.program.cost import program_seconds
from oneflow.program.liveness import memory_of

# Names of the kinds of inputs, in the order in which they are shown.
KINDS = {
    "parameter": "parameters",
    "state": "optimizer states",
    "buffer": "buffers",
    "tensor": "other tensors",
    "argument": "arguments",
    "constant": "constants",
}


@dataclass(frozen=True)
class PlanContents:
    """The contents of a plan.

    Attributes:
        name: the name of the graph.
        placement: the devices.
        inputs: the inputs of the step.
        operators: its operators, in order.
        model: the estimate by the cost model.
        seconds: the time of computation and of collectives, by the model, on devices of the type.
        xla: the estimate by XLA, if it compiled the program.
        xla_skip_reason: the reason why it did not.
        chip: the kind of the devices, if that is known.
        work: the kernels of the program that XLA compiled for the chip.
        largest: the largest values on a device when its memory is used most, by the model.
        pipeline: its stages, if it is on several placements. `model` and `xla` have the memory of
            the largest stage then, the mean of operations, and the collectives of the stage that
            sends most; `seconds` what the stage with most work computes, and the rest of the step.
    """

    name: str
    placement: Placement
    inputs: tuple[InputRow, ...]
    operators: tuple[OperatorRow, ...]
    model: CostEstimate
    seconds: tuple[float, float]
    xla: CostEstimate | None
    xla_skip_reason: str
    chip: Chip | None = None
    work: ProgramAccount | None = None
    largest: tuple[StoredValue, ...] = ()
    pipeline: PipelinePlan | None = None

    @property
    def estimate(self) -> CostEstimate:
        """XLA's estimate if there is one, else the model's."""
        return self.xla or self.model

    @property
    def time_parts(self) -> tuple[str, str]:
        """The names of the parts of `seconds`."""
        return "computing", "exchanging and waiting" if self.pipeline else "exchanging"

    def input_bytes(self) -> dict[str, int]:
        """The bytes of the inputs on each device, in the largest stage of a pipeline, by kind."""
        stage = self.pipeline.stages.index(self.pipeline.largest_stage) if self.pipeline else 0
        sums = dict.fromkeys(KINDS, 0)
        for row in self.inputs:
            if row.stage == stage:
                sums[row.kind] += row.shard_bytes * row.count
        return {KINDS[kind]: size for kind, size in sums.items() if size}

    def mesh(self) -> str:
        """The devices in words."""
        kind = self.chip.name if self.chip else self.placement.type
        grid = " x ".join(map(str, self.placement.hierarchy))
        total = f" = {self.placement.size}" if self.placement.ndim > 1 else ""
        stages = f" in {len(self.pipeline.stages)} stages" if self.pipeline else ""
        return f"{grid}{total} {kind} device{'s' * (self.placement.size > 1)}{stages}"


def contents_of(step: StepProgram, compile: bool = True, chip: Chip | None = None) -> PlanContents:
    """Return the contents of the plan of a step.

    Args:
        step: the step.
        compile: compile with XLA too, if this process has enough devices or for a chip.
        chip: the kind of the devices.
    """
    xla_skip_reason = _xla_skip_reason(step, compile, chip)
    needs_xla = not xla_skip_reason
    costs = (_pipeline_costs if step.pipeline else _costs)(step, needs_xla, chip)
    stage = costs.pipeline.largest_stage.placement if costs.pipeline else None
    return PlanContents(
        step.name,
        step.placement,
        tuple(input_rows(step)),
        tuple(operator_rows(step)),
        costs.model,
        costs.seconds,
        costs.xla,
        xla_skip_reason,
        chip,
        costs.work,
        tuple(largest_values(step, stage)),
        costs.pipeline,
    )


@dataclass(frozen=True)
class _Costs:
    """The costs of a step; see `PlanContents`."""

    model: CostEstimate
    seconds: tuple[float, float]
    xla: CostEstimate | None
    work: ProgramAccount | None
    pipeline: PipelinePlan | None = None


def _costs(step: StepProgram, needs_xla: bool, chip: Chip | None) -> _Costs:
    """The costs of a step on one placement."""
    program = step.cse_program
    model = CostEstimate(
        "model",
        memory_of(program, step.donated),
        flops_of(program),
        tuple(sum_collectives(program)),
    )
    seconds = program_seconds(program, chip or chip_of_type(step.placement.type))
    if not needs_xla:
        return _Costs(model, seconds, None, None)
    executable = compiled(step.executable, step.placement.size, chip)
    xla = CostEstimate(
        "XLA",
        executable.memory,
        executable.flops,
        tuple(merge_collectives(executable.collectives)),
    )
    return _Costs(model, seconds, xla, executable.work)


def _pipeline_costs(step: StepProgram, needs_xla: bool, chip: Chip | None) -> _Costs:
    """The costs of a step on several placements."""
    assert step.pipeline is not None
    kind = chip or chip_of_type(step.placement.type)
    compile = functools.partial(compiled, chip=chip) if needs_xla else None
    plan = plan_pipeline(step.pipeline, kind, compile)
    return _Costs(plan.model(), plan.parts, plan.xla(), plan.largest_stage.work, plan)


def _xla_skip_reason(step: StepProgram, compile: bool, chip: Chip | None) -> str:
    size = step.placement.size
    if not compile:
        return "it was not asked"
    if chip:
        return ""
    if size > MAX_DEVICES:
        return f"it compiles for at most {MAX_DEVICES} devices on one machine"
    if not can_compile(step):
        return f"ONEFLOW_CPU_DEVICES={size} is needed to compile for {size} devices"
    return ""
