"""Programs: plain immutable records.

Values are numbered: inputs first (arrays, then scalars), then the outputs of each instruction in
order.

    Program(inputs=(f32[2,3], f32[3]), scalars=1, instructions=(...), outputs=(4,))
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from oneflow.base.spec import TensorSpec
from oneflow.primitives.operation import Operation


@dataclass(frozen=True, slots=True)
class Instruction:
    """One operation applied to earlier values.

    Attributes:
        operation: primitive, attributes, specs.
        operands: numbers of the values it reads.
        results: numbers of the values it produces, consecutive.
        scope: path of its module, such as ``"encoder.layer1"``; empty in eager code.
    """

    operation: Operation
    operands: tuple[int, ...]
    results: range
    scope: str = ""


@dataclass(frozen=True, slots=True)
class Program:
    """A straight-line program.

    Attributes:
        inputs: specs of the array inputs.
        scalars: specs of the run-time numbers.
        instructions: the instructions in execution order.
        outputs: numbers of the values it returns.
    """

    inputs: tuple[TensorSpec, ...]
    scalars: tuple[TensorSpec, ...]
    instructions: tuple[Instruction, ...]
    outputs: tuple[int, ...]

    def spec_table(self) -> dict[int, TensorSpec]:
        """Spec of every value, by number."""
        table = dict(enumerate((*self.inputs, *self.scalars)))
        for instruction in self.instructions:
            table.update(zip(instruction.results, instruction.operation.out_specs, strict=True))
        return table

    @property
    def devices(self) -> set[Any]:
        """The devices, or placements, that its values are on."""
        return {spec.device for spec in self.spec_table().values()}

    @property
    def checks(self) -> tuple[Instruction, ...]:
        """Instructions with a run-time check, in order."""
        return tuple(i for i in self.instructions if i.operation.needs_check)


def iterate_key(key: Sequence[Any]) -> Iterator[tuple[Operation, Sequence[Any]]]:
    """The `(operation, operand references)` pairs of a recorder's key."""
    position, end = 0, len(key)
    while position < end:
        operation = key[position]
        stop = position + 1 + len(operation.in_specs)
        yield operation, key[position + 1 : stop]
        position = stop


def program_from_key(
    key: Sequence[Any], alive: Sequence[int], unused: Mapping[int, TensorSpec] | None = None
) -> Program:
    """Return the program of a recorder's key, with the references in `alive` as outputs.

    Args:
        key: the recorder's key.
        alive: positions of outputs, or references (< 0) to inputs.
        unused: specs of inputs by their place; needed only of those that are not used.
    """
    pairs = list(iterate_key(key))
    inputs: dict[int, TensorSpec] = dict(unused or {})
    scalars: list[TensorSpec] = []
    for operation, references in pairs:
        for reference, spec in zip(references, operation.in_specs, strict=True):
            if reference is None:
                scalars.append(spec)
            elif reference < 0:
                inputs[~reference] = spec
    first_scalar = len(inputs)
    first_result = first_scalar + len(scalars)
    instructions, next_scalar, next_result = [], first_scalar, first_result
    for operation, references in pairs:
        operands = []
        for reference in references:
            if reference is None:
                operands.append(next_scalar)
                next_scalar += 1
            else:
                operands.append(~reference if reference < 0 else first_result + reference)
        results = range(next_result, next_result + operation.count)
        next_result = results.stop
        instructions.append(Instruction(operation, tuple(operands), results))
    ordered = tuple(inputs[index] for index in range(first_scalar))
    outputs = tuple(first_result + p if p >= 0 else ~p for p in alive)
    return Program(ordered, tuple(scalars), tuple(instructions), outputs)


def number_of(reference: int, program: Program) -> int:
    """The number, in a program, of the value that a reference in a recorder's key names."""
    first = len(program.inputs) + len(program.scalars)
    return first + reference if reference >= 0 else ~reference


def replacements(program: Program) -> Iterator[tuple[Operation, int, int]]:
    """Operations that replace values: with the numbers of the old value and of the new one."""
    for instruction in program.instructions:
        operation = instruction.operation
        update = operation.primitive.traits.update
        for operand, result in update.replaced(operation) if update is not None else ():
            yield operation, instruction.operands[operand], instruction.results[result]


def checks_before(program: Program) -> dict[int, int]:
    """The number of run-time checks before each result, that of its own instruction included."""
    counts: dict[int, int] = {}
    count = 0
    for instruction in program.instructions:
        count += instruction.operation.needs_check
        counts.update(dict.fromkeys(instruction.results, count))
    return counts
