"""The plain evaluator: runs instructions in order, without a compiler.

It is the compiler's oracle.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from oneflow.primitives.operation import Operation
from oneflow.program.ir import Program


def evaluate(program: Program, arrays: Sequence[Any], scalars: Sequence[Any]) -> tuple[list, list]:
    """Run `program` on arrays and Python numbers.

    Returns:
        One array per program output, and ``(is_bad, value)`` per checked instruction.
    """
    outputs, checked = walk(program, arrays, scalars)
    return outputs, [operation.evaluate_check(*operands) for operation, operands in checked]


def walk(
    program: Program,
    arrays: Sequence[Any],
    scalars: Sequence[Any],
    evaluate_instruction: Callable[..., Sequence[Any]] | None = None,
) -> tuple[list[Any], list[tuple[Operation, list[Any]]]]:
    """Run `program` without its checks.

    With tracers instead of arrays it traces, so this same walk is also what the compiler compiles.

    Args:
        program: what to run.
        arrays: its inputs.
        scalars: its run-time numbers.
        evaluate_instruction: gives the results of an instruction, of its operands, of all values so
            far by number, and of what has been checked so far; by default those of its operation.

    Returns:
        One array per program output, and the operation and operands of each checked instruction.
    """
    environment = dict(enumerate((*arrays, *scalars)))
    checked: list[tuple[Operation, list[Any]]] = []
    for instruction in program.instructions:
        operation = instruction.operation
        operands = [environment[number] for number in instruction.operands]
        if operation.needs_check:
            checked.append((operation, operands))
        if evaluate_instruction is not None:
            results = evaluate_instruction(instruction, operands, environment, checked)
        else:
            results = operation.evaluate(*operands)
            results = (results,) if operation.single else results
        environment.update(zip(instruction.results, results, strict=True))
    return [environment[number] for number in program.outputs], checked
