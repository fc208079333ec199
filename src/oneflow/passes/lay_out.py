"""Laying a program out anew: other signatures of its operations, with the conversions they need."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from oneflow.base.sbp import NdSbp
from oneflow.base.spec import TensorSpec, with_sbp
from oneflow.passes.rewriting import Rewriting
from oneflow.primitives.operation import Operation, Signature
from oneflow.primitives.operators.boxing import boxing
from oneflow.primitives.sharding.signatures import conversion_cost
from oneflow.primitives.traits import Kind
from oneflow.program.ir import Instruction, Program


@dataclass(frozen=True)
class Freedom:
    """What may be changed in a program.

    Attributes:
        variables: inputs that may lie as is best; the others stay as they are.
        updates: by place among the outputs, the input that it replaces, and lies as.
        pinned: results of conversions that stay; all others may be left out.
    """

    variables: Collection[int]
    updates: Mapping[int, int]
    pinned: Collection[int] = ()

    def same_values(self, program: Program) -> dict[int, int]:
        """By result of each conversion that may be left out, the value that it converts."""
        same: dict[int, int] = {}
        for instruction in program.instructions:
            converts = instruction.operation.primitive.traits.kind is Kind.BOXING
            if converts and instruction.results[0] not in self.pinned:
                source = instruction.operands[0]
                same[instruction.results[0]] = same.get(source, source)
        return same


@dataclass(frozen=True)
class Layouts:
    """How everything in a program shall lie.

    Attributes:
        inputs: of variables.
        signatures: of instructions, by their place; others stay as they are.
        values: how a value that several read is converted once, for all of them.
    """

    inputs: Mapping[int, NdSbp]
    signatures: Mapping[int, Signature]
    values: Mapping[int, NdSbp]


def lay_out(program: Program, freedom: Freedom, layouts: Layouts) -> Program:
    """The program with everything as `layouts` says, and results as before."""
    return _Laying(program, freedom, layouts).run()


class _Laying:
    """One program being laid out. Equal operations are the same object."""

    def __init__(self, old: Program, freedom: Freedom, layouts: Layouts) -> None:
        self._old = old
        self._freedom = freedom
        self._layouts = layouts
        inputs = [
            with_sbp(spec, layouts.inputs[number]) if number in layouts.inputs else spec
            for number, spec in enumerate(old.inputs)
        ]
        self._new = Rewriting(replace(old, inputs=tuple(inputs), outputs=()))
        # By number of an old value: its numbers in the new program, by how it lies there.
        self._forms: dict[int, dict[NdSbp, int]] = defaultdict(dict)
        for number, spec in enumerate(self._new.specs):
            self._forms[number][spec.sbp or ()] = number
        self._same = freedom.same_values(old)
        self._settled: dict[tuple, Operation] = {}

    def run(self) -> Program:
        """The program laid out."""
        for place, instruction in enumerate(self._old.instructions):
            if instruction.results[0] not in self._same:
                self._compute(instruction, self._layouts.signatures.get(place))
        table = self._old.spec_table()
        outputs = []
        for place, number in enumerate(self._old.outputs):
            variable = self._freedom.updates.get(place)
            wanted = table[number] if variable is None else self._new.specs[variable]
            outputs.append(self._form(number, wanted, ""))
        return replace(self._new.program(), outputs=tuple(outputs))

    def _compute(self, instruction: Instruction, signature: Signature | None) -> None:
        operation = instruction.operation
        if signature is not None:
            key = (operation, signature.inputs, signature.outputs)
            if key not in self._settled:
                self._settled[key] = operation.with_signature(signature)
            operation = self._settled[key]
        operands = [
            number if is_scalar else self._form(number, spec, instruction.scope)
            for number, spec, is_scalar in zip(
                instruction.operands, operation.in_specs, operation.is_scalar, strict=True
            )
        ]
        made = self._new.append(operation, operands, instruction.scope)
        for old, new, spec in zip(instruction.results, made, operation.out_specs, strict=True):
            self._forms[old][spec.sbp or ()] = new

    def _form(self, number: int, wanted: TensorSpec, scope: str) -> int:
        """A value's number in the form that is wanted."""
        number = self._same.get(number, number)
        forms, sbp = self._forms[number], wanted.sbp or ()
        shared = self._layouts.values.get(number)
        if sbp not in forms and shared is not None and shared not in (sbp, *forms):
            by_way = conversion_cost(with_sbp(wanted, shared), sbp)
            if by_way < min(conversion_cost(with_sbp(wanted, each), sbp) for each in forms):
                self._convert(number, with_sbp(wanted, shared), scope)
        if sbp not in forms:
            self._convert(number, wanted, scope)
        return forms[sbp]

    def _convert(self, number: int, wanted: TensorSpec, scope: str) -> None:
        """Make the form that is wanted of the one from which that costs least."""
        forms, sbp = self._forms[number], wanted.sbp or ()
        source = min(forms, key=lambda each: conversion_cost(with_sbp(wanted, each), sbp))
        attributes = {
            "shape": wanted.shape,
            "hierarchy": wanted.device.hierarchy,
            "source": source,
            "target": sbp,
        }
        (forms[sbp],) = self._new.apply(boxing, [forms[source]], attributes, scope)
