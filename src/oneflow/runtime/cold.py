"""Running a program instruction by instruction.

On the CPU instructions are interpreted on NumPy, and nothing is compiled. An operation that NumPy
has no function for, or would take long for, has its own executable, as every operation has on
accelerators and placements. An instruction that fails takes with it only what is computed from its
results.
"""

from __future__ import annotations

import contextlib
import gc
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import jax
import numpy as np

from oneflow.base import environment
from oneflow.base.device import Device
from oneflow.base.errors import OutOfMemoryError
from oneflow.base.no_interrupt import run_without_interrupt
from oneflow.base.placement import Placement
from oneflow.base.units import bytes_text
from oneflow.base.x64 import in_x64
from oneflow.compiler.failed_flag import CheckResults
from oneflow.compiler.lower import Use, compiled_operation, operation_executable, typed_scalar
from oneflow.interpreter.numpy_function import NumpyFunction, is_slow, numpy_function_of
from oneflow.primitives.inference import trace_check, trace_check_on_parts, trace_on_parts
from oneflow.primitives.operation import Operation
from oneflow.primitives.operators.update_unless_failed import update_unless_failed
from oneflow.primitives.trace import Trace
from oneflow.primitives.traits import Kind
from oneflow.program.ir import Program
from oneflow.runtime import checks
from oneflow.runtime.background import COMPILER
from oneflow.runtime.block_functions import block_function, is_small_draw
from oneflow.runtime.compile_ahead import compiled_blocks, note_numpy_time
from oneflow.runtime.compile_pool import compile_operations
from oneflow.runtime.conversions import convert, is_collective
from oneflow.runtime.counters import STATISTICS, compiling
from oneflow.runtime.events import SINK, EventKind, span
from oneflow.runtime.memory import is_only_view, wrap_array
from oneflow.runtime.part_arrays import (
    PartArrays,
    check_on_parts,
    local_elements,
    results_on_parts,
)
from oneflow.tuning.while_compiling import limit_blas_threads

# Bytes of operands and results from which on an instruction is waited for: XLA says only then
# whether it found the memory.
_LARGE = 2**26
# Errors that may mean too little memory. XLA says so with these words, NumPy of an array that no
# address reaches.
_TOO_LITTLE = (MemoryError, ValueError, jax.errors.JaxRuntimeError)
_TOO_LITTLE_MESSAGES = ("RESOURCE_EXHAUSTED", "array is too big")
# Seconds of a product, by estimate, from which on several cores compute it.
_SHARED_PRODUCT = 0.004


@dataclass
class ColdSettings:
    """Settings for programs that are not compiled as a whole.

    Attributes:
        interpret: on the CPU without compiling, where that is not slower.
    """

    interpret: bool


COLD = ColdSettings(environment.EAGER_COLD.read() == "interpreted")


class FailedResult:
    """Placeholder of a result that could not be computed.

    Attributes:
        error: why.
    """

    __slots__ = ("error",)

    def __init__(self, error: Exception) -> None:
        self.error = error


class OutOfTimeError(Exception):
    """A cold run has taken longer than it was to."""


class _CheckRows:
    """The rows of the checks of a program so far.

    Attributes:
        rows: one ``(is_bad, value)`` for each check.
    """

    __slots__ = ("_first_bad", "rows")

    def __init__(self) -> None:
        self.rows: list[tuple[int, int]] = []
        self._first_bad: int | None = None

    def append(self, row: tuple[int, int]) -> None:
        """Add the row of the next check."""
        if row[0] and self._first_bad is None:
            self._first_bad = len(self.rows)
        self.rows.append(row)

    def has_failed(self, count: int | None = None) -> bool:
        """Return whether one of the checks, or of the first `count` ones, has failed."""
        return self._first_bad is not None and (count is None or self._first_bad < count)


