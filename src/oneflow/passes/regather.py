"""Regather: a parameter that is split is gathered when it is read, and only then.

The idea of ZeRO 3 (Rajbhandari et al., 2020): a whole parameter lives while a layer needs it in the
forward pass, and again in the backward pass. Compilers would rather gather early, and once for
both. So each all-gather is made to wait for another operand of the first instruction that reads its
result.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping

from oneflow.passes.program_builder import ProgramBuilder
from oneflow.primitives.cost.operation_cost import shard_bytes
from oneflow.primitives.operators.materialize import optimization_barrier
from oneflow.primitives.traits import Kind
from oneflow.program.ir import Instruction, Program

# The phase of instructions that an earlier pass has added.
_ADDED = object()


def regather(
    program: Program, parameters: Collection[int], phases: Mapping[int, Hashable]
) -> Program:
    """Return the program with parameters gathered once in every phase that reads them.

    Args:
        program: a program on one placement.
        parameters: inputs that may be split.
        phases: phase of each captured instruction, by the number of its first result.
    """
    if not any(_is_gather(instruction, parameters) for instruction in program.instructions):
        return program
    return _RegatherBuilder(program, parameters, phases).run()


class _RegatherBuilder:
    """One program being rewritten."""

    def __init__(
        self, program: Program, parameters: Collection[int], phases: Mapping[int, Hashable]
    ) -> None:
        self._program = program
        self._phases = phases
        self._builder = ProgramBuilder(program)
        # The phase in which a gather was done last, and the new number of its result, by the gather
        # and its operands.
        self._gathered: dict[tuple, tuple[Hashable, int]] = {}
        self._gathers = {
            instruction.results[0]: instruction
            for instruction in program.instructions
            if _is_gather(instruction, parameters)
        }
        self._phase_of_value = {
            number: phases.get(instruction.results.start, _ADDED)
            for instruction in program.instructions
            for number in instruction.results
            if number not in self._gathers
        }

    def run(self) -> Program:
        """Return the rewritten program."""
        builder = self._builder
        for instruction in self._program.instructions:
            if instruction.results[0] in self._gathers:
                continue
            for number in instruction.operands:
                if number in self._gathers:
                    self._gather(number, instruction)
            builder.copy(instruction)
        for number in self._program.outputs:
            if number in self._gathers and number not in builder.new:
                builder.copy(self._gathers[number])
        return builder.program()

    def _gather(self, number: int, reader: Instruction) -> None:
        """Give a reader a gathered parameter: its phase's, or a new one."""
        gather, builder = self._gathers[number], self._builder
        phase = self._phases.get(reader.results.start, _ADDED)
        key = (gather.operation, gather.operands)
        last, gathered = self._gathered.get(key, (None, -1))
        anchor = next((n for n in reader.operands if self._phase_of_value.get(n) == phase), None)
        if last == phase or (gathered >= 0 and anchor is None):
            builder.new[number] = gathered
            return
        shard = builder.new[gather.operands[0]]
        if anchor is not None:
            shard, builder.new[anchor] = builder.apply(
                optimization_barrier, [shard, builder.new[anchor]], scope=reader.scope
            )
        (builder.new[number],) = builder.append(gather.operation, [shard], reader.scope)
        self._gathered[key] = (phase, builder.new[number])


def _is_gather(instruction: Instruction, parameters: Collection[int]) -> bool:
    operation = instruction.operation
    return (
        operation.primitive.traits.kind is Kind.BOXING
        and instruction.operands[0] in parameters
        and shard_bytes(operation.out_specs[0]) > shard_bytes(operation.in_specs[0])
    )
