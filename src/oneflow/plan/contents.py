"""The contents of a plan, as data."""

from __future__ import annotations

from dataclasses import dataclass

from oneflow.base.placement import Placement
from oneflow.plan.hlo_account import ProgramAccount
from oneflow.plan.largest import StoredValue, largest_values
from oneflow.plan.rows import InputRow, OperatorRow, input_rows, operator_rows
from oneflow.plan.step_program import StepProgram
from oneflow.plan.sums import CollectiveTotal, flops_of, merge_collectives, sum_collectives
from oneflow.plan.xla import MAX_DEVICES, can_compile, compiled
from oneflow.primitives.cost.chips import Chip, chip_of_type
from oneflow.program.cost import program_seconds
from oneflow.program.liveness import Memory, memory_of

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
class CostEstimate:
    """An estimate of the memory, work and collectives of one device in one step.

    Attributes:
        by: its source, ``"model"`` or ``"XLA"``.
        memory: bytes.
        flops: operations computed.
        collectives: collectives, by kind and size of groups.
    """

    by: str
    memory: Memory
    flops: float
    collectives: tuple[CollectiveTotal, ...]

    @property
    def sent(self) -> float:
        """Bytes that the device sends."""
        return sum(collective.sent for collective in self.collectives)


@dataclass(frozen=True)
class PlanContents:
    """The contents of a plan.

    Attributes:
        name: of the graph.
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

    @property
    def estimate(self) -> CostEstimate:
        """XLA's estimate if there is one, else the model's."""
        return self.xla or self.model

    def input_bytes(self) -> dict[str, int]:
        """The bytes of the inputs on each device, by kind."""
        sums = dict.fromkeys(KINDS, 0)
        for row in self.inputs:
            sums[row.kind] += row.shard_bytes * row.count
        return {KINDS[kind]: size for kind, size in sums.items() if size}

    def mesh(self) -> str:
        """The devices in words."""
        kind = self.chip.name if self.chip else self.placement.type
        grid = " x ".join(map(str, self.placement.hierarchy))
        total = f" = {self.placement.size}" if self.placement.ndim > 1 else ""
        return f"{grid}{total} {kind} device{'s' * (self.placement.size > 1)}"


def contents_of(step: StepProgram, compile: bool = True, chip: Chip | None = None) -> PlanContents:
    """Return the contents of the plan of a step.

    Args:
        step: the step.
        compile: compile with XLA too, if this process has enough devices or for a chip.
        chip: the kind of the devices.
    """
    program = step.cse_program
    model = CostEstimate(
        "model",
        memory_of(program, step.donated),
        flops_of(program),
        tuple(sum_collectives(program)),
    )
    xla_skip_reason = _xla_skip_reason(step, compile, chip)
    xla = work = None
    if not xla_skip_reason:
        executable = compiled(step, chip)
        work = executable.work
        xla = CostEstimate(
            "XLA",
            executable.memory,
            model.flops if executable.flops is None else executable.flops,
            tuple(merge_collectives(executable.collectives)),
        )
    return PlanContents(
        step.name,
        step.placement,
        tuple(input_rows(step)),
        tuple(operator_rows(step)),
        model,
        program_seconds(program, chip or chip_of_type(step.placement.type)),
        xla,
        xla_skip_reason,
        chip,
        work,
        tuple(largest_values(step)),
    )


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
