"""Dead-code elimination: drop instructions that nothing returned depends on."""

from __future__ import annotations

from oneflow.program.ir import Program


def eliminate_dead_code(program: Program) -> Program:
    """The program without instructions whose results reach no output. Checked instructions stay."""
    needed = set(program.outputs)
    kept = []
    for instruction in reversed(program.instructions):
        if instruction.operation.needs_check or not needed.isdisjoint(instruction.results):
            needed.update(instruction.operands)
            kept.append(instruction)
    return Program(program.inputs, program.scalars, tuple(reversed(kept)), program.outputs)
