"""Sparse updates: an optimizer touches only those rows of an embedding that were looked up.

An update whose gradient is that of lookups, or a sum of such gradients, becomes an update of rows:
it reads and writes only these, in place where the table is donated. Rows that were not looked up
keep their values and states, momentum included, which is what "lazy" optimizers do.

Between the lookups and the update a gradient may be

1. cast, or otherwise go through elementwise operations linear in it: so do the gradients
   of the lookups;
2. unscaled and checked for infinities and NaN: only the rows looked up can have any, the others are
   zero;
3. clipped by a norm, to which zeros add nothing.

And the update may be skipped by a gradient scaler: then no rows are written. The dense gradient is
still there, but needed by nobody, and goes with the dead code.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

from oneflow.passes.program_builder import ProgramBuilder, operation_of
from oneflow.primitives.operation import Operation
from oneflow.primitives.operators.elementwise import add, where
from oneflow.primitives.operators.embedding import NO_PADDING, embedding_backward
from oneflow.primitives.operators.gradient_clipping import clip_norm
from oneflow.primitives.operators.optimizer import gradient_of_rows, rows_unless
from oneflow.primitives.operators.unscale import unscale
from oneflow.primitives.registry import Primitive
from oneflow.primitives.sharding.linearity import linear_operands
from oneflow.program.ir import Instruction, Program


class Lookup(NamedTuple):
    """The gradient of a lookup's result, its indices (new numbers), and the padding row."""

    gradient: int
    indices: int
    padding: int


@dataclass
class RowGradient:
    """A gradient that is zero in all rows but some.

    Attributes:
        count: number of rows.
        lookup_list: the lookups whose gradients add up to it.
        rows: number of the rows' indices without repetition; -1 until it is computed.
        values: number of the gradients of these rows; -1 until it is computed.
    """

    count: int
    lookup_list: list[Lookup]
    rows: int = -1
    values: int = -1


def make_updates_sparse(program: Program, tables: Collection[int]) -> Program:
    """Return the program with sparse updates of the inputs in `tables` that are only looked up."""
    builder = _SparseUpdateBuilder(program, tables)
    if not builder.has_updates:
        return program
    for instruction in program.instructions:
        builder.add(instruction)
    return builder.program()


