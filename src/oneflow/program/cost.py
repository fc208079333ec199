"""The estimated time of a program, by the cost model of `oneflow.primitives.cost`."""

from __future__ import annotations

from oneflow.primitives.cost.chips import Chip
from oneflow.primitives.cost.time_model import operation_seconds
from oneflow.program.cse import eliminate_common_values
from oneflow.program.ir import Program


def program_seconds(program: Program, chip: Chip) -> tuple[float, float]:
    """The seconds that a program on a placement takes for computing and for converting SBP."""
    shared = eliminate_common_values(program)
    parts = [operation_seconds(chip, instruction.operation) for instruction in shared.instructions]
    return sum(part[0] for part in parts), sum(part[1] for part in parts)
