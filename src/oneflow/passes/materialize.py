"""Materialize: values that a convolution or product reads, and others too, are computed once.

See `oneflow.primitives.operators.materialize`. A value is stored if some reader reads it from
memory (`Fusion.reads_memory`), another instruction reads it as well, and it was computed by an
operation that XLA would fuse into its users. Only for programs that are compiled as a whole, on
the CPU.
"""

from __future__ import annotations

from collections import Counter

from oneflow.passes.program_builder import ProgramBuilder
from oneflow.primitives.operation import Operation
from oneflow.primitives.operators.materialize import materialize
from oneflow.program.ir import Program

# Smaller values stay in the processor's caches, however often they are computed.
_MIN_ELEMENTS = 1 << 14


def materialize_shared(program: Program) -> Program:
    """Return the program with `materialize` behind values that are stored, not computed again."""
    stored = _values_to_store(program)
    if not stored:
        return program
    builder = ProgramBuilder(program)
    for instruction in program.instructions:
        builder.copy(instruction)
        for number in instruction.results:
            if number in stored:
                builder.replace([number], materialize, [number])
    return builder.program()


def _values_to_store(program: Program) -> set[int]:
    """The numbers of the values to store."""
    users: Counter[int] = Counter()
    read_from_memory: set[int] = set()
    for instruction in program.instructions:
        users.update(set(instruction.operands))
        if instruction.operation.primitive.traits.fusion.reads_memory:
            read_from_memory.update(instruction.operands)
    stored = set()
    for instruction in program.instructions:
        operation = instruction.operation
        if operation.device.type != "cpu" or not _is_fusible(operation):
            continue
        for number, spec in zip(instruction.results, operation.out_specs, strict=True):
            shared = number in read_from_memory and users[number] > 1
            if shared and spec.numel >= _MIN_ELEMENTS:
                stored.add(number)
    return stored


def _is_fusible(operation: Operation) -> bool:
    """Return true if XLA would fuse the operation into its users."""
    primitive = operation.primitive
    return primitive.elementwise or primitive.traits.fusion.into_users
