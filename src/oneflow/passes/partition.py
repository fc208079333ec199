"""Partition a program over several placements into tasks, programs over one placement each.

The instructions of one phase (the forward pass of a micro batch, its backward pass, ...) on one
placement are one task, as long as it does not wait for itself by way of another placement. Between
tasks values stay on their placement, or are transferred to another one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from oneflow.base.placement import Placement
from oneflow.base.spec import TensorSpec
from oneflow.primitives.traits import Kind
from oneflow.program.ir import Instruction, Program

PREPARE, FORWARD, BACKWARD, UPDATE = "prepare", "forward", "backward", "update"


class Phase(NamedTuple):
    """The part of a step to which an instruction belongs.

    Attributes:
        kind: `PREPARE`, `FORWARD`, `BACKWARD` or `UPDATE`.
        micro_batch: number of the micro batch, for the forward and the backward pass.
    """

    kind: str
    micro_batch: int = 0


@dataclass
class PipelineTask:
    """A part of a program that runs on one placement without waiting for others.

    Numbers are those of the values of the whole program.

    Attributes:
        placement: the devices that run it.
        phase: the part of the step it belongs to.
        instructions: its instructions, of the whole program.
        inputs: values it reads that other tasks produce, or that are inputs of the program.
        outputs: values it produces that other tasks read, or that are results.
        dependencies: indices of the tasks that have to run before, in the list of all.
    """

    placement: Placement
    phase: Phase
    instructions: list[Instruction] = field(default_factory=list)
    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()
    dependencies: set[int] = field(default_factory=set)


@dataclass(frozen=True)
class Transfer:
    """A value that is transferred to another placement.

    Attributes:
        source: number of the value.
        result: number of the value on the other placement.
        before: spec of the value.
        after: spec of the value on the other placement.
        producer: index of the task that produces it; None for an input of the program.
    """

    source: int
    result: int
    before: TensorSpec
    after: TensorSpec
    producer: int | None


@dataclass
class TaskPartition:
    """A program in tasks.

    Attributes:
        tasks: the tasks in an order in which they can run.
        transfer_by_result: by the number of the value they give.
        outputs: numbers of the program's results.
    """

    tasks: list[PipelineTask]
    transfer_by_result: dict[int, Transfer]
    outputs: tuple[int, ...]


def split_into_tasks(program: Program, phases: Sequence[Phase]) -> TaskPartition:
    """Return the program in tasks.

    Args:
        program: a program on placements; values get from one to another by `transfer`.
        phases: the phase of each instruction.
    """
    partitioning = _Partitioning(program)
    for instruction, phase in zip(program.instructions, phases, strict=True):
        partitioning.add(instruction, phase)
    return partitioning.finish()


class _Partitioning:
    """The tasks while instructions are added to them in order."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._specs = program.spec_table()
        self._tasks: list[PipelineTask] = []
        self._open: dict[tuple[Phase, Any], int] = {}
        self._producer_of: dict[int, int] = {}
        self._transfers: dict[int, Transfer] = {}
        self._transferred: dict[tuple[int, TensorSpec], int] = {}
        # Results of transfers that were made before, by the number of the first.
        self._duplicates: dict[int, int] = {}

    def add(self, instruction: Instruction, phase: Phase) -> None:
        """Add one instruction to a task, or to the transfers."""
        operation = instruction.operation
        if operation.primitive.traits.kind is Kind.TRANSFER:
            self._add_transfer(instruction)
            return
        operands = tuple(self._duplicates.get(number, number) for number in instruction.operands)
        producer_of = map(self._producer, operands)
        dependencies = {index for index in producer_of if index is not None}
        key = (phase, operation.device)
        index = self._open.get(key)
        if index is None or any(
            self._waits_for(dependency, index) for dependency in dependencies - {index}
        ):
            index = self._open[key] = len(self._tasks)
            self._tasks.append(PipelineTask(operation.device, phase))
        task = self._tasks[index]
        task.dependencies |= dependencies - {index}
        task.instructions.append(replace(instruction, operands=operands))
        self._producer_of.update(dict.fromkeys(instruction.results, index))

    def _add_transfer(self, instruction: Instruction) -> None:
        (source,), (result,) = instruction.operands, instruction.results
        source = self._duplicates.get(source, source)
        after = instruction.operation.out_specs[0]
        first = self._transferred.setdefault((source, after), result)
        if first != result:
            self._duplicates[result] = first
            return
        before = self._specs[source]
        self._transfers[result] = Transfer(source, result, before, after, self._producer(source))

    def _producer(self, number: int) -> int | None:
        """The task that produces a value, or the value that is transferred to become it."""
        while number in self._transfers:
            number = self._transfers[number].source
        return self._producer_of.get(number)

    def _waits_for(self, index: int, other: int) -> bool:
        """Return true if the task at `index` runs after the one at `other`."""
        pending, seen = [index], set()
        while pending:
            task = pending.pop()
            if task == other:
                return True
            if task not in seen:
                seen.add(task)
                pending += self._tasks[task].dependencies
        return False

    def finish(self) -> TaskPartition:
        """Return the partition, when all instructions are in it."""
        outputs = tuple(self._duplicates.get(number, number) for number in self._program.outputs)
        users: set[int] = {*outputs, *(transfer.source for transfer in self._transfers.values())}
        for task in self._tasks:
            defined = {
                number for instruction in task.instructions for number in instruction.results
            }
            operands = [
                number for instruction in task.instructions for number in instruction.operands
            ]
            # Run-time numbers are among them; `task_program` tells them apart by their number.
            task.inputs = tuple(n for n in dict.fromkeys(operands) if n not in defined)
            users.update(task.inputs)
        for task in self._tasks:
            all_results = [n for instruction in task.instructions for n in instruction.results]
            task.outputs = tuple(number for number in all_results if number in users)
        return TaskPartition(self._in_order(), self._transfers, outputs)

    def _in_order(self) -> list[PipelineTask]:
        """The tasks, each after those it depends on."""
        order: list[int] = []
        done: set[int] = set()

        def visit(index: int) -> None:
            if index in done:
                return
            done.add(index)
            for dependency in sorted(self._tasks[index].dependencies):
                visit(dependency)
            order.append(index)

        for index in range(len(self._tasks)):
            visit(index)
        new_index = {old: new for new, old in enumerate(order)}
        for task in self._tasks:
            task.dependencies = {new_index[dependency] for dependency in task.dependencies}
        for result, transfer in self._transfers.items():
            if transfer.producer is not None:
                self._transfers[result] = replace(transfer, producer=new_index[transfer.producer])
        return [self._tasks[index] for index in order]