class _SparseUpdateBuilder(ProgramBuilder):
    """One program whose updates are being split."""

    def __init__(self, old: Program, tables: Collection[int]) -> None:
        super().__init__(old)
        self._tables = tables
        self._producer_of = {
            number: instruction
            for instruction in old.instructions
            for number in instruction.results
        }
        self._users: dict[int, list[Instruction]] = defaultdict(list)
        for instruction in old.instructions:
            for number in set(instruction.operands):
                self._users[number].append(instruction)
        self._row_gradients = self._find_row_gradients()
        self._gradients: dict[int, RowGradient] = {}

    @property
    def has_updates(self) -> bool:
        """True if the program has an update of rows."""
        return bool(self._row_gradients)

    # --- the gradients

    def _find_row_gradients(self) -> set[int]:
        """The gradients of rows that updates can use, and the gradients they are computed from."""
        row_gradients: set[int] = set()
        for instruction in self.old.instructions:
            if _update_of_rows(instruction.operation) is not None:
                for operands, _ in _parameters(instruction):
                    sources = self._sources(operands[1]) if operands[0] in self._tables else None
                    row_gradients |= sources or set()
        return row_gradients

    def _sources(self, number: int) -> set[int] | None:
        """A gradient and those it is computed from; None if it is not one of rows."""
        producer = self._producer_of.get(number)
        if producer is None:
            return None
        operation = producer.operation
        if operation.primitive is embedding_backward:
            return None if operation.attributes["by_frequency"] else {number}
        if operation.primitive is add:
            parts = [self._sources(operand) for operand in producer.operands]
        elif _is_of_all(operation):
            # The first result is about all of them, as the first operand is.
            parts = [self._sources(producer.operands[number - producer.results.start])]
        else:
            index = _scaled_operand(producer)
            parts = [None if index is None else self._sources(producer.operands[index])]
        return None if None in parts else {number}.union(*(part or () for part in parts))

    # --- one instruction after the other

    def add(self, instruction: Instruction) -> None:
        """Append an instruction, or its form for gradients of rows."""
        operation, first = instruction.operation, instruction.results.start
        if first in self.new:
            return  # It belongs to an update that may be skipped, and was appended with it.
        if _update_of_rows(operation) is not None:
            self._split(instruction)
        elif _is_of_all(operation) and self._row_gradients.intersection(instruction.results):
            self._apply_to_all(instruction)
        else:
            self.copy(instruction)
            if first in self._row_gradients:
                self._gradients[first] = self._gradient(instruction)

    def _append_copy(self, instruction: Instruction, operands: list[int]) -> range:
        """Append the primitive of an instruction, with its attributes, of other new values."""
        operation = instruction.operation
        specs = tuple(self.specs[number] for number in operands)
        attributes = tuple(operation.attributes.items())
        copied = operation_of(operation.primitive, specs, tuple(operation.is_scalar), attributes)
        return self.append(copied, operands, instruction.scope)

    def _gradient(self, instruction: Instruction) -> RowGradient:
        """The gradient of rows that an instruction computes."""
        operation = instruction.operation
        if operation.primitive is embedding_backward:
            gradient, indices = (self.new[number] for number in instruction.operands)
            padding = operation.attributes["padding"]
            return RowGradient(operation.attributes["rows"], [Lookup(gradient, indices, padding)])
        parts = [self._gradients.get(number) for number in instruction.operands]
        gradients = [part for part in parts if part is not None]
        if operation.primitive is add:
            return RowGradient(
                gradients[0].count, [lookup for part in gradients for lookup in part.lookup_list]
            )
        scaled_list = []
        for lookup in gradients[0].lookup_list:
            operands = [self.new[number] for number in instruction.operands]
            operands[parts.index(gradients[0])] = lookup.gradient
            (scaled,) = self._append_copy(instruction, operands)
            scaled_list.append(lookup._replace(gradient=scaled))
        return RowGradient(gradients[0].count, scaled_list)

    def _rows(self, number: int) -> tuple[int, int]:
        """The rows of a gradient and their values, as new numbers."""
        gradient = self._gradients[number]
        if gradient.rows < 0:
            operands = [operand for lookup in gradient.lookup_list for operand in lookup[:2]]
            paddings = tuple(lookup.padding for lookup in gradient.lookup_list)
            options = {"count": gradient.count, "paddings": paddings}
            scope = self._producer_of[number].scope
            gradient.rows, gradient.values = self.apply(gradient_of_rows, operands, options, scope)
        return gradient.rows, gradient.values

    def _apply_to_all(self, instruction: Instruction) -> None:
        """Unscale gradients of rows, and others, or clip them by their common norm."""
        operands = [self.new[number] for number in instruction.operands]
        indices = [
            index
            for index, result in enumerate(instruction.results)
            if result in self._row_gradients
        ]
        for index in indices:
            operands[index] = self._rows(instruction.operands[index])[1]
        results = self._append_copy(instruction, operands)
        self.new.update(zip(instruction.results, results, strict=True))
        for index in indices:
            before, after = instruction.operands[index], instruction.results[index]
            rows, values = self._rows(before)[0], results[index]
            count = self._gradients[before].count
            lookup_list = [Lookup(values, rows, NO_PADDING)]
            self._gradients[after] = RowGradient(count, lookup_list, rows, values)
            options = {"rows": count, "padding": NO_PADDING, "by_frequency": False}
            (self.new[after],) = self.apply(
                embedding_backward, [values, rows], options, instruction.scope
            )

    # --- updates

    def _split(self, instruction: Instruction) -> None:
        """Append an update: its sparse parameters one by one, the others together."""
        attributes = instruction.operation.attributes
        dense_operands: list[int] = []
        dense_results: list[int] = []
        for operands, results in _parameters(instruction):
            if operands[0] in self._tables and operands[1] in self._gradients:
                self._update_rows(instruction, operands, results)
            else:
                dense_operands += operands
                dense_results += results
        if len(dense_results) == len(instruction.results):
            self.copy(instruction)
        elif dense_results:
            update = instruction.operation.primitive
            operands = [*dense_operands, instruction.operands[-1]]
            self.replace(dense_results, update, operands, attributes, instruction.scope)

    def _update_rows(self, instruction: Instruction, operands: list[int], results: range) -> None:
        """Append the update of one table and its states."""
        operation, scope = instruction.operation, instruction.scope
        rows, values = self._rows(operands[1])
        tables = [operands[0], *operands[2:]]
        choices = self._choices(tables, results)
        if choices:
            skipped = self.new[choices[0].operands[0]]
            count = self._gradients[operands[1]].count
            (rows,) = self.apply(rows_unless, [skipped, rows], {"count": count}, scope)
        numbers = [*[self.new[number] for number in tables], rows, values]
        numbers.append(self.new[instruction.operands[-1]])
        of_rows = _update_of_rows(operation)
        assert of_rows is not None
        updated = self.apply(of_rows, numbers, operation.attributes, scope)
        replaced = [choice.results.start for choice in choices] or results
        self.new.update(zip(replaced, updated, strict=True))

    def _choices(self, tables: list[int], results: range) -> list[Instruction]:
        """The choices between `tables` and the `results` of their update, if it may be skipped."""
        choices = []
        for table, result in zip(tables, results, strict=True):
            users = self._users[result]
            choice = users[0] if len(users) == 1 and result not in self.old.outputs else None
            if choice is None or choice.operation.primitive is not where:
                return []
            condition, old, new = choice.operands
            if (old, new) != (table, result) or condition not in self.new:
                return []
            choices.append(choice)
        conditions = {choice.operands[0] for choice in choices}
        same = len(conditions) == 1 and not self.specs[self.new[conditions.pop()]].shape
        return choices if same else []


def _update_of_rows(operation: Operation) -> Primitive | None:
    """The primitive that applies an optimizer's update to some rows in place of all."""
    update = operation.primitive.traits.update
    return None if update is None else update.of_rows


def _parameters(instruction: Instruction) -> list[tuple[list[int], range]]:
    """Operands and results of each parameter in an update."""
    size = instruction.operation.attributes["states"] + 2
    arrays, results = instruction.operands[:-1], instruction.results
    return [
        (list(arrays[index * size :][:size]), results[index * (size - 1) :][: size - 1])
        for index in range(len(arrays) // size)
    ]


def _is_of_all(operation: Operation) -> bool:
    """Return true if it computes gradients from all of them, and rows of zeros change no others."""
    is_clipping = operation.primitive is clip_norm and operation.attributes["order"] > 0
    return is_clipping or operation.primitive is unscale


def _scaled_operand(instruction: Instruction) -> int | None:
    """The index of the operand that is scaled: elementwise, linear, and the others 0-dim."""
    operation = instruction.operation
    if not operation.primitive.elementwise:
        return None
    arrays = [index for index, spec in enumerate(operation.in_specs) if spec.shape]
    is_scaled = len(arrays) == 1 and frozenset(arrays) in linear_operands(operation)
    return arrays[0] if is_scaled else None
