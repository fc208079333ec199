"""Exchange once: what devices add up over each other is first added up on each device.

Micro batches make a gradient each, of which every device has a part, and conversions bring the
parts together. Conversions are linear: instead of ``box(a) + box(b)`` a program may compute
``box(a + b)``, which sends half as much. So a step exchanges its gradients once, whatever the
number of micro batches is. A conversion of nothing but a conversion goes from the first sharding to
the last at once: gradients of ZeRO 1 are scattered, not brought to all devices and cut then.

The order of the additions alone differs. Values keep their numbers: what was the last of the
converted values is the sum before the conversion, so that each instruction stays in its phase.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import replace

from oneflow.base.dtype import bfloat16, complex64, complex128, float32, float64
from oneflow.base.sbp import PARTIAL_SUM, NdSbp
from oneflow.base.spec import TensorSpec
from oneflow.passes.program_builder import operation_of
from oneflow.primitives.cost.operation_cost import shard_bytes
from oneflow.primitives.operation import Operation
from oneflow.primitives.operators.boxing import boxing
from oneflow.primitives.operators.elementwise import add
from oneflow.primitives.sharding.signatures import conversion_cost
from oneflow.program.ir import Instruction, Program

# Parts of a float16 may have a sum that it holds, and sums on one device that it does not.
_REDUCED_DTYPES = (bfloat16, float32, float64, complex64, complex128)


def exchange_once(program: Program, pinned: Collection[int] = ()) -> Program:
    """Return the program with sums of converted values converted once.

    Args:
        program: a program of any phases and placements.
        pinned: results of conversions that the user asked for.
    """
    merging = _Merging(program, pinned)
    for instruction in program.instructions:
        merging.add(instruction)
    return merging.program()


class _Merging:
    """The instructions, while those at the end of what was read may still change."""

    def __init__(self, program: Program, pinned: Collection[int]) -> None:
        self._program = program
        self._pinned = pinned
        uses = Counter(n for i in program.instructions for n in i.operands)
        uses.update(program.outputs)
        self._readers = uses
        # They are in the order of the new program, by the number of the first result.
        self._instructions: dict[int, Instruction] = {}
        # Values that are others.
        self._same: dict[int, int] = {}

    def program(self) -> Program:
        """Return the rewritten program."""
        old, instructions = self._program, tuple(self._instructions.values())
        if not self._same and instructions == old.instructions:
            return old
        outputs = tuple([self._same.get(number, number) for number in old.outputs])
        return Program(old.inputs, old.scalars, instructions, outputs)

    def add(self, instruction: Instruction) -> None:
        """Append an instruction, merged with earlier ones where possible."""
        operands = tuple([self._same.get(number, number) for number in instruction.operands])
        instruction = replace(instruction, operands=operands)
        primitive = instruction.operation.primitive
        if primitive is add and self._add_before(instruction):
            return
        if primitive is boxing and self._convert_at_once(instruction):
            return
        self._instructions[instruction.results.start] = instruction

    def _conversion(self, number: int) -> Instruction | None:
        """The conversion that makes a value which nothing else reads."""
        instruction = self._instructions.get(number)
        if instruction is None or instruction.operation.primitive is not boxing:
            return None
        return instruction if self._readers[number] == 1 else None

    def _add_before(self, instruction: Instruction) -> bool:
        """Convert the sum of two values instead of both, if that is as good in memory."""
        first, second = map(self._conversion, instruction.operands)
        if first is None or second is None or first is second:
            return False
        conversion = second.operation
        source, (result,) = conversion.in_specs[0], instruction.operation.out_specs
        if (
            first.operation.in_specs != conversion.in_specs
            or conversion.out_specs != (result,)
            or result.dtype not in _REDUCED_DTYPES
            or shard_bytes(source) > shard_bytes(result)
        ):
            return False
        later = max(first.results.start, second.results.start)
        for converted in (first, second):
            del self._instructions[converted.results.start]
        addition = operation_of(add, (source, source), (False, False), ())
        sums = range(later, later + 1)
        operands = (first.operands[0], second.operands[0])
        self._instructions[later] = replace(
            instruction, operation=addition, operands=operands, results=sums
        )
        self._instructions[instruction.results.start] = replace(
            instruction, operation=conversion, operands=(later,)
        )
        return True

    def _convert_at_once(self, instruction: Instruction) -> bool:
        """Let the conversion before this one go where this one goes, if that sends less."""
        first = self._conversion(instruction.operands[0])
        if first is None:
            return False
        source, (between,) = first.operation.in_specs[0], first.operation.out_specs
        (result,) = instruction.operation.out_specs
        if result.device is not source.device:
            return False
        ends = (first.results.start, instruction.results.start)
        if PARTIAL_SUM not in _sbp(source) and any(number in self._pinned for number in ends):
            return False
        if PARTIAL_SUM in _sbp(result):  # what each device has could be told from the parts
            return False
        twice = conversion_cost(source, _sbp(between)) + conversion_cost(between, _sbp(result))
        if conversion_cost(source, _sbp(result)) >= twice:
            return False
        self._instructions[first.results.start] = replace(
            first, operation=_conversion_between(source, result)
        )
        self._same[instruction.results.start] = first.results.start
        self._readers[first.results.start] = self._readers[instruction.results.start]
        return True


def _sbp(spec: TensorSpec) -> NdSbp:
    assert spec.sbp is not None
    return spec.sbp


def _conversion_between(source: TensorSpec, result: TensorSpec) -> Operation:
    options = (
        ("shape", source.shape),
        ("hierarchy", source.device.hierarchy),
        ("source", source.sbp),
        ("target", result.sbp),
    )
    return operation_of(boxing, (source,), (False,), options)
