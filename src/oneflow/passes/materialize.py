"""Materialise: values that a convolution or product reads, and others too, are computed once.

See `oneflow.primitives.materialize`. A value is stored if some reader has the fact
``"reads_memory"`` for it, another instruction reads it as well, and it was computed by an operation
that XLA would fuse into its readers. Only for programs that are compiled as a whole, on the CPU.
"""

from __future__ import annotations

import functools
from collections import Counter

from oneflow.base.spec import TensorSpec
from oneflow.primitives.materialize import materialize
from oneflow.primitives.operation import Operation
from oneflow.program.ir import Instruction, Program

# Smaller values stay in the processor's caches whoever computes them.
_LEAST_ELEMENTS = 1 << 14


def materialize_shared(program: Program) -> Program:
    """The program with `materialize` behind values that are better stored than computed again."""
    stored = _worth_storing(program)
    if not stored:
        return program
    count = len(program.inputs) + len(program.scalars)
    renamed = {number: number for number in range(count)}
    made: list[Instruction] = []
    for instruction in program.instructions:
        operands = tuple(renamed[number] for number in instruction.operands)
        results = range(count, count + len(instruction.results))
        made.append(Instruction(instruction.operation, operands, results, instruction.scope))
        count = results.stop
        for old, new in zip(instruction.results, results, strict=True):
            renamed[old] = new
            if old in stored:
                kept = range(count, count + 1)
                made.append(Instruction(_operation(stored[old]), (new,), kept))
                renamed[old], count = kept.start, kept.stop
    outputs = tuple(renamed[number] for number in program.outputs)
    return Program(program.inputs, program.scalars, tuple(made), outputs)


@functools.cache
def _operation(spec: TensorSpec) -> Operation:
    return Operation(materialize, {}, (spec,), (False,))


def _worth_storing(program: Program) -> dict[int, TensorSpec]:
    """Values to store, with their specs."""
    readers: Counter[int] = Counter()
    read_from_memory: set[int] = set()
    for instruction in program.instructions:
        readers.update(set(instruction.operands))
        if instruction.operation.primitive.facts.get("reads_memory"):
            read_from_memory.update(instruction.operands)
    stored = {}
    for instruction in program.instructions:
        operation = instruction.operation
        if operation.device.type != "cpu" or not _fuses(operation):
            continue
        for number, spec in zip(instruction.results, operation.out_specs, strict=True):
            shared = number in read_from_memory and readers[number] > 1
            if shared and spec.numel >= _LEAST_ELEMENTS:
                stored[number] = spec
    return stored


def _fuses(operation: Operation) -> bool:
    """Whether XLA would fuse the operation into its readers."""
    facts = operation.primitive.facts
    return operation.primitive.elementwise or bool(facts.get("fuses"))
