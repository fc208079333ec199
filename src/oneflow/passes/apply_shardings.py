"""Give a program other shardings: other signatures of its operations, and the conversions needed.

`auto_sharding` chooses the shardings.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from oneflow.base.sbp import NdSbp
from oneflow.base.spec import TensorSpec, with_sbp
from oneflow.passes.program_builder import ProgramBuilder
from oneflow.primitives.operation import Operation, Signature
from oneflow.primitives.operators.boxing import boxing
from oneflow.primitives.sharding.signatures import conversion_cost
from oneflow.primitives.traits import Kind
from oneflow.program.ir import Instruction, Program


@dataclass(frozen=True)
class ShardingConstraints:
    """Limits on the shardings that a program may get.

    Attributes:
        variables: inputs whose sharding may change; the others keep theirs.
        updates: by index of an output, the input that it replaces, and whose sharding it gets.
        pinned: results of conversions that stay; all others may be left out.
    """

    variables: Collection[int]
    updates: Mapping[int, int]
    pinned: Collection[int] = ()

    def converted_values(self, program: Program) -> dict[int, int]:
        """Map the result of each conversion that may be left out to the value that it converts."""
        sources: dict[int, int] = {}
        for instruction in program.instructions:
            is_conversion = instruction.operation.primitive.traits.kind is Kind.BOXING
            if is_conversion and instruction.results[0] not in self.pinned:
                source = instruction.operands[0]
                sources[instruction.results[0]] = sources.get(source, source)
        return sources


@dataclass(frozen=True)
class ShardingAssignment:
    """The shardings that everything in a program shall get.

    Attributes:
        inputs: SBP of variables, by number.
        signatures: signatures of instructions, by index; others keep theirs.
        values: SBP to which a value that several instructions read is converted once for all.
    """

    inputs: Mapping[int, NdSbp]
    signatures: Mapping[int, Signature]
    values: Mapping[int, NdSbp]


def apply_shardings(
    program: Program, constraints: ShardingConstraints, assignment: ShardingAssignment
) -> Program:
    """Return the program with the shardings of `assignment`; its results are the same.

    Values keep their numbers, so that each instruction stays in its phase.
    """
    return _ShardingBuilder(program, constraints, assignment).run()


class _ShardingBuilder:
    """One program that gets other shardings. Equal operations are the same object."""

    def __init__(
        self, old: Program, constraints: ShardingConstraints, assignment: ShardingAssignment
    ) -> None:
        self._old = old
        self._constraints = constraints
        self._assignment = assignment
        inputs = [
            with_sbp(spec, assignment.inputs[number]) if number in assignment.inputs else spec
            for number, spec in enumerate(old.inputs)
        ]
        self._new = ProgramBuilder(replace(old, inputs=tuple(inputs), outputs=()))
        # The numbers of an old value in the new program, by its number and the SBP.
        self._versions: dict[int, dict[NdSbp, int]] = defaultdict(dict)
        for number, spec in enumerate(self._new.specs):
            self._versions[number][spec.sbp or ()] = number
        self._sources = constraints.converted_values(old)
        self._operations: dict[tuple, Operation] = {}
        # The old numbers of values, by the new ones; conversions have none.
        self._old_numbers: dict[int, int] = {}

    def run(self) -> Program:
        """Return the new program."""
        for index, instruction in enumerate(self._old.instructions):
            if instruction.results[0] not in self._sources:
                self._compute(instruction, self._assignment.signatures.get(index))
        table = self._old.spec_table()
        outputs = []
        for index, number in enumerate(self._old.outputs):
            variable = self._constraints.updates.get(index)
            spec = table[number] if variable is None else self._new.specs[variable]
            outputs.append(self._version(number, spec, ""))
        return self._with_old_numbers(replace(self._new.program(), outputs=tuple(outputs)))

    def _with_old_numbers(self, program: Program) -> Program:
        """The new program with the old numbers of values, and others for conversions."""
        first = max(self._old.spec_table(), default=-1) + 1
        converted = [
            number
            for instruction in program.instructions
            for number in instruction.results
            if number not in self._old_numbers
        ]
        numbers = self._old_numbers | {number: first + i for i, number in enumerate(converted)}
        instructions = []
        for instruction in program.instructions:
            operands = tuple([numbers.get(number, number) for number in instruction.operands])
            start = numbers[instruction.results.start]
            results = range(start, start + len(instruction.results))
            instructions.append(replace(instruction, operands=operands, results=results))
        outputs = tuple([numbers.get(number, number) for number in program.outputs])
        return replace(program, instructions=tuple(instructions), outputs=outputs)

    def _compute(self, instruction: Instruction, signature: Signature | None) -> None:
        operation = instruction.operation
        if signature is not None:
            key = (operation, signature.inputs, signature.outputs)
            if key not in self._operations:
                self._operations[key] = operation.with_signature(signature)
            operation = self._operations[key]
        operands = [
            number if is_scalar else self._version(number, spec, instruction.scope)
            for number, spec, is_scalar in zip(
                instruction.operands, operation.in_specs, operation.is_scalar, strict=True
            )
        ]
        results = self._new.append(operation, operands, instruction.scope)
        for old, new, spec in zip(instruction.results, results, operation.out_specs, strict=True):
            self._versions[old][spec.sbp or ()] = new
            self._old_numbers[new] = old

    def _version(self, number: int, target: TensorSpec, scope: str) -> int:
        """The new number of a value with the sharding of `target`."""
        number = self._sources.get(number, number)
        versions, sbp = self._versions[number], target.sbp or ()
        shared = self._assignment.values.get(number)
        if sbp not in versions and shared is not None and shared not in (sbp, *versions):
            indirect = conversion_cost(with_sbp(target, shared), sbp)
            direct = min(conversion_cost(with_sbp(target, version), sbp) for version in versions)
            if indirect < direct:
                self._convert(number, with_sbp(target, shared), scope)
        if sbp not in versions:
            self._convert(number, target, scope)
        return versions[sbp]

    def _convert(self, number: int, target: TensorSpec, scope: str) -> None:
        """Convert the version of a value from which that costs least."""
        versions, sbp = self._versions[number], target.sbp or ()
        source = min(versions, key=lambda version: conversion_cost(with_sbp(target, version), sbp))
        attributes = {
            "shape": target.shape,
            "hierarchy": target.device.hierarchy,
            "source": source,
            "target": sbp,
        }
        (versions[sbp],) = self._new.apply(boxing, [versions[source]], attributes, scope)
