"""The memory of a program on each device, by a model of the buffers that XLA keeps.

Arrays are live from the instruction that produces them to the last one that reads them. Values that
XLA fuses into their readers take no memory: their operands live as long instead. All-reduces among
the same devices are combined, and run when the last of them can; conversions whose results are
smaller than their operands run as soon as they can.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace

from oneflow.base.spec import TensorSpec
from oneflow.primitives.cost.operation_cost import operation_cost, shard_bytes
from oneflow.primitives.sharding.collectives import collectives_of
from oneflow.program.ir import Instruction, Program


@dataclass(frozen=True)
class Memory:
    """Bytes on each device.

    Attributes:
        arguments: the arguments of the program.
        outputs: its results, except those that are written over arguments.
        temporary: the most that it needs besides at one time.
    """

    arguments: int
    outputs: int
    temporary: int

    @property
    def peak(self) -> int:
        """The most memory in use at one time."""
        return self.arguments + self.outputs + self.temporary


def memory_of(program: Program, donated: Iterable[int]) -> Memory:
    """Return the memory of a program.

    Args:
        program: the program.
        donated: inputs whose memory results may reuse.
    """
    program = _with_early_reductions(program)
    table = program.spec_table()
    arguments = sum(map(shard_bytes, program.inputs))
    free = sorted(shard_bytes(program.inputs[position]) for position in donated)
    outputs = 0
    for number in dict.fromkeys(program.outputs):
        size = shard_bytes(table[number])
        if size in free:
            free.remove(size)
        else:
            outputs += size
    return Memory(arguments, outputs, _Liveness(program, table).peak())


def live_at_peak(program: Program) -> list[tuple[Instruction, TensorSpec]]:
    """The values stored when most is, besides arguments and results: each with its instruction."""
    program = _with_early_reductions(program)
    table = program.spec_table()
    return [
        (instruction, table[number]) for instruction, number in _Liveness(program, table).at_peak()
    ]


def _with_early_reductions(program: Program) -> Program:
    """Return the program with conversions to smaller results right behind their operands."""
    early: dict[int, list[Instruction]] = defaultdict(list)
    rest = []
    first = len(program.inputs) + len(program.scalars)
    for instruction in program.instructions:
        operation = instruction.operation
        before, after = operation.in_specs[:1], operation.out_specs[0]
        if (
            collectives_of(operation)
            and shard_bytes(after) < shard_bytes(before[0])
            and instruction.operands[0] >= first
        ):
            early[instruction.operands[0]].append(instruction)
        else:
            rest.append(instruction)
    ordered: list[Instruction] = []
    pending = rest[::-1]
    while pending:
        instruction = pending.pop()
        ordered.append(instruction)
        for number in reversed(instruction.results):
            pending += early.pop(number, ())
    return replace(program, instructions=tuple(ordered))


class _Liveness:
    """The live ranges of the values of a program."""

    def __init__(self, program: Program, table: dict[int, TensorSpec]) -> None:
        self._program = program
        self._table = table
        self._first = len(program.inputs) + len(program.scalars)
        self._outputs = set(program.outputs)
        self._combined = _combined_all_reduces(program)
        self._roots = self._stored_values()
        self._producers = {n: i for i in program.instructions for n in i.results}

    def _stored_values(self) -> dict[int, tuple[int, ...]]:
        """For each value the stored values it is read from: itself, or those it is fused with."""
        needed = self._needed_in_memory()
        roots: dict[int, tuple[int, ...]] = {number: (number,) for number in range(self._first)}
        for instruction in self._program.instructions:
            cost = operation_cost(instruction.operation)
            sources = dict.fromkeys(
                root for operand in instruction.operands for root in roots[operand]
            )
            for number in instruction.results:
                fused = cost.is_permutation or (cost.is_fused and number not in needed)
                roots[number] = tuple(sources) if fused else (number,)
        return roots

    def _needed_in_memory(self) -> set[int]:
        """Values that some reader is not fused with; also the operands of views."""
        needed = set(self._outputs)
        for instruction in reversed(self._program.instructions):
            cost = operation_cost(instruction.operation)
            views = cost.is_permutation and not needed.isdisjoint(instruction.results)
            if views or not (cost.is_fused or cost.is_permutation):
                needed.update(instruction.operands)
        return needed

    def peak(self) -> int:
        """The most bytes stored at one time, besides arguments and results."""
        allocated, last = self._live_ranges()
        live = peak = 0
        freed: dict[int, int] = defaultdict(int)
        for index, instruction in enumerate(self._program.instructions):
            for number in allocated[index]:
                if number in last:
                    size = shard_bytes(self._table[number])
                    live += size
                    freed[last[number]] += size
            peak = max(peak, live + operation_cost(instruction.operation).temporary)
            live -= freed[index]
        return peak

    def at_peak(self) -> list[tuple[Instruction, int]]:
        """The values that are stored when `peak` bytes are."""
        allocated, last = self._live_ranges()
        live: dict[int, tuple[Instruction, int]] = {}
        sizes: dict[int, int] = {}
        values, most = [], -1
        for index, instruction in enumerate(self._program.instructions):
            for number in allocated[index]:
                if number in last:
                    live[number] = (self._producers[number], number)
                    sizes[number] = shard_bytes(self._table[number])
            total = sum(sizes.values()) + operation_cost(instruction.operation).temporary
            if total > most:
                values, most = list(live.values()), total
            for number in [number for number in live if last[number] == index]:
                del live[number], sizes[number]
        return values

    def _live_ranges(self) -> tuple[dict[int, list[int]], dict[int, int]]:
        """The values that are stored from each instruction on, and the last reader of each."""
        allocated: dict[int, list[int]] = defaultdict(list)
        last: dict[int, int] = {}
        for index, instruction in enumerate(self._program.instructions):
            end = self._combined.get(index, index)
            for operand in instruction.operands:
                for root in self._roots[operand]:
                    last[root] = max(last.get(root, 0), end)
            allocated[end] += [
                number for number in instruction.results if self._is_temporary(number)
            ]
        return allocated, last

    def _is_temporary(self, number: int) -> bool:
        return number not in self._outputs and self._roots[number] == (number,)


def _combined_all_reduces(program: Program) -> dict[int, int]:
    """Map each all-reduce to the all-reduce with which it is combined, both as indices."""
    groups: list[list[int]] = []
    open_groups: dict[tuple, tuple[list[int], set[int]]] = {}
    for index, instruction in enumerate(program.instructions):
        for _, dependent in open_groups.values():
            if not dependent.isdisjoint(instruction.operands):
                dependent.update(instruction.results)
        key = _all_reduce_key(instruction)
        if key is None:
            continue
        group, dependent = open_groups.get(key, ([], set()))
        if not dependent.isdisjoint(instruction.operands):
            group, dependent = [], set()
        if not group:
            groups.append(group)
        group.append(index)
        dependent.update(instruction.results)
        open_groups[key] = (group, dependent)
    return {index: group[-1] for group in groups for index in group}


def _all_reduce_key(instruction: Instruction) -> tuple | None:
    """The devices of an all-reduce and its dtype; None for anything else."""
    collectives = collectives_of(instruction.operation)
    if len(collectives) != 1 or collectives[0].kind != "all-reduce":
        return None
    return (collectives[0].axes, instruction.operation.in_specs[0].dtype)
