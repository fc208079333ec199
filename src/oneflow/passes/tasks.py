"""Tasks: a program over several placements, cut into programs over one placement each.

What happens on one placement in one turn (the forward pass of a micro batch, its backward pass,
...) is one task, as long as it does not wait for itself by way of another placement. Between tasks
values stay where they are, or are moved to another placement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from oneflow.base.placement import Placement
from oneflow.base.spec import TensorSpec
from oneflow.primitives.traits import Kind
from oneflow.program.ir import Instruction, Program

PREPARE, FORWARD, BACKWARD, UPDATE = "prepare", "forward", "backward", "update"


class Turn(NamedTuple):
    """What part of a step an instruction belongs to.

    Attributes:
        phase: `PREPARE`, `FORWARD`, `BACKWARD` or `UPDATE`.
        batch: number of the micro batch, for the forward and the backward pass.
    """

    phase: str
    batch: int = 0


@dataclass
class Task:
    """A part of a program that runs on one placement without waiting for others.

    Numbers are those of the values of the whole program.

    Attributes:
        placement: where it runs.
        turn: the part of the step it belongs to.
        instructions: of the whole program.
        inputs: values it reads that others made, or that were given.
        outputs: values it makes that others read, or that are results.
        needs: places of the tasks that have to run before, in the list of all.
    """

    placement: Placement
    turn: Turn
    instructions: list[Instruction] = field(default_factory=list)
    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()
    needs: set[int] = field(default_factory=set)


@dataclass(frozen=True)
class Move:
    """A value that is carried to another placement.

    Attributes:
        source: number of the value.
        result: number of the value there.
        before: spec of the value.
        after: spec of the value there.
        maker: place of the task that makes it; None if it is given.
    """

    source: int
    result: int
    before: TensorSpec
    after: TensorSpec
    maker: int | None


@dataclass
class Partition:
    """A program in tasks.

    Attributes:
        tasks: in an order in which they can run.
        moves: by the number of the value they give.
        outputs: numbers of the program's results.
    """

    tasks: list[Task]
    moves: dict[int, Move]
    outputs: tuple[int, ...]


def split_into_tasks(program: Program, turns: Sequence[Turn]) -> Partition:
    """The program in tasks.

    Args:
        program: on placements; values are moved by `transfer`.
        turns: the turn of each instruction.
    """
    partition = _Partitioning(program)
    for instruction, turn in zip(program.instructions, turns, strict=True):
        partition.add(instruction, turn)
    return partition.finish()


class _Partitioning:
    """The tasks while instructions are added to them in order."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._specs = program.spec_table()
        self._given = len(program.inputs) + len(program.scalars)
        self._tasks: list[Task] = []
        self._open: dict[tuple[Turn, Any], int] = {}
        self._makers: dict[int, int] = {}
        self._moves: dict[int, Move] = {}
        self._moved: dict[tuple[int, TensorSpec], int] = {}
        # Results of moves that had been made before, by the number of the first.
        self._same: dict[int, int] = {}

    def add(self, instruction: Instruction, turn: Turn) -> None:
        """Add one instruction to a task, or to the moves."""
        operation = instruction.operation
        if operation.primitive.traits.kind is Kind.TRANSFER:
            self._add_move(instruction)
            return
        operands = tuple(self._same.get(number, number) for number in instruction.operands)
        makers = map(self._maker, operands)
        needs = {place for place in makers if place is not None}
        key = (turn, operation.device)
        place = self._open.get(key)
        if place is None or any(self._waits_for(need, place) for need in needs - {place}):
            place = self._open[key] = len(self._tasks)
            self._tasks.append(Task(operation.device, turn))
        task = self._tasks[place]
        task.needs |= needs - {place}
        task.instructions.append(
            Instruction(operation, operands, instruction.results, instruction.scope)
        )
        self._makers.update(dict.fromkeys(instruction.results, place))

    def _add_move(self, instruction: Instruction) -> None:
        (source,), (result,) = instruction.operands, instruction.results
        source = self._same.get(source, source)
        after = instruction.operation.out_specs[0]
        first = self._moved.setdefault((source, after), result)
        if first != result:
            self._same[result] = first
            return
        before = self._specs[source]
        self._moves[result] = Move(source, result, before, after, self._maker(source))

    def _maker(self, number: int) -> int | None:
        """The task that makes a value, or what is moved to become it."""
        while number in self._moves:
            number = self._moves[number].source
        return self._makers.get(number)

    def _waits_for(self, place: int, other: int) -> bool:
        """Whether the task at `place` runs after the one at `other`."""
        needs, seen = [place], set()
        while needs:
            each = needs.pop()
            if each == other:
                return True
            if each not in seen:
                seen.add(each)
                needs += self._tasks[each].needs
        return False

    def finish(self) -> Partition:
        """The partition, when all instructions are in it."""
        outputs = tuple(self._same.get(number, number) for number in self._program.outputs)
        readers: set[int] = {*outputs, *(move.source for move in self._moves.values())}
        for task in self._tasks:
            made = {number for each in task.instructions for number in each.results}
            read = [number for each in task.instructions for number in each.operands]
            # Run-time numbers come from elsewhere than arrays, and are told apart by their place.
            task.inputs = tuple(n for n in dict.fromkeys(read) if n not in made)
            readers.update(n for n in task.inputs)
        for task in self._tasks:
            made_in_order = [number for each in task.instructions for number in each.results]
            task.outputs = tuple(number for number in made_in_order if number in readers)
        return Partition(self._in_order(), self._moves, outputs)

    def _in_order(self) -> list[Task]:
        """The tasks, each after those it needs."""
        order: list[int] = []
        done: set[int] = set()

        def visit(place: int) -> None:
            if place in done:
                return
            done.add(place)
            for need in sorted(self._tasks[place].needs):
                visit(need)
            order.append(place)

        for place in range(len(self._tasks)):
            visit(place)
        places = {old: new for new, old in enumerate(order)}
        for task in self._tasks:
            task.needs = {places[need] for need in task.needs}
        for result, move in self._moves.items():
            if move.maker is not None:
                self._moves[result] = Move(
                    move.source, move.result, move.before, move.after, places[move.maker]
                )
        return [self._tasks[place] for place in order]


def task_program(program: Program, task: Task) -> tuple[Program, list[int], list[int]]:
    """The program of one task, with values numbered anew.

    Returns:
        It, the numbers of its array inputs, and the places of its run-time numbers among those of
        the whole program.
    """
    arrays = len(program.inputs)
    given = arrays + len(program.scalars)
    specs = dict(enumerate((*program.inputs, *program.scalars)))
    for each in task.instructions:
        specs.update(zip(each.operands, each.operation.in_specs, strict=True))
    inputs = [number for number in task.inputs if not arrays <= number < given]
    slots = [number - arrays for number in task.inputs if arrays <= number < given]
    numbers = [*inputs, *[arrays + slot for slot in slots]]
    new = {old: place for place, old in enumerate(numbers)}
    instructions = []
    for each in task.instructions:
        first = len(new)
        new.update({old: first + index for index, old in enumerate(each.results)})
        instructions.append(
            Instruction(
                each.operation,
                tuple(new[number] for number in each.operands),
                range(first, first + len(each.results)),
                each.scope,
            )
        )
    smaller = Program(
        tuple(specs[number] for number in inputs),
        tuple(program.scalars[slot] for slot in slots),
        tuple(instructions),
        tuple(new[number] for number in task.outputs),
    )
    return smaller, inputs, slots