@in_x64
def run_cold(
    program: Program, arrays: Sequence[Any], scalars: Sequence[Any], seconds: float = math.inf
) -> tuple[list[Any], CheckResults | None]:
    """Run a program. Values are freed after their last use.

    Nothing that is given is changed before all is done, so that it can be interrupted anywhere.

    Args:
        program: the program.
        arrays: its inputs.
        scalars: its Python numbers.
        seconds: after which no other instruction is begun.

    Returns:
        The outputs as JAX arrays, with a `FailedResult` for each that could not be computed, and
        the results of the run-time checks or None.

    Raises:
        OutOfTimeError: it takes longer than `seconds`.
    """
    started = perf_counter()
    numbers = [
        typed_scalar(s, spec.dtype.numpy) for s, spec in zip(scalars, program.scalars, strict=True)
    ]
    values: dict[int, Any] = dict(enumerate((*arrays, *numbers)))
    rows = _CheckRows()
    if not all(map(runs_on_numpy, program.devices)):
        compile_operations(program)
    with np.errstate(all="ignore"):
        _run_instructions(program, values, rows, started + seconds)
    outputs = _as_jax_arrays(program, values)
    STATISTICS.cold_seconds += perf_counter() - started
    return outputs, CheckResults(np.array(rows.rows)) if rows.rows else None


def runs_on_numpy(device: Device | Placement) -> bool:
    """Return whether cold programs on a device are interpreted."""
    return COLD.interpret and device.type == "cpu"


def is_interpreted(program: Program) -> bool:
    """Return whether NumPy computes every instruction of a program when it runs cold."""
    return all(map(runs_on_numpy, program.devices)) and all(
        instruction.operation.primitive is update_unless_failed
        or numpy_function(instruction.operation, instruction.operation.trace) is not None
        for instruction in program.instructions
    )


def _run_instructions(
    program: Program, values: dict[int, Any], rows: _CheckRows, end: float
) -> None:
    """Compute the values of a program into `values`, and the rows of its checks, until `end`."""
    last_use = _last_uses(program)
    for index, instruction in enumerate(program.instructions):
        if perf_counter() > end:
            raise OutOfTimeError
        operands = [values[number] for number in instruction.operands]
        results = _run_instruction(instruction.operation, operands, rows)
        values.update(zip(instruction.results, results, strict=True))
        for number in last_use.get(index, ()):
            del values[number]


def _run_instruction(operation: Operation, operands: list[Any], rows: _CheckRows) -> Sequence[Any]:
    """The results of an operation, `FailedResult` where there is none.

    Args:
        operation: what to run.
        operands: its operands.
        rows: the rows of the checks before it; its own is added.
    """
    if operation.primitive is update_unless_failed:
        old, new = operands
        return [old if rows.has_failed(operation.attributes["checks"]) else new]
    failure = next((operand for operand in operands if type(operand) is FailedResult), None)
    results: Any = None
    row = 0, 0
    if failure is None:
        try:
            if SINK.record is None:
                results = _run_operation(operation, operands)
            else:
                results = _run_recorded(operation, operands)
            if operation.needs_check:
                row = _run_check(operation, operands)
        except Exception as error:
            failure = FailedResult(error)
    if operation.needs_check:
        rows.append(row)
    if failure is not None:
        return [failure] * operation.count
    results = [results] if operation.single else list(results)
    update = operation.primitive.traits.update
    if update is not None and rows.has_failed():
        for operand, result in update.replaced(operation):
            results[result] = operands[operand]
    return results


def _run_recorded(operation: Operation, operands: list[Any]) -> Any:
    """Run one operation and record that as an event, until its results are there."""
    specs = operation.in_specs
    results: list[Any] = []
    with span(
        EventKind.OPERATOR,
        operation.primitive.name,
        results,
        shapes=tuple([tuple(spec.shape) for spec in specs]),
        dtypes=tuple([spec.dtype.name for spec in specs]),
        output_bytes=sum(spec.nbytes for spec in operation.out_specs),
        operation=operation,
    ):
        results.append(_run_operation(operation, operands))
    return results[0]


def _as_jax_arrays(program: Program, values: dict[int, Any]) -> list[Any]:
    """The outputs of a program, those on NumPy handed to JAX.

    JAX may keep the memory that it is given, so each array has memory of its own that nothing else
    refers to.
    """
    outputs = [values[number] for number in program.outputs]
    slots = [slot for slot, array in enumerate(outputs) if _is_on_host(array)]
    if not slots:
        return outputs
    exclusive: dict[int, np.ndarray] = {}
    specs = program.spec_table()

    def exclusive_array(array: Any) -> np.ndarray:
        own = _exclusive_array(array, exclusive)
        return exclusive.setdefault(id(own), own)

    for slot in slots:
        array = outputs[slot]
        try:
            if type(array) is PartArrays:
                outputs[slot] = array.put(exclusive_array)
            else:
                outputs[slot] = exclusive_array(array)
        except MemoryError:
            spec = specs[program.outputs[slot]]
            outputs[slot] = FailedResult(OutOfMemoryError(f"out of memory: no room for {spec!r}"))
    for slot in slots:
        if _is_numpy(outputs[slot]):
            device = specs[program.outputs[slot]].device
            outputs[slot] = wrap_array(np.asarray(outputs[slot]), device)
    return outputs


