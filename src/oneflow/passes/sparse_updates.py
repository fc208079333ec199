"""Sparse updates: an optimizer touches only those rows of an embedding that were looked up.

An update whose gradient is that of lookups, or a sum of such gradients, becomes an update of rows:
it reads and writes only these, in place where the table is donated. Rows that were not looked up
keep their values and states, momentum included, which is what "lazy" optimizers do.

Between the lookups and the update a gradient may be

1. unscaled, cast, or otherwise go through elementwise operations linear in it: so do the gradients
   of the lookups;
2. asked whether it is finite: that depends on the rows looked up alone, as zeros are;
3. clipped by a norm, to which zeros add nothing.

And the update may be skipped by a gradient scaler: then no rows are written. The dense gradient is
still there, but needed by nobody, and goes with the dead code.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

from oneflow.passes.rewriting import Rewriting, operation_of
from oneflow.primitives.operation import Operation
from oneflow.primitives.operators.elementwise import add, isfinite, where
from oneflow.primitives.operators.embedding import NO_PADDING, embedding_backward
from oneflow.primitives.operators.gradient_clipping import clip_norm
from oneflow.primitives.operators.optimizer import gradient_of_rows, rows_unless
from oneflow.primitives.operators.reduce import all_true
from oneflow.primitives.registry import Primitive
from oneflow.primitives.sharding.linearity import linear_operands
from oneflow.program.ir import Instruction, Program


class Lookup(NamedTuple):
    """Gradient of a lookup's result, its indices (new numbers), and the padding row."""

    gradient: int
    indices: int
    padding: int


@dataclass
class RowGradient:
    """A gradient that is zero in all rows but some.

    Attributes:
        count: how many rows there are.
        lookups: whose gradients add up to it.
        rows: number of the rows' indices without repetition, once they are known.
        values: number of the gradients of these.
    """

    count: int
    lookups: list[Lookup]
    rows: int = -1
    values: int = -1


def update_looked_up_rows(program: Program, tables: Collection[int]) -> Program:
    """The program with sparse updates of those inputs of `tables` that are only looked up."""
    rewriting = _Rewriting(program, tables)
    for instruction in program.instructions:
        rewriting.add(instruction)
    return rewriting.program()


