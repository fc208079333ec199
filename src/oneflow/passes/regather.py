"""Regather: a parameter that lies split is brought together when it is needed, and only then.

What ZeRO 3 is about (Rajbhandari et al., 2020): a whole parameter lives while a layer needs it in
the forward pass, and again in the backward pass. Compilers would rather gather early, and once for
both. So each gathering is made to wait for another operand of the first who reads the result.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence

from oneflow.passes.rewriting import Rewriting
from oneflow.primitives.cost.work import held_bytes
from oneflow.primitives.operators.materialize import together
from oneflow.primitives.traits import Kind
from oneflow.program.ir import Instruction, Program


def regather(program: Program, parameters: Collection[int], turns: Sequence[Hashable]) -> Program:
    """The program with parameters brought together once in every turn that reads them.

    Args:
        program: on one placement.
        parameters: inputs that may lie split.
        turns: per instruction, the part of the step it belongs to.
    """
    return _Regathering(program, parameters, turns).run()


class _Regathering:
    """One program being rewritten."""

    def __init__(
        self, program: Program, parameters: Collection[int], turns: Sequence[Hashable]
    ) -> None:
        self._program = program
        self._turns = turns
        self._rewriting = Rewriting(program)
        # By what it gathers: the turn for which that was done last, and the result's new number.
        self._gathered: dict[tuple, tuple[Hashable, int]] = {}
        self._gathers = {
            each.results[0]: each for each in program.instructions if _gathers(each, parameters)
        }
        self._made_in = {
            number: turn
            for turn, each in zip(turns, program.instructions, strict=True)
            for number in each.results
            if number not in self._gathers
        }

    def run(self) -> Program:
        """The program rewritten."""
        rewriting = self._rewriting
        for turn, instruction in zip(self._turns, self._program.instructions, strict=True):
            if instruction.results[0] in self._gathers:
                continue
            for number in instruction.operands:
                if number in self._gathers:
                    self._gather(number, turn, instruction)
            rewriting.copy(instruction)
        for number in self._program.outputs:
            if number in self._gathers and number not in rewriting.new:
                rewriting.copy(self._gathers[number])
        return rewriting.program()

    def _gather(self, number: int, turn: Hashable, reader: Instruction) -> None:
        """See that a gathered parameter is there for a reader in this turn."""
        gather, rewriting = self._gathers[number], self._rewriting
        key = (gather.operation, gather.operands)
        last, known = self._gathered.get(key, (None, -1))
        anchor = next((each for each in reader.operands if self._made_in.get(each) == turn), None)
        if last == turn or (known >= 0 and anchor is None):
            rewriting.new[number] = known
            return
        part = rewriting.new[gather.operands[0]]
        if anchor is not None:
            part, rewriting.new[anchor] = rewriting.apply(
                together, [part, rewriting.new[anchor]], scope=reader.scope
            )
        (rewriting.new[number],) = rewriting.append(gather.operation, [part], reader.scope)
        self._gathered[key] = (turn, rewriting.new[number])


def _gathers(instruction: Instruction, parameters: Collection[int]) -> bool:
    operation = instruction.operation
    return (
        operation.primitive.traits.kind is Kind.BOXING
        and instruction.operands[0] in parameters
        and held_bytes(operation.out_specs[0]) > held_bytes(operation.in_specs[0])
    )
