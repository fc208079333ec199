"""The assignment of donated inputs to outputs, which take over their memory.

XLA writes an output over a donated input only if nothing reads the input afterwards; else it copies
the input first. So a parameter's memory must go to the new parameter, which comes last, and not to
a gradient of the same shape.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from oneflow.program.ir import Program, replacements


def assign_donated(program: Program, donated: Sequence[int]) -> tuple[tuple[int, ...], list[int]]:
    """The inputs of `donated` that some output can take over, and an order of the outputs.

    JAX gives each output, in order, the first donated input of its shape and dtype that is left.
    The order returned makes that the one meant for it.
    """
    slots = _slots(program)  # The slots that stay in it are free.
    slot_of = _replacement_slots(program, set(donated), slots)
    table = program.spec_table()
    free = defaultdict(list)
    for slot in sorted(slots.values()):
        free[table[program.outputs[slot]]].append(slot)
    for index in sorted(set(donated) - set(slot_of)):
        # Most likely the last output of that kind replaces it.
        if free[program.inputs[index]]:
            slot_of[index] = free[program.inputs[index]].pop()
    taken = [slot_of[index] for index in sorted(slot_of)]
    others = sorted(set(range(len(program.outputs))) - set(taken))
    return tuple(sorted(slot_of)), [*taken, *others]


def _slots(program: Program) -> dict[int, int]:
    """The first position of each output."""
    return {number: slot for slot, number in reversed(list(enumerate(program.outputs)))}


def _replacement_slots(
    program: Program, donated: set[int], slots: dict[int, int]
) -> dict[int, int]:
    """Output slots, taken from `slots`, by the donated input whose new state the output is."""
    slot_of: dict[int, int] = {}
    for _, index, number in replacements(program):
        if index in donated and index not in slot_of and number in slots:
            slot_of[index] = slots.pop(number)
    return slot_of
