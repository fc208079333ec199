"""The contents of a plan, as data."""

from __future__ import annotations

from dataclasses import dataclass

from oneflow.base.placement import Placement
from oneflow.plan.rows import InputRow, OperatorRow, input_rows, operator_rows
from oneflow.plan.step_program import StepProgram
from oneflow.plan.sums import CollectiveTotal, flops_of, merge_collectives, sum_collectives
from oneflow.plan.xla import MAX_DEVICES, can_compile, compiled
from oneflow.primitives.cost.time_model import HARDWARE
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
    """

    name: str
    placement: Placement
    inputs: tuple[InputRow, ...]
    operators: tuple[OperatorRow, ...]
    model: CostEstimate
    seconds: tuple[float, float]
    xla: CostEstimate | None
    xla_skip_reason: str

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
        grid = " x ".join(map(str, self.placement.hierarchy))
        total = f" = {self.placement.size}" if self.placement.ndim > 1 else ""
        return f"{grid}{total} {self.placement.type} device{'s' * (self.placement.size > 1)}"


def contents_of(step: StepProgram, compile: bool = True) -> PlanContents:
    """Return the contents of the plan of a step.

    Args:
        step: the step.
        compile: compile with XLA too, if this process has enough devices.
    """
    program = step.cse_program
    model = CostEstimate(
        "model",
        memory_of(program, step.donated),
        flops_of(program),
        tuple(sum_collectives(program)),
    )
    xla_skip_reason = _xla_skip_reason(step, compile)
    xla = None
    if not xla_skip_reason:
        executable = compiled(step)
        xla = CostEstimate(
            "XLA",
            executable.memory,
            executable.flops,
            tuple(merge_collectives(executable.collectives)),
        )
    return PlanContents(
        step.name,
        step.placement,
        tuple(input_rows(step)),
        tuple(operator_rows(step)),
        model,
        program_seconds(program, HARDWARE[step.placement.type]),
        xla,
        xla_skip_reason,
    )


def _xla_skip_reason(step: StepProgram, compile: bool) -> str:
    size = step.placement.size
    if not compile:
        return "it was not asked"
    if size > MAX_DEVICES:
        return f"it compiles for at most {MAX_DEVICES} devices on one machine"
    if not can_compile(step):
        return f"ONEFLOW_CPU_DEVICES={size} is needed to compile for {size} devices"
    return ""
