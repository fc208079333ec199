"""How long a program takes, by the model of `oneflow.primitives.cost.estimated_time`."""

from __future__ import annotations

from oneflow.primitives.cost.estimated_time import Machine, operation_seconds
from oneflow.program.common_subexpressions import eliminate_common_subexpressions
from oneflow.program.ir import Program


def program_seconds(program: Program, machine: Machine) -> tuple[float, float]:
    """Seconds that a program on a placement computes, and that it converts."""
    shared = eliminate_common_subexpressions(program)
    parts = [operation_seconds(machine, each.operation) for each in shared.instructions]
    return sum(part[0] for part in parts), sum(part[1] for part in parts)
