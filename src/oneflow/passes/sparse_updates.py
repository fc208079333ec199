"""Sparse updates: an optimizer touches only those rows of an embedding that were looked up.

An update whose gradient is that of lookups, or a sum of such gradients, becomes an update of rows:
it reads and writes only these, in place where the table is donated. The dense gradient is then
needed by nobody. Rows that were not looked up keep their values and states, momentum included,
which is what "lazy" optimizers do.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from oneflow.passes.rewriting import Rewriting
from oneflow.primitives.elementwise import add
from oneflow.primitives.embedding import embedding_backward
from oneflow.primitives.registry import Primitive
from oneflow.program.ir import Instruction, Program


class Lookup(NamedTuple):
    """Numbers of the gradient of a lookup's result and of its indices, and the padding row."""

    gradient: int
    indices: int
    padding: int


def update_looked_up_rows(program: Program, tables: Collection[int]) -> Program:
    """The program with sparse updates of those inputs of `tables` that are only looked up."""
    makers = {number: each for each in program.instructions for number in each.results}
    rewriting = _Rewriting(program)
    for instruction in program.instructions:
        of_rows = instruction.operation.primitive.facts.get("of_rows")
        if of_rows is None:
            rewriting.copy(instruction)
        else:
            rewriting.split(instruction, of_rows, tables, makers)
    return rewriting.program()


def lookups_behind(number: int, makers: dict[int, Instruction]) -> list[Lookup] | None:
    """The lookups whose gradients add up to value `number`; None if it is anything else."""
    maker = makers.get(number)
    if maker is None:
        return None
    operation = maker.operation
    if operation.primitive is embedding_backward and not operation.attributes["by_frequency"]:
        gradient, indices = maker.operands
        return [Lookup(gradient, indices, operation.attributes["padding"])]
    if operation.primitive is add:
        parts = [lookups_behind(each, makers) for each in maker.operands]
        if all(part is not None for part in parts):
            return [lookup for part in parts for lookup in part or ()]
    return None


class _Rewriting(Rewriting):
    """One program whose updates are being split."""

    def split(
        self,
        instruction: Instruction,
        of_rows: Primitive,
        tables: Collection[int],
        makers: dict[int, Instruction],
    ) -> None:
        """Append an update: what is sparse in it one by one, the rest together."""
        attributes = instruction.operation.attributes
        states = attributes["states"]
        *arrays, numbers = instruction.operands
        dense_operands: list[int] = []
        dense_results: list[int] = []
        for index, first in enumerate(range(0, len(arrays), states + 2)):
            operands = arrays[first : first + states + 2]
            results = instruction.results[index * (states + 1) : (index + 1) * (states + 1)]
            lookups = lookups_behind(operands[1], makers) if operands[0] in tables else None
            if lookups is None:
                dense_operands += operands
                dense_results += results
                continue
            read = [operands[0], *operands[2:]]
            for lookup in lookups:
                read += [lookup.gradient, lookup.indices]
            paddings = tuple(lookup.padding for lookup in lookups)
            options = {**attributes, "paddings": paddings}
            self.make(of_rows, [*read, numbers], results, options, instruction.scope)
        if len(dense_results) == len(instruction.results):
            self.copy(instruction)
        elif dense_results:
            update = instruction.operation.primitive
            operands = [*dense_operands, numbers]
            self.make(update, operands, dense_results, attributes, instruction.scope)
