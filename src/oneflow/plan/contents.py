"""What a plan says, as data."""

from __future__ import annotations

from dataclasses import dataclass

from oneflow.base.placement import Placement
from oneflow.plan.recording import RecordedProgram
from oneflow.plan.rows import InputRow, OperatorRow, input_rows, operator_rows
from oneflow.plan.totals import Exchange, exchanges_of, flops_of, summed
from oneflow.plan.xla import MAX_DEVICES, can_compile, compiled
from oneflow.primitives.cost.timing import MACHINES
from oneflow.program.duration import program_seconds
from oneflow.program.liveness import Memory, memory_of

# How the kinds of inputs are called, in the order in which they are shown.
KINDS = {
    "parameter": "parameters",
    "state": "optimizer states",
    "buffer": "buffers",
    "tensor": "other tensors",
    "argument": "arguments",
    "constant": "constants",
}


@dataclass(frozen=True)
class Account:
    """What one device needs and does in one step, by one who knows.

    Attributes:
        by: ``"model"`` or ``"XLA"``.
        memory: bytes.
        flops: operations computed.
        exchanges: collectives, by kind and size of groups.
    """

    by: str
    memory: Memory
    flops: float
    exchanges: tuple[Exchange, ...]

    @property
    def sent(self) -> float:
        """Bytes that the device sends."""
        return sum(each.sent for each in self.exchanges)


@dataclass(frozen=True)
class Contents:
    """What a plan says.

    Attributes:
        name: of the graph.
        placement: the devices.
        inputs: what the step is given.
        operators: what it consists of, in order.
        model: the account by the cost model.
        seconds: that computing and exchanging take, by the model, for devices of the type.
        xla: the account by XLA, if it compiled the program.
        why_not: why it did not.
    """

    name: str
    placement: Placement
    inputs: tuple[InputRow, ...]
    operators: tuple[OperatorRow, ...]
    model: Account
    seconds: tuple[float, float]
    xla: Account | None
    why_not: str

    @property
    def best(self) -> Account:
        """XLA's account if there is one, else the model's."""
        return self.xla or self.model

    def held(self) -> dict[str, int]:
        """Bytes on each device of what the step is given, by kind."""
        sums = dict.fromkeys(KINDS, 0)
        for row in self.inputs:
            sums[row.kind] += row.held * row.count
        return {KINDS[kind]: size for kind, size in sums.items() if size}

    def mesh(self) -> str:
        """The devices in words."""
        grid = " x ".join(map(str, self.placement.hierarchy))
        total = f" = {self.placement.size}" if self.placement.ndim > 1 else ""
        return f"{grid}{total} {self.placement.type} device{'s' * (self.placement.size > 1)}"


def contents_of(recorded: RecordedProgram, compile: bool = True) -> Contents:
    """What is to be said of a recorded step.

    Args:
        recorded: the step.
        compile: ask XLA, if there are devices that can stand for those of the plan.
    """
    program = recorded.prepared
    model = Account(
        "model",
        memory_of(program, recorded.donated),
        flops_of(program),
        tuple(exchanges_of(program)),
    )
    why_not = _why_not(recorded, compile)
    xla = None
    if not why_not:
        found = compiled(recorded)
        xla = Account("XLA", found.memory, found.flops, tuple(summed(found.exchanges)))
    return Contents(
        recorded.name,
        recorded.placement,
        tuple(input_rows(recorded)),
        tuple(operator_rows(recorded)),
        model,
        program_seconds(program, MACHINES[recorded.placement.type]),
        xla,
        why_not,
    )


def _why_not(recorded: RecordedProgram, compile: bool) -> str:
    size = recorded.placement.size
    if not compile:
        return "it was not asked"
    if size > MAX_DEVICES:
        return f"it compiles for at most {MAX_DEVICES} devices on one machine"
    if not can_compile(recorded):
        return f"ONEFLOW_CPU_DEVICES={size} is needed to compile for {size} devices"
    return ""
