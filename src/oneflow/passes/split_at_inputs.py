"""A program in two parts: what does not depend on some of its inputs, and the rest."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from oneflow.passes.dead_code import eliminate_dead_code
from oneflow.program.ir import Instruction, Program


class SplitProgram(NamedTuple):
    """Two programs in place of one.

    Attributes:
        independent: from all inputs to the first outputs, followed by the residuals: values that
            `dependent` needs.
        dependent: from all inputs, followed by the residuals, to the other outputs.
    """

    independent: Program
    dependent: Program


def split_at_inputs(program: Program, inputs: Collection[int], outputs: int) -> SplitProgram:
    """Split a program into what can run before some inputs are known, and the rest.

    Args:
        program: the program.
        inputs: numbers of the inputs that are not known at first.
        outputs: the number of first outputs that do not depend on them.
    """
    program = eliminate_dead_code(program)
    varying = set(inputs)
    independent, dependent = [], []
    for instruction in program.instructions:
        is_dependent = not varying.isdisjoint(instruction.operands)
        (dependent if is_dependent else independent).append(instruction)
        varying.update(instruction.results if is_dependent else ())
    computed = {number for instruction in independent for number in instruction.results}
    read = {number for instruction in dependent for number in instruction.operands} | set(
        program.outputs[outputs:]
    )
    residuals = sorted(computed & read)
    numbers = range(len(program.inputs))
    return SplitProgram(
        _with_numbers(program, independent, numbers, (*program.outputs[:outputs], *residuals)),
        _with_numbers(program, dependent, (*numbers, *residuals), program.outputs[outputs:]),
    )


def _with_numbers(
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
    remapped = []
    for instruction in instructions:
        operands = tuple([new[number] for number in instruction.operands])
        results = range(len(new), len(new) + len(instruction.results))
        new.update(zip(instruction.results, results, strict=True))
        remapped.append(Instruction(instruction.operation, operands, results, instruction.scope))
    return Program(
        tuple([specs[number] for number in inputs]),
        program.scalars,
        tuple(remapped),
        tuple([new[number] for number in outputs]),
    )
