"""Values of a program that are the same in every run: nothing that changes goes into them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from oneflow.primitives.operators.creation import full_float, full_integer
from oneflow.primitives.traits import Kind
from oneflow.program.ir import Instruction, Program

# Values larger than this are not looked at.
_MAX_ELEMENTS = 1 << 26


class ConstantValues:
    """The values of a program that can be computed before it runs.

    Args:
        program: the program.
        numbers: its run-time numbers that are the same in every run, by the number of the value.
    """

    def __init__(self, program: Program, numbers: Mapping[int, Any]) -> None:
        self._numbers = numbers
        self._specs = program.spec_table()
        self._producers = {
            number: instruction
            for instruction in program.instructions
            for number in instruction.results
        }

    def producer(self, number: int) -> Instruction | None:
        """The instruction that a value comes from; None: it is an input."""
        return self._producers.get(number)

    def constant(self, number: int) -> float | None:
        """The number that all elements of a value are; None if it is not known to be one."""
        producer = self._producers.get(number)
        if producer is not None and producer.operation.primitive in (full_float, full_integer):
            scalar = self._numbers.get(producer.operands[0])
        else:
            scalar = self._numbers.get(number)
        if not isinstance(scalar, (int, float)):
            return None
        with np.errstate(over="ignore"):
            return float(np.asarray(scalar).astype(self._specs[number].dtype.numpy))

    def array(self, number: int) -> np.ndarray | None:
        """A value as an array; None if it is not known, or large."""
        arrays: dict[int, Any] = {}
        return np.asarray(arrays[number]) if self._compute(number, arrays) else None

    def _compute(self, number: int, arrays: dict[int, Any]) -> bool:
        """Compute a value and its operands into `arrays`; return whether that is possible."""
        spec = self._specs[number]
        if number in self._numbers:
            arrays[number] = np.asarray(self._numbers[number], spec.dtype.numpy)
        if number in arrays:
            return True
        producer = self._producers.get(number)
        if producer is None or spec.numel > _MAX_ELEMENTS or not _is_pure(producer):
            return False
        if not all(self._compute(operand, arrays) for operand in producer.operands):
            return False
        operation = producer.operation
        results = operation.evaluate_unsharded(*[arrays[n] for n in producer.operands])
        arrays.update(
            zip(producer.results, (results,) if operation.single else results, strict=True)
        )
        return True


def _is_pure(instruction: Instruction) -> bool:
    """Return whether an instruction computes the same wherever and whenever it runs."""
    primitive = instruction.operation.primitive
    return primitive.check is None and primitive.traits.kind is Kind.COMPUTATION
