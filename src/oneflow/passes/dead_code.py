"""Dead-code elimination: drop instructions that nothing returned depends on."""

from __future__ import annotations

from oneflow.program.ir import Program


def eliminate_dead_code(program: Program) -> Program:
    """Return the program without instructions whose results reach no output.

    Instructions with a run-time check stay.
    """
    needed = set(program.outputs)
    live = []
    for instruction in reversed(program.instructions):
        if instruction.operation.needs_check or not needed.isdisjoint(instruction.results):
            needed.update(instruction.operands)
            live.append(instruction)
    if len(live) == len(program.instructions):
        return program
    return Program(program.inputs, program.scalars, tuple(reversed(live)), program.outputs)
