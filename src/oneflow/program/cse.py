"""Common subexpression elimination, as XLA does it: for the cost model."""

from __future__ import annotations

from dataclasses import replace

from oneflow.program.ir import Instruction, Program


def eliminate_common_values(program: Program) -> Program:
    """Return the program without instructions that repeat an earlier one; numbers stay."""
    same: dict[int, int] = {}
    first_by_operation: dict[tuple, Instruction] = {}
    instructions = []
    for instruction in program.instructions:
        operands = tuple([same.get(number, number) for number in instruction.operands])
        first = first_by_operation.setdefault((instruction.operation, operands), instruction)
        if first is instruction:
            instructions.append(replace(instruction, operands=operands))
        else:
            same.update(zip(instruction.results, first.results, strict=True))
    outputs = tuple([same.get(number, number) for number in program.outputs])
    return replace(program, instructions=tuple(instructions), outputs=outputs)
