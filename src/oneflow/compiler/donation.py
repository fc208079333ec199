"""Which input's memory each output takes over.

XLA writes an output over a donated input only if nothing reads the input afterwards; else it copies
the input first. So a parameter's memory must go to the new parameter, which comes last, and not to
a gradient of the same shape.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from oneflow.primitives.traits import UpdateRule
from oneflow.program.ir import Program


def plan_donations(program: Program, donated: Sequence[int]) -> tuple[tuple[int, ...], list[int]]:
    """The inputs of `donated` that some output can take over, and an order of the outputs.

    JAX gives each output, in order, the first donated input of its shape and dtype that is left. In
    the order returned that is the one meant for it.
    """
    slots = _slots(program)  # Those that stay are free.
    owners = _successors(program, set(donated), slots)
    table = program.spec_table()
    free = defaultdict(list)
    for slot in sorted(slots.values()):
        free[table[program.outputs[slot]]].append(slot)
    for index in sorted(set(donated) - set(owners)):
        # Most likely the last output of that kind replaces it.
        if free[program.inputs[index]]:
            owners[index] = free[program.inputs[index]].pop()
    taken = [owners[index] for index in sorted(owners)]
    others = sorted(set(range(len(program.outputs))) - set(taken))
    return tuple(sorted(owners)), [*taken, *others]


def updated_inputs(program: Program) -> dict[int, int]:
    """The inputs of which an optimizer's dense update computes the new state, if that is an output.

    Returns:
        The number of the input by the position of the output.
    """
    slots = _slots(program)
    return {
        slots[result]: operand
        for update, operand, result in _replacements(program)
        # Others write some rows of a table, not all of it.
        if update.gradients is not None and operand < len(program.inputs) and result in slots
    }


def _slots(program: Program) -> dict[int, int]:
    """The first position of each output."""
    return {number: slot for slot, number in reversed(list(enumerate(program.outputs)))}


def _replacements(program: Program) -> Iterator[tuple[UpdateRule, int, int]]:
    """Update rules with the numbers of an old value and of the new one that replaces it."""
    for instruction in program.instructions:
        operation = instruction.operation
        update = operation.primitive.traits.update
        if update is None:
            continue
        for operand, result in update.replaced(operation):
            yield update, instruction.operands[operand], instruction.results[result]


def _successors(program: Program, donated: set[int], slots: dict[int, int]) -> dict[int, int]:
    """Output slots, taken from `slots`, by the donated input whose new state the output is."""
    successors: dict[int, int] = {}
    for _, index, number in _replacements(program):
        if index in donated and index not in successors and number in slots:
            successors[index] = slots.pop(number)
    return successors
