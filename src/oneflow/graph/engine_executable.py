"""`EngineExecutable`: a step that an engine runs as far as it can, and XLA runs the rest."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import is_not
from typing import Any

import numpy as np

from oneflow.base.device import Device
from oneflow.compiler.lower import Executable
from oneflow.graph.engines import Connector, Engine, EngineProgram, UnsupportedByEngine
from oneflow.passes.partition import (
    Phase,
    PipelineTask,
    TaskPartition,
    split_into_tasks,
    task_program,
)
from oneflow.passes.pipeline import PassGroup, run_passes
from oneflow.primitives.operation import Operation
from oneflow.primitives.traits import Kind, Precision
from oneflow.program.ir import Instruction, Program
from oneflow.runtime import checks
from oneflow.runtime.memory import put

_XLA = Phase("xla")


@dataclass(frozen=True)
class ClusterRun:
    """One cluster as it runs: the instructions that one call of the engine, or of XLA, computes.

    Attributes:
        run: from arrays and run-time numbers to arrays.
        inputs: numbers of the values it reads.
        slots: indices of the run-time numbers it reads.
        outputs: numbers of the values it gives.
    """

    run: Callable[[Sequence[Any], Sequence[Any]], Sequence[Any]]
    inputs: list[int]
    slots: list[int]
    outputs: tuple[int, ...]


class EngineExecutable:
    """A step of inference whose clusters an engine runs; called as an `Executable` is.

    Weights are constants of the engine's programs, which are compiled again if a weight is another
    array than before.

    Attributes:
        program: the whole of it.
        device: the device of its results.
        left_to_xla: why the engine does not run them, by instruction.

    Args:
        engine: the engine.
        program: the program.
        device: the device of its results.
        constants: run-time numbers, by their index, that are the same in every run.
        checks: operations with a run-time check, and the lines that called them.
        name: its name in profilers and dumps.
        weights: the last inputs, as they are now.
    """

    def __init__(
        self,
        engine: Engine,
        program: Program,
        device: Device,
        constants: Mapping[int, Any],
        checks: Sequence[tuple[Operation, str]],
        name: str,
        weights: Sequence[Any],
    ) -> None:
        self.program = program
        self.device = device
        self._engine = engine
        self._connector: Connector = engine.connect()
        self._phase = Phase(engine.package)
        self._constants = constants
        self._name = name
        self._weights = list(weights)
        self._lines = {
            instruction.results.start: check
            for instruction, check in zip(program.checks, checks, strict=True)
        }
        self.left_to_xla: dict[int, str] = {}
        for index, instruction in enumerate(program.instructions):
            reason = self._unsupported_reason(instruction)
            if reason is not None:
                self.left_to_xla[index] = reason
        self._places = {
            instruction.results.start: n for n, instruction in enumerate(program.instructions)
        }
        self._tried: dict[Any, str | None] = {}
        # Engines run one call at a time.
        self._lock = threading.Lock()
        self._partition, self._runs = self._compiled()

    def compile(self) -> EngineExecutable:
        """Return itself: everything is compiled when it is made."""
        return self

    def in_xla(self) -> Executable:
        """The whole program, compiled by XLA."""
        groups = PassGroup.PROGRAM, PassGroup.EXECUTABLE
        program = run_passes(self.program, *groups)
        return Executable(program, (), self.device, self._constants, self._name)

    def engine_program(self) -> tuple[str, bytes] | None:
        """The engine's package and the whole program as a file of it, without the weights.

        None if XLA runs a part of the program.
        """
        if len(self._runs) != 1 or self.left_to_xla:
            return None
        program = self.program
        numbers = [self._constants.get(slot) for slot in range(len(program.scalars))]
        weights = range(len(program.inputs) - len(self._weights), len(program.inputs))
        content = self._connector.write_program(program, numbers, weights)
        return self._engine.package, content

    # --- which instructions form clusters

    def _unsupported_reason(self, instruction: Instruction) -> str | None:
        """The reason why an engine must not run an instruction, whatever it supports."""
        operation = instruction.operation
        if operation.needs_check:
            return "its operands are checked when it runs"
        if operation.primitive.traits.kind not in (Kind.COMPUTATION, Kind.CONVOLUTION):
            return "it orders other operators"
        first = len(self.program.inputs)
        end = first + len(self.program.scalars)
        specs = list(operation.out_specs)
        for number, spec in zip(instruction.operands, operation.in_specs, strict=True):
            if not first <= number < end:
                specs.append(spec)
            elif number - first not in self._constants:
                return "its numbers are others in each call"
        for spec in specs:
            if spec.dtype not in self._engine.dtypes:
                return f"it computes with {spec.dtype.name}"
            if 0 in spec.shape:
                return "it has no elements"
        return None

    def _compiled(self) -> tuple[TaskPartition, list[ClusterRun]]:
        """The program in clusters, each of them compiled.

        Instructions that the engine refuses are left to XLA, and the rest is divided anew, until it
        refuses nothing.
        """
        compiled: dict[tuple[int, ...], EngineProgram] = {}
        while True:
            phases = [
                _XLA if index in self.left_to_xla else self._phase
                for index in range(len(self.program.instructions))
            ]
            partition = split_into_tasks(self.program, phases)
            before = len(self.left_to_xla)
            for task in partition.tasks:
                self._compile_task(task, len(partition.tasks) > 1, compiled)
            if len(self.left_to_xla) == before:
                return partition, [self._run_of(task, compiled) for task in partition.tasks]

    def _compile_task(
        self, task: PipelineTask, is_part: bool, compiled: dict[tuple[int, ...], EngineProgram]
    ) -> None:
        """Compile a cluster of the engine, or note which of its instructions it cannot run."""
        if task.phase != self._phase or _key(task) in compiled:
            return
        if is_part and not any(map(_is_product, task.instructions)):
            reason = "its cluster has no product or convolution"
            self._leave({instruction.results.start: reason for instruction in task.instructions})
            return
        try:
            compiled[_key(task)] = self._engine_program(task)
        except UnsupportedByEngine as error:
            reasons = {
                instruction.results.start: self._check_instruction(instruction)
                for instruction in task.instructions
            }
            failures = {start: reason for start, reason in reasons.items() if reason is not None}
            self._leave(failures or dict.fromkeys(reasons, str(error)))

    def _leave(self, reasons: Mapping[int, str]) -> None:
        self.left_to_xla.update({self._places[start]: reason for start, reason in reasons.items()})

    def _check_instruction(self, instruction: Instruction) -> str | None:
        """The reason why the engine cannot run an instruction alone; None if it can."""
        first = len(self.program.inputs)
        numbers = [
            self._constants[number - first]
            for number in instruction.operands
            if 0 <= number - first < len(self.program.scalars)
        ]
        key = instruction.operation, *map(repr, numbers)
        if key not in self._tried:
            task = PipelineTask(instruction.operation.device, self._phase, [instruction])
            task.inputs = tuple(dict.fromkeys(instruction.operands))
            task.outputs = tuple(instruction.results)
            self._tried[key] = None
            try:
                self._engine_program(task)
            except UnsupportedByEngine as error:
                self._tried[key] = str(error)
        return self._tried[key]

    # --- programs of clusters

    def _engine_program(self, task: PipelineTask) -> EngineProgram:
        program, inputs, slots = task_program(self.program, task)
        first = len(self.program.inputs) - len(self._weights)
        weights = {
            index: self._weights[number - first]
            for index, number in enumerate(inputs)
            if first <= number < len(self.program.inputs)
        }
        numbers = [self._constants[slot] for slot in slots]
        return self._connector.compile_program(program, numbers, weights)

    def _run_of(
        self, task: PipelineTask, compiled: Mapping[tuple[int, ...], EngineProgram]
    ) -> ClusterRun:
        program, inputs, slots = task_program(self.program, task)
        if task.phase == self._phase:
            first = len(self.program.inputs) - len(self._weights)
            read = [number for number in inputs if not first <= number < len(self.program.inputs)]
            return ClusterRun(self._in_engine(compiled[_key(task)]), read, [], task.outputs)
        constants = {
            index: self._constants[slot]
            for index, slot in enumerate(slots)
            if slot in self._constants
        }
        checked = [check for check in map(self._lines.get, _key(task)) if check is not None]
        program = run_passes(program, PassGroup.PROGRAM, PassGroup.EXECUTABLE)
        executable = Executable(program, (), self.device, constants, self._name).compile()
        return ClusterRun(_in_xla(executable, checked), inputs, slots, task.outputs)

    def _in_engine(self, run: EngineProgram) -> Callable[[Sequence[Any], Sequence[Any]], list[Any]]:
        """`run` from arrays of XLA to arrays of XLA."""

        def runner(arrays: Sequence[Any], numbers: Sequence[Any]) -> list[Any]:
            return [put(array, self.device) for array in run(list(map(np.asarray, arrays)))]

        return runner

    # --- running

    def __call__(
        self, arrays: Sequence[Any], scalars: Sequence[Any], returned: list[Any] | None = None
    ) -> tuple[list[Any], None]:
        """Return the results. Rows of run-time checks are passed on as each cluster gives them.

        Args:
            arrays: the inputs, weights last.
            scalars: the Python numbers.
            returned: see `Executable`; nothing is given up, so that it stays empty.
        """
        weights = arrays[len(arrays) - len(self._weights) :]
        with self._lock:
            if any(map(is_not, weights, self._weights)):
                self._weights = list(weights)
                self._partition, self._runs = self._compiled()
            values: dict[int, Any] = dict(enumerate(arrays))
            for run in self._runs:
                operands = [values[number] for number in run.inputs]
                results = run.run(operands, [scalars[slot] for slot in run.slots])
                values.update(zip(run.outputs, results, strict=True))
            return self.sorted_results([values[number] for number in self._partition.outputs])

    @staticmethod
    def sorted_results(results: list[Any]) -> tuple[list[Any], None]:
        """Return results in the form of `Executable.sorted_results`."""
        return results, None


def _key(task: PipelineTask) -> tuple[int, ...]:
    """The first results of a cluster's instructions, by which it is known."""
    return tuple([instruction.results.start for instruction in task.instructions])


def _is_product(instruction: Instruction) -> bool:
    """Return whether an instruction is a product or a convolution."""
    return instruction.operation.primitive.traits.precision is Precision.HALF


def _in_xla(
    executable: Executable, checked: Sequence[tuple[Operation, str]]
) -> Callable[[Sequence[Any], Sequence[Any]], list[Any]]:
    """The executable; its run-time checks are noted."""

    def runner(arrays: Sequence[Any], numbers: Sequence[Any]) -> list[Any]:
        results, checked_results = executable(arrays, numbers)
        if checked_results is not None:
            checks.add(checked_results, checked, executable.device, results)
        return results

    return runner
