"""Values that are computed twice are computed once, as XLA sees to."""

from __future__ import annotations

from dataclasses import replace

from oneflow.program.ir import Instruction, Program


def share_equal_values(program: Program) -> Program:
    """The program without instructions that repeat an earlier one; values keep their numbers."""
    same: dict[int, int] = {}
    known: dict[tuple, Instruction] = {}
    kept = []
    for instruction in program.instructions:
        operands = tuple([same.get(number, number) for number in instruction.operands])
        first = known.setdefault((instruction.operation, operands), instruction)
        if first is instruction:
            kept.append(replace(instruction, operands=operands))
        else:
            same.update(zip(instruction.results, first.results, strict=True))
    outputs = tuple([same.get(number, number) for number in program.outputs])
    return replace(program, instructions=tuple(kept), outputs=outputs)
