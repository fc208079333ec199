"""Order updates: a parameter is not replaced before everything that reads it has run.

XLA writes a new parameter over the old one only if it can tell that all users of the old one come
before. The gradient of a layer's input reads the weight, but the weight's own gradient does not
depend on it, so that XLA would copy every weight at the start of a step. Here the two gradients are
tied to each other. The pass is for programs that are compiled as a whole, on CPUs: for GPUs XLA
updates weights in kernels of their own at the end, and for TPUs it is told to order updates itself
(`compiler/options.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from oneflow.passes.program_builder import ProgramBuilder
from oneflow.primitives.operators.materialize import optimization_barrier
from oneflow.program.ir import Program

# Smaller parameters are cheaper to copy than to keep apart.
_MIN_ELEMENTS = 1 << 14


def order_updates(program: Program) -> Program:
    """Return the program with gradients tied to the other users of their parameters."""
    ties = _ties(program)
    if not ties:
        return program
    builder = ProgramBuilder(program)
    for index, instruction in enumerate(program.instructions):
        builder.copy(instruction)
        for numbers in ties.get(index, ()):
            builder.replace(numbers, optimization_barrier, numbers)
    return builder.program()


def _ties(program: Program) -> dict[int, list[list[int]]]:
    """Map instructions to the lists of values to tie together behind them, the gradient first."""
    updates = list(_updates(program))
    if not updates:
        return {}
    producer: dict[int, int] = {}
    users: dict[int, list[int]] = defaultdict(list)
    # For each instruction, a bit for every instruction that runs before it in any order.
    before: list[int] = []
    for index, instruction in enumerate(program.instructions):
        bits = 1 << index
        for number in set(instruction.operands):
            users[number].append(index)
            if number in producer:
                bits |= before[producer[number]]
        before.append(bits)
        producer.update(dict.fromkeys(instruction.results, index))
    ties: dict[int, list[list[int]]] = defaultdict(list)
    for update, parameter, gradient in updates:
        if gradient not in producer:
            continue
        ancestors = before[producer[gradient]]
        others = [user for user in users[parameter] if user != update and not ancestors >> user & 1]
        if others and others[-1] < update:
            numbers = [gradient, *(program.instructions[other].results[0] for other in others)]
            ties[max(producer[number] for number in numbers)].append(numbers)
    return ties


def _updates(program: Program) -> Iterator[tuple[int, int, int]]:
    """Index, parameter and gradient of each update of a large parameter."""
    for index, instruction in enumerate(program.instructions):
        operation = instruction.operation
        update = operation.primitive.traits.update
        if update is None or update.gradients is None or operation.device.type != "cpu":
            continue
        for parameter, gradient in update.gradients(operation):
            is_large = operation.in_specs[parameter].numel >= _MIN_ELEMENTS
            if is_large and instruction.operands[parameter] < len(program.inputs):
                yield index, instruction.operands[parameter], instruction.operands[gradient]