def _exclusive_array(array: Any, exclusive: dict[int, np.ndarray]) -> np.ndarray:
    """The array in contiguous memory of its own, apart from all that are `exclusive` already."""
    if not isinstance(array, np.ndarray) or id(array) in exclusive:
        return np.array(array)
    is_alone = is_exclusive(array) or is_only_view(array)
    return array if is_alone else np.array(array, order="C")


def is_exclusive(array: Any) -> bool:
    """Return whether an array has contiguous memory of its own, or is a scalar of NumPy's."""
    if isinstance(array, np.generic):
        return True
    flags = array.flags
    return flags.owndata and flags.c_contiguous


def _is_on_host(array: Any) -> bool:
    return _is_numpy(array) or type(array) is PartArrays


def _is_numpy(array: Any) -> bool:
    return isinstance(array, np.ndarray | np.generic)


def _run_operation(operation: Operation, operands: list[Any]) -> Any:
    """Run one operation, once more without garbage if there is too little memory.

    Raises:
        OutOfMemoryError: there is not enough memory.
    """
    try:
        return _evaluate(operation, operands)
    except _TOO_LITTLE as error:
        # Other processes do not send their parts again.
        if not is_out_of_memory(error) or is_collective(operation):
            raise
    gc.collect()  # tensors that only each other's objects refer to
    try:
        return _evaluate(operation, operands)
    except _TOO_LITTLE as error:
        if not is_out_of_memory(error):
            raise
        results_text = ", ".join(map(repr, operation.out_specs))
        raise OutOfMemoryError(
            f"out of memory: `{operation.primitive.name}`, which makes {results_text} "
            f"({bytes_text(_operand_bytes(operation))} with its operands), found too little on "
            f"`{operation.device}`; use a smaller batch, or keep fewer tensors"
        ) from error


def is_out_of_memory(error: Exception) -> bool:
    """Return whether an operation raises an error for want of memory."""
    text = str(error)
    return isinstance(error, MemoryError) or any(words in text for words in _TOO_LITTLE_MESSAGES)


def _evaluate(operation: Operation, operands: list[Any]) -> Any:
    if isinstance(operation.device, Placement):
        return _evaluate_on_placement(operation, operands)
    function = numpy_function(operation, operation.trace)
    if function is not None:
        return _run_on_host(operation, function, operands)
    is_draw = "shape" in operation.attributes or is_small_draw(operation)
    blocks = block_function(operation) if COLD.interpret and is_draw else None
    return (blocks or _run_compiled)(operation, operands)


def _evaluate_on_placement(operation: Operation, operands: list[Any]) -> Any:
    if not runs_on_numpy(operation.device):
        return _run_compiled(operation, operands)
    if operation.primitive.traits.kind is Kind.BOXING:
        return convert(operation, operands[0])
    is_compiled = compiled_operation(operation) is not None
    function = None if is_compiled else numpy_function(operation, trace_on_parts(operation))
    if function is None:
        return _run_compiled(operation, operands)
    with share_of_cores(function.seconds.product):
        results = results_on_parts(operation, function, operands)
    return results[0] if operation.single else results


def _operand_bytes(operation: Operation) -> int:
    """Bytes of operands and results."""
    return sum(spec.nbytes for spec in (*operation.in_specs, *operation.out_specs))


def numpy_function(operation: Operation, trace: Trace | None) -> NumpyFunction | None:
    """The interpretation of a trace of an operation; None if it is better compiled."""
    if trace is None or not runs_on_numpy(operation.device):
        return None
    if not operation.primitive.traits.interpret:
        return None
    function = numpy_function_of(trace)
    if function is None:
        return None
    repeats = local_elements(operation.out_specs[0]) if trace.elementwise else 1
    return None if is_slow(function, repeats) else function


def seconds_on_numpy(function: NumpyFunction, operation: Operation, trace: Trace) -> float:
    """Seconds that NumPy takes for a trace of an operation, by estimate."""
    repeats = local_elements(operation.out_specs[0]) if trace.elementwise else 1
    return function.seconds.calls + function.seconds.elements * repeats


