"""How much memory a program takes on each device, by a model of what XLA keeps.

Arrays live from the instruction that makes them to the last one that reads them. What XLA fuses
into its readers takes no memory: what it is computed from lives as long instead. All-reduces among
the same devices are done at once, when the last of them can be; conversions that leave less than
they take are done as soon as they can be.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace

from oneflow.base.spec import TensorSpec
from oneflow.primitives.cost.work import held_bytes, work_of
from oneflow.primitives.sharding.collectives import collectives_of
from oneflow.program.ir import Instruction, Program


@dataclass(frozen=True)
class Memory:
    """Bytes on each device.

    Attributes:
        arguments: what the program is given.
        outputs: what it returns in memory of its own, beside what is written over arguments.
        temporary: the most that it needs besides, at one time.
    """

    arguments: int
    outputs: int
    temporary: int

    @property
    def peak(self) -> int:
        """The most memory in use at one time."""
        return self.arguments + self.outputs + self.temporary


def memory_of(program: Program, donated: Iterable[int]) -> Memory:
    """The memory of a program.

    Args:
        program: what runs.
        donated: inputs whose memory results may take.
    """
    program = _with_early_scatters(program)
    table = program.spec_table()
    arguments = sum(map(held_bytes, program.inputs))
    free = sorted(held_bytes(program.inputs[place]) for place in donated)
    outputs = 0
    for number in dict.fromkeys(program.outputs):
        size = held_bytes(table[number])
        if size in free:
            free.remove(size)
        else:
            outputs += size
    return Memory(arguments, outputs, _Liveness(program, table).most())


def _with_early_scatters(program: Program) -> Program:
    """The program with each conversion that leaves less behind what makes its operand."""
    moved: dict[int, list[Instruction]] = defaultdict(list)
    rest = []
    first = len(program.inputs) + len(program.scalars)
    for instruction in program.instructions:
        operation = instruction.operation
        before, after = operation.in_specs[:1], operation.out_specs[0]
        if (
            collectives_of(operation)
            and held_bytes(after) < held_bytes(before[0])
            and instruction.operands[0] >= first
        ):
            moved[instruction.operands[0]].append(instruction)
        else:
            rest.append(instruction)
    ordered: list[Instruction] = []
    pending = rest[::-1]
    while pending:
        instruction = pending.pop()
        ordered.append(instruction)
        for number in reversed(instruction.results):
            pending += moved.pop(number, ())
    return replace(program, instructions=tuple(ordered))


class _Liveness:
    """What is stored when."""

    def __init__(self, program: Program, table: dict[int, TensorSpec]) -> None:
        self._program = program
        self._table = table
        self._given = len(program.inputs) + len(program.scalars)
        self._kept = set(program.outputs)
        self._delays = _delays(program)
        self._roots = self._stored()

    def _stored(self) -> dict[int, tuple[int, ...]]:
        """For each value the stored ones it is read from: itself, or those it is made of."""
        needed = self._needed_in_memory()
        roots: dict[int, tuple[int, ...]] = {number: (number,) for number in range(self._given)}
        for instruction in self._program.instructions:
            work = work_of(instruction.operation)
            sources = dict.fromkeys(root for each in instruction.operands for root in roots[each])
            for number in instruction.results:
                fused = work.relays or (work.fuses and number not in needed)
                roots[number] = tuple(sources) if fused else (number,)
        return roots

    def _needed_in_memory(self) -> set[int]:
        """Values that some reader does not compute itself; those behind views too."""
        needed = set(self._kept)
        for instruction in reversed(self._program.instructions):
            work = work_of(instruction.operation)
            views = work.relays and not needed.isdisjoint(instruction.results)
            if views or not (work.fuses or work.relays):
                needed.update(instruction.operands)
        return needed

    def most(self) -> int:
        """The most bytes stored at one time, beside what is given and returned."""
        born, last = self._changes()
        live = most = 0
        dying: dict[int, int] = defaultdict(int)
        for place, instruction in enumerate(self._program.instructions):
            for number in born[place]:
                if number in last:
                    size = held_bytes(self._table[number])
                    live += size
                    dying[last[number]] += size
            most = max(most, live + work_of(instruction.operation).temporary)
            live -= dying[place]
        return most

    def _changes(self) -> tuple[dict[int, list[int]], dict[int, int]]:
        """The values that are stored from each place on, and the last place that reads each."""
        born: dict[int, list[int]] = defaultdict(list)
        last: dict[int, int] = {}
        for place, instruction in enumerate(self._program.instructions):
            end = self._delays.get(place, place)
            for operand in instruction.operands:
                for root in self._roots[operand]:
                    last[root] = max(last.get(root, 0), end)
            born[end] += [number for number in instruction.results if self._is_temporary(number)]
        return born, last

    def _is_temporary(self, number: int) -> bool:
        return number not in self._kept and self._roots[number] == (number,)


def _delays(program: Program) -> dict[int, int]:
    """Places of all-reduces, and the place at which they are done together."""
    groups: list[list[int]] = []
    open_groups: dict[tuple, tuple[list[int], set[int]]] = {}
    for place, instruction in enumerate(program.instructions):
        for _, dependent in open_groups.values():
            if not dependent.isdisjoint(instruction.operands):
                dependent.update(instruction.results)
        key = _kind_of_sum(instruction)
        if key is None:
            continue
        group, dependent = open_groups.get(key, ([], set()))
        if not dependent.isdisjoint(instruction.operands):
            group, dependent = [], set()
        if not group:
            groups.append(group)
        group.append(place)
        dependent.update(instruction.results)
        open_groups[key] = (group, dependent)
    return {place: group[-1] for group in groups for place in group}


def _kind_of_sum(instruction: Instruction) -> tuple | None:
    """Which devices an all-reduce is among, and its dtype; None of anything else."""
    found = collectives_of(instruction.operation)
    if len(found) != 1 or found[0].kind != "all-reduce":
        return None
    return (found[0].axes, instruction.operation.in_specs[0].dtype)
