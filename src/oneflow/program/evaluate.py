"""The plain evaluator: one instruction after the other, no compiler.

It is the compiler's oracle.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oneflow.program.ir import Program


def evaluate(program: Program, arrays: Sequence[Any], scalars: Sequence[Any]) -> tuple[list, list]:
    """Run `program` on arrays and Python numbers.

    Given tracers instead of arrays it traces, so this same walk is also what the compiler compiles.

    Returns:
        One array per program output, and ``(is_bad, value)`` per checked instruction.
    """
    environment = dict(enumerate((*arrays, *scalars)))
    checks = []
    for instruction in program.instructions:
        operation = instruction.operation
        operands = [environment[number] for number in instruction.operands]
        results = operation.evaluate(*operands)
        environment.update(
            zip(instruction.results, (results,) if operation.single else results, strict=True)
        )
        if operation.needs_check:
            checks.append(operation.evaluate_check(*operands))
    return [environment[number] for number in program.outputs], checks