class _Rewriting(Rewriting):
    """One program whose updates are being split."""

    def __init__(self, old: Program, tables: Collection[int]) -> None:
        super().__init__(old)
        self._tables = tables
        self._makers = {number: each for each in old.instructions for number in each.results}
        self._readers: dict[int, list[Instruction]] = defaultdict(list)
        for each in old.instructions:
            for number in set(each.operands):
                self._readers[number].append(each)
        self._wanted = self._find_wanted()
        self._gradients: dict[int, RowGradient] = {}
        self._finite: dict[int, int] = {}

    # --- which gradients

    def _find_wanted(self) -> set[int]:
        """The gradients of rows that updates can use, and what these are made of."""
        wanted: set[int] = set()
        for instruction in self.old.instructions:
            if _update_of_rows(instruction.operation) is not None:
                for operands, _ in _parameters(instruction):
                    sources = self._sources(operands[1]) if operands[0] in self._tables else None
                    wanted |= sources or set()
        return wanted

    def _sources(self, number: int) -> set[int] | None:
        """A gradient and those it is made of; None if it is not one of rows."""
        maker = self._makers.get(number)
        if maker is None:
            return None
        operation = maker.operation
        if operation.primitive is embedding_backward:
            return None if operation.attributes["by_frequency"] else {number}
        if operation.primitive is add:
            parts = [self._sources(each) for each in maker.operands]
        elif operation.primitive is clip_norm and operation.attributes["order"] > 0:
            # The norm is the first result and the limit the first operand.
            parts = [self._sources(maker.operands[number - maker.results.start])]
        else:
            place = _scaled_operand(maker)
            parts = [None if place is None else self._sources(maker.operands[place])]
        return None if None in parts else {number}.union(*(part or () for part in parts))

    # --- one instruction after the other

    def add(self, instruction: Instruction) -> None:
        """Append an instruction, and what it is for gradients of rows."""
        operation, first = instruction.operation, instruction.results.start
        if first in self.new:
            return  # The skipped update of a table did this.
        if _update_of_rows(operation) is not None:
            self._split(instruction)
        elif operation.primitive is clip_norm and self._wanted.intersection(instruction.results):
            self._clip(instruction)
        elif _reduces_rows(instruction) and instruction.operands[0] in self._finite:
            (self.new[first],) = self._again(instruction, [self._finite[instruction.operands[0]]])
        else:
            self.copy(instruction)
            if first in self._wanted:
                self._gradients[first] = self._gradient(instruction)
            elif operation.primitive is isfinite and instruction.operands[0] in self._gradients:
                _, values = self._rows(instruction.operands[0])
                (self._finite[first],) = self._again(instruction, [values])

    def _make(self, primitive: Primitive, operands: list[int], options: dict, scope: str) -> range:
        """Append `primitive` of new values."""
        specs = tuple(self.specs[number] for number in operands)
        is_scalar = (False,) * len(operands)
        operation = operation_of(primitive, specs, is_scalar, tuple(options.items()))
        return self.append(operation, operands, scope)

    def _again(self, instruction: Instruction, operands: list[int]) -> range:
        """Append the same of other new values."""
        operation = instruction.operation
        specs = tuple(self.specs[number] for number in operands)
        attributes = tuple(operation.attributes.items())
        made = operation_of(operation.primitive, specs, tuple(operation.is_scalar), attributes)
        return self.append(made, operands, instruction.scope)

    def _gradient(self, instruction: Instruction) -> RowGradient:
        """The gradient of rows that an instruction makes."""
        operation = instruction.operation
        if operation.primitive is embedding_backward:
            gradient, indices = (self.new[number] for number in instruction.operands)
            padding = operation.attributes["padding"]
            return RowGradient(operation.attributes["rows"], [Lookup(gradient, indices, padding)])
        parts = [self._gradients.get(number) for number in instruction.operands]
        known = [part for part in parts if part is not None]
        if operation.primitive is add:
            return RowGradient(known[0].count, [each for part in known for each in part.lookups])
        lookups = []
        for lookup in known[0].lookups:
            operands = [self.new[number] for number in instruction.operands]
            operands[parts.index(known[0])] = lookup.gradient
            (scaled,) = self._again(instruction, operands)
            lookups.append(lookup._replace(gradient=scaled))
        return RowGradient(known[0].count, lookups)

    def _rows(self, number: int) -> tuple[int, int]:
        """The rows of a gradient and their values, new numbers."""
        gradient = self._gradients[number]
        if gradient.rows < 0:
            operands = [each for lookup in gradient.lookups for each in lookup[:2]]
            paddings = tuple(lookup.padding for lookup in gradient.lookups)
            options = {"count": gradient.count, "paddings": paddings}
            scope = self._makers[number].scope
            gradient.rows, gradient.values = self._make(gradient_of_rows, operands, options, scope)
        return gradient.rows, gradient.values

    def _clip(self, instruction: Instruction) -> None:
        """Clip gradients of rows, and others, by their common norm."""
        operands = [self.new[number] for number in instruction.operands]
        wanted = [each in self._wanted for each in instruction.results]
        clipped = [place for place, is_wanted in enumerate(wanted) if is_wanted]
        for place in clipped:
            operands[place] = self._rows(instruction.operands[place])[1]
        results = self._again(instruction, operands)
        self.new.update(zip(instruction.results, results, strict=True))
        for place in clipped:
            before, after = instruction.operands[place], instruction.results[place]
            rows, values = self._rows(before)[0], results[place]
            count = self._gradients[before].count
            lookups = [Lookup(values, rows, NO_PADDING)]
            self._gradients[after] = RowGradient(count, lookups, rows, values)
            options = {"rows": count, "padding": NO_PADDING, "by_frequency": False}
            (self.new[after],) = self._make(
                embedding_backward, [values, rows], options, instruction.scope
            )

    # --- updates

    def _split(self, instruction: Instruction) -> None:
        """Append an update: what is sparse in it one by one, the rest together."""
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
            self.make(update, operands, dense_results, attributes, instruction.scope)

    def _update_rows(self, instruction: Instruction, operands: list[int], results: range) -> None:
        """Append the update of one table and its states."""
        operation, scope = instruction.operation, instruction.scope
        rows, values = self._rows(operands[1])
        tables = [operands[0], *operands[2:]]
        choices = self._choices(tables, results)
        if choices:
            skipped = self.new[choices[0].operands[0]]
            count = self._gradients[operands[1]].count
            (rows,) = self._make(rows_unless, [skipped, rows], {"count": count}, scope)
        read = [*[self.new[number] for number in tables], rows, values]
        read.append(self.new[instruction.operands[-1]])
        of_rows = _update_of_rows(operation)
        assert of_rows is not None
        made = self._make(of_rows, read, operation.attributes, scope)
        chosen = [each.results.start for each in choices] or results
        self.new.update(zip(chosen, made, strict=True))

    def _choices(self, tables: list[int], results: range) -> list[Instruction]:
        """What chooses between `tables` and the `results` of their update if it may be skipped."""
        choices = []
        for table, result in zip(tables, results, strict=True):
            readers = self._readers[result]
            choice = readers[0] if len(readers) == 1 and result not in self.old.outputs else None
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
    """The primitive that does to some rows what an optimizer's update does to all."""
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


def _reduces_rows(instruction: Instruction) -> bool:
    """Whether it asks if something holds for all rows."""
    operation = instruction.operation
    dims = operation.attributes.get("dims")
    return operation.primitive is all_true and (dims is None or 0 in dims)


def _scaled_operand(instruction: Instruction) -> int | None:
    """Place of the operand that is scaled, if it is elementwise, linear, and the rest 0-dim."""
    operation = instruction.operation
    if not operation.primitive.elementwise:
        return None
    arrays = [place for place, spec in enumerate(operation.in_specs) if spec.shape]
    alone = len(arrays) == 1 and frozenset(arrays) in linear_operands(operation)
    return arrays[0] if alone else None
