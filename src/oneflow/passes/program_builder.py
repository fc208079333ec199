"""`ProgramBuilder`: what passes share that add, replace or leave out instructions."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from oneflow.base.placement import Placement
from oneflow.base.spec import TensorSpec
from oneflow.primitives.operation import Operation
from oneflow.primitives.registry import Primitive
from oneflow.primitives.sharding.signatures import choose_signature
from oneflow.program.ir import Instruction, Program


# A program of a large model has some thousands of different operations.
@functools.lru_cache(maxsize=1 << 14)
def operation_of(
    primitive: Primitive,
    specs: tuple[TensorSpec, ...],
    is_scalar: tuple[bool, ...],
    attributes: tuple[tuple[str, Any], ...],
) -> Operation:
    """One operation per combination: making one runs shape inference."""
    operation = Operation(primitive, dict(attributes), specs, is_scalar)
    if isinstance(operation.device, Placement):
        choose_signature(operation)
        if operation.in_specs != specs:
            raise RuntimeError(f"{operation} does not compute with operands sharded as {specs}")
    return operation


class ProgramBuilder:
    """One program being rewritten; values get new numbers.

    Attributes:
        old: the program before.
        specs: spec of every value of the new program.
        new: new number of each old value that exists so far.
    """

    def __init__(self, old: Program) -> None:
        self.old = old
        self.specs: list[TensorSpec] = [*old.inputs, *old.scalars]
        self.new = {number: number for number in range(len(self.specs))}
        self._instructions: list[Instruction] = []

    def program(self) -> Program:
        """Return the rewritten program."""
        old = self.old
        outputs = tuple(self.new[number] for number in old.outputs)
        return Program(old.inputs, old.scalars, tuple(self._instructions), outputs)

    def copy(self, instruction: Instruction) -> None:
        """Append an instruction unchanged."""
        operands = [self.new[number] for number in instruction.operands]
        results = self.append(instruction.operation, operands, instruction.scope)
        self.new.update(zip(instruction.results, results, strict=True))

    def replace(
        self,
        results: Iterable[int],
        primitive: Primitive,
        operands: Sequence[int],
        attributes: Mapping[str, Any] | None = None,
        scope: str = "",
    ) -> None:
        """Append `primitive` of old values; its results take the place of the old `results`."""
        new_numbers = [self.new[number] for number in operands]
        self.new.update(
            zip(results, self.apply(primitive, new_numbers, attributes, scope), strict=True)
        )

    def apply(
        self,
        primitive: Primitive,
        operands: Sequence[int],
        attributes: Mapping[str, Any] | None = None,
        scope: str = "",
    ) -> range:
        """Append `primitive` of new values; returns the numbers of its results."""
        specs = tuple(self.specs[number] for number in operands)
        options = tuple((attributes or {}).items())
        operation = operation_of(primitive, specs, (False,) * len(specs), options)
        return self.append(operation, operands, scope)

    def append(self, operation: Operation, operands: Sequence[int], scope: str) -> range:
        """Append an operation of new values; returns the numbers of its results."""
        first = len(self.specs)
        self.specs += operation.out_specs
        results = range(first, len(self.specs))
        self._instructions.append(Instruction(operation, tuple(operands), results, scope))
        return results