def task_program(program: Program, task: PipelineTask) -> tuple[Program, list[int], list[int]]:
    """Return the program of one task, with values numbered anew.

    Returns:
        The program, the numbers of its array inputs, and the indices of its run-time numbers among
        those of the whole program.
    """
    arrays = len(program.inputs)
    inputs_end = arrays + len(program.scalars)
    specs = dict(enumerate((*program.inputs, *program.scalars)))
    for instruction in task.instructions:
        specs.update(zip(instruction.operands, instruction.operation.in_specs, strict=True))
    inputs = [number for number in task.inputs if not arrays <= number < inputs_end]
    slots = [number - arrays for number in task.inputs if arrays <= number < inputs_end]
    numbers = [*inputs, *[arrays + slot for slot in slots]]
    new = {old: index for index, old in enumerate(numbers)}
    instructions = []
    for instruction in task.instructions:
        first = len(new)
        new.update({old: first + index for index, old in enumerate(instruction.results)})
        instructions.append(
            Instruction(
                instruction.operation,
                tuple(new[number] for number in instruction.operands),
                range(first, first + len(instruction.results)),
                instruction.scope,
            )
        )
    smaller = Program(
        tuple(specs[number] for number in inputs),
        tuple(program.scalars[slot] for slot in slots),
        tuple(instructions),
        tuple(new[number] for number in task.outputs),
    )
    return smaller, inputs, slots
