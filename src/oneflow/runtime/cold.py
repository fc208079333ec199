"""Running a program instruction by instruction, each with its own executable.

An instruction that fails takes with it only what is computed from its results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from oneflow.base.errors import OutOfMemoryError
from oneflow.base.quantities import bytes_text
from oneflow.base.uninterruptible import run_uninterruptible
from oneflow.compiler.lower import check_executable, operation_executable, typed_scalar
from oneflow.primitives.operation import Operation
from oneflow.primitives.operators.checked_update import update_unless_failed
from oneflow.program.ir import Program
from oneflow.runtime import checks
from oneflow.runtime.counters import STATISTICS

# Bytes of operands and results from which on an instruction is waited for: XLA says only then
# whether it found the memory.
_LARGE = 2**26


class FailedResult:
    """Stands for a result that could not be computed.

    Attributes:
        error: why.
    """

    __slots__ = ("error",)

    def __init__(self, error: Exception) -> None:
        self.error = error


def run_cold(
    program: Program, arrays: Sequence[Any], scalars: Sequence[Any]
) -> tuple[list[Any], Any]:
    """Run a program. Values are freed after their last use.

    Returns:
        The outputs, with a `FailedResult` for each that could not be computed, and the rows of the
        run-time checks or None.
    """
    numbers = [
        typed_scalar(s, spec.dtype.numpy) for s, spec in zip(scalars, program.scalars, strict=True)
    ]
    environment: dict[int, Any] = dict(enumerate((*arrays, *numbers)))
    last_use = _last_uses(program)
    rows: list[tuple[int, int]] = []
    for index, instruction in enumerate(program.instructions):
        operands = [environment[number] for number in instruction.operands]
        results = _run_instruction(instruction.operation, operands, rows)
        environment.update(zip(instruction.results, results, strict=True))
        for number in last_use.get(index, ()):
            del environment[number]
    outputs = [environment[number] for number in program.outputs]
    return outputs, np.array(rows) if rows else None


def _run_instruction(
    operation: Operation, operands: list[Any], rows: list[tuple[int, int]]
) -> Sequence[Any]:
    """The results of an operation, `FailedResult` where there is none.

    Args:
        operation: what to run.
        operands: its operands.
        rows: of the checks before it; its own is added.
    """
    if operation.primitive is update_unless_failed:
        old, new = operands
        return [old if _has_failed(rows[: operation.attributes["checks"]]) else new]
    failure = next((each for each in operands if type(each) is FailedResult), None)
    results: Any = None
    row = 0, 0
    if failure is None:
        try:
            results = _run_operation(operation, operands)
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
    if update is not None and _has_failed(rows):
        for operand, result in update.replaced(operation):
            results[result] = operands[operand]
    return results


def _has_failed(rows: Sequence[tuple[int, int]]) -> bool:
    return any(bad for bad, _ in rows)


def _run_operation(operation: Operation, operands: list[Any]) -> Any:
    """What one operation returns.

    Raises:
        OutOfMemoryError: there is not enough memory.
    """
    specs = (*operation.in_specs, *operation.out_specs)
    size = sum(spec.nbytes for spec in specs)
    try:
        is_new = operation.executable is None
        STATISTICS.operation_compiles += is_new
        executable = operation_executable(operation)
        results = _call_new(executable, operands) if is_new else executable(*operands)
        return jax.block_until_ready(results) if size >= _LARGE else results
    except jax.errors.JaxRuntimeError as error:
        if "RESOURCE_EXHAUSTED" not in str(error):
            raise
        made = ", ".join(map(repr, operation.out_specs))
        raise OutOfMemoryError(
            f"out of memory: `{operation.primitive.name}`, which makes {made} "
            f"({bytes_text(size)} with its operands), found too little on "
            f"`{operation.device}`; use a smaller batch, or keep fewer tensors"
        ) from error


def _call_new(executable: Callable, operands: Sequence[Any]) -> Any:
    """What an executable returns that JAX traces and compiles in this call."""
    return run_uninterruptible(lambda: executable(*operands))


def _run_check(operation: Operation, operands: Sequence[Any]) -> tuple[int, int]:
    is_new = operation.check_executable is None
    executable = check_executable(operation)
    row = _call_new(executable, operands) if is_new else executable(*operands)
    bad, value = row if isinstance(row, tuple) else checks.own_rows(row, 1)[0]
    return int(bad), int(value)


def _last_uses(program: Program) -> dict[int, list[int]]:
    """For each instruction, the values that nothing after it needs."""
    last: dict[int, int] = {}
    for index, instruction in enumerate(program.instructions):
        for number in (*instruction.operands, *instruction.results):
            last[number] = index
    by_instruction: dict[int, list[int]] = {}
    kept = set(program.outputs)
    for number, index in last.items():
        if number not in kept:
            by_instruction.setdefault(index, []).append(number)
    return by_instruction