def _run_on_host(operation: Operation, function: NumpyFunction, operands: list[Any]) -> Any:
    """Run an operation on NumPy, unless it has been compiled for taking long."""
    if compiled_operation(operation, Use.LONG_RUNS) is not None:
        return _run_compiled(operation, operands, Use.LONG_RUNS)
    blocks = compiled_blocks(operation)
    if blocks is not None:
        return blocks(operation, operands)
    started = perf_counter()
    with share_of_cores(function.seconds.product):
        results = interpret(operation, function, operands)
    note_numpy_time(operation, perf_counter() - started)
    return results


def share_of_cores(product: float) -> contextlib.AbstractContextManager[None]:
    """Limit the cores of NumPy's products: one for small ones, half while XLA compiles.

    Threads of a product wait for each other in a loop, which takes many times as long as a small
    product where other processes use the cores, too.

    Args:
        product: seconds of the largest product, by estimate.
    """
    if not product:
        return contextlib.nullcontext()
    if product < _SHARED_PRODUCT:
        return limit_blas_threads(1)
    if COMPILER.is_compiling:
        return limit_blas_threads(max((os.cpu_count() or 1) // 2, 1))
    return contextlib.nullcontext()


def interpret(operation: Operation, function: NumpyFunction, operands: Sequence[Any]) -> Any:
    """Run an operation on NumPy."""
    results = function(*map(_as_numpy, operands))
    broadcasted = [
        result if result.shape == spec.shape else np.broadcast_to(result, spec.shape)
        for result, spec in zip(results, operation.out_specs, strict=True)
    ]
    return broadcasted[0] if operation.single else broadcasted


def _as_numpy(array: Any) -> Any:
    """A view of an array on the CPU, which is waited for."""
    return array if _is_numpy(array) else np.asarray(array)


def _run_compiled(operation: Operation, operands: Sequence[Any], use: Use = Use.RESULTS) -> Any:
    """Run an operation's own executable."""
    STATISTICS.operation_compiles += compiled_operation(operation, use) is None
    results = _call_executable(operation, operands, use)
    return jax.block_until_ready(results) if _operand_bytes(operation) >= _LARGE else results


def _given_to_jax(operation: Operation, operands: Sequence[Any]) -> list[Any]:
    """Operands of an executable; JAX would copy from NumPy in its own time, and each time anew."""
    if isinstance(operation.device, Placement):
        return [x.put() if type(x) is PartArrays else x for x in operands]
    return [
        wrap_array(np.asarray(operand, order="C"), operation.device)
        if isinstance(operand, np.ndarray)
        else operand
        for operand in operands
    ]


def _call_executable(operation: Operation, operands: Sequence[Any], use: Use) -> Any:
    """The results of an executable, which JAX traces and compiles in its first call."""
    is_new = compiled_operation(operation, use) is None
    executable = operation_executable(operation, use)
    operands = _given_to_jax(operation, operands)
    if not is_new:
        return executable(*operands)
    with span(EventKind.COMPILATION, "compile an operator"), compiling():
        return run_without_interrupt(lambda: executable(*operands))


def _run_check(operation: Operation, operands: Sequence[Any]) -> tuple[int, int]:
    """The row of an operation's value check."""
    if isinstance(operation.device, Placement):
        function = numpy_function(operation, trace_check_on_parts(operation))
        if function is not None:
            return check_on_parts(operation, function, operands)
    trace = trace_check(operation) if operation.trace is not None else None
    function = numpy_function(operation, trace)
    if function is not None:
        bad, value = function(*map(_as_numpy, operands))
        return int(bad), int(value)
    row = _call_executable(operation, operands, Use.CHECK)
    bad, value = row if isinstance(row, tuple) else checks.local_rows(row, 1)[0]
    return int(bad), int(value)


def _last_uses(program: Program) -> dict[int, list[int]]:
    """For each instruction, the values that nothing after it needs."""
    last: dict[int, int] = {}
    for index, instruction in enumerate(program.instructions):
        for number in (*instruction.operands, *instruction.results):
            last[number] = index
    by_instruction: dict[int, list[int]] = {}
    outputs = set(program.outputs)
    for number, index in last.items():
        if number not in outputs:
            by_instruction.setdefault(index, []).append(number)
    return by_instruction
