"""A program in two parts: what does not depend on some of its inputs, and the rest."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from oneflow.passes.dead_code import eliminate_dead_code
from oneflow.program.ir import Instruction, Program


class SplitProgram(NamedTuple):
    """Two programs in place of one.

    Attributes:
        early: from all inputs to the early outputs, followed by the values that `late` needs.
        late: from all inputs, followed by those values, to the other outputs.
    """

    early: Program
    late: Program


def split_at_inputs(program: Program, inputs: Collection[int], outputs: int) -> SplitProgram:
    """Split a program into what can run before some inputs are known, and the rest.

    Args:
        program: the program.
        inputs: numbers of the inputs that are not known at first.
        outputs: the number of first outputs that do not depend on them.
    """
    program = eliminate_dead_code(program)
    dependent = set(inputs)
    first, rest = [], []
    for each in program.instructions:
        is_late = not dependent.isdisjoint(each.operands)
        (rest if is_late else first).append(each)
        dependent.update(each.results if is_late else ())
    made = {number for each in first for number in each.results}
    read = {number for each in rest for number in each.operands} | set(program.outputs[outputs:])
    crossing = sorted(made & read)
    numbers = range(len(program.inputs))
    return SplitProgram(
        _renumbered(program, first, numbers, (*program.outputs[:outputs], *crossing)),
        _renumbered(program, rest, (*numbers, *crossing), program.outputs[outputs:]),
    )


def _renumbered(
    program: Program,
    instructions: Sequence[Instruction],
    inputs: Sequence[int],
    outputs: Sequence[int],
) -> Program:
    """Return some instructions of a program as one whose inputs are these values of it."""
    specs = program.spec_table()
    count = len(program.inputs)
    scalars = range(count, count + len(program.scalars))
    new = {old: number for number, old in enumerate((*inputs, *scalars))}
    renumbered = []
    for each in instructions:
        operands = tuple([new[number] for number in each.operands])
        results = range(len(new), len(new) + len(each.results))
        new.update(zip(each.results, results, strict=True))
        renumbered.append(Instruction(each.operation, operands, results, each.scope))
    return Program(
        tuple([specs[number] for number in inputs]),
        program.scalars,
        tuple(renumbered),
        tuple([new[number] for number in outputs]),
    )
