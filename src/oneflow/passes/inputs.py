"""The inputs that a program reads, and the program with its inputs in another order."""

from __future__ import annotations

from collections.abc import Sequence

from oneflow.program.ir import Instruction, Program


def inputs_read(program: Program) -> set[int]:
    """The numbers of the array inputs that an instruction or an output reads."""
    read = set(program.outputs)
    for instruction in program.instructions:
        read.update(instruction.operands)
    return {number for number in read if number < len(program.inputs)}


def with_inputs(program: Program, order: Sequence[int]) -> Program:
    """Return the program with array inputs in `order`, which holds all inputs that are read.

    Run-time numbers keep their order.
    """
    count = len(program.inputs)
    removed = count - len(order)
    new_numbers = {old: new for new, old in enumerate(order)}

    def new(number: int) -> int:
        return new_numbers[number] if number < count else number - removed

    instructions = tuple(
        Instruction(
            instruction.operation,
            tuple(new(number) for number in instruction.operands),
            range(instruction.results.start - removed, instruction.results.stop - removed),
            instruction.scope,
        )
        for instruction in program.instructions
    )
    inputs = tuple(program.inputs[number] for number in order)
    outputs = tuple(new(number) for number in program.outputs)
    return Program(inputs, program.scalars, instructions, outputs)
