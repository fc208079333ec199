"""Materialize: values that a convolution or product reads, and others too, are computed once.

See `oneflow.primitives.operators.materialize`. A value is stored if some reader reads it from
memory (`Fusion.reads_memory`), another instruction reads it as well, and it was computed by an
operation that XLA would fuse into its readers. Only for programs that are compiled as a whole, on
the CPU.
"""

from __future__ import annotations

from collections import Counter

from oneflow.passes.rewriting import ProgramRewriter
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
    rewriter = ProgramRewriter(program)
    for instruction in program.instructions:
        rewriter.copy(instruction)
        for number in instruction.results:
            if number in stored:
                rewriter.replace([number], materialize, [number])
    return rewriter.program()


def _values_to_store(program: Program) -> set[int]:
    """The numbers of the values to store."""
    readers: Counter[int] = Counter()
    read_from_memory: set[int] = set()
    for instruction in program.instructions:
        readers.update(set(instruction.operands))
        if instruction.operation.primitive.traits.fusion.reads_memory:
            read_from_memory.update(instruction.operands)
    stored = set()
    for instruction in program.instructions:
        operation = instruction.operation
        if operation.device.type != "cpu" or not _fuses(operation):
            continue
        for number, spec in zip(instruction.results, operation.out_specs, strict=True):
            shared = number in read_from_memory and readers[number] > 1
            if shared and spec.numel >= _MIN_ELEMENTS:
                stored.add(number)
    return stored


def _fuses(operation: Operation) -> bool:
    """Return true if XLA would fuse the operation into its readers."""
    primitive = operation.primitive
    return primitive.elementwise or primitive.traits.fusion.into_readers
