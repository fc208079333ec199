"""Estimates of time: for what XLA compiles writes to parts of arrays, and for a cold run."""

from __future__ import annotations

from typing import Any

from oneflow.primitives.inference import trace_on_parts
from oneflow.primitives.jax_primitives import SCATTER_REDUCTIONS, called_jaxpr
from oneflow.primitives.operation import Operation
from oneflow.primitives.traits import Kind
from oneflow.program.ir import Program
from oneflow.runtime.cold import numpy_function, seconds_on_numpy

# Measured on the CPU, in seconds of one core: `x[i, j] = 1` 0.018, `x[i, j] += 1`, which writes to
# the view and to its base, 0.068, `x[index] += 1` 0.065, `scatter_add` 0.039. All else took 0.001
# to 0.005, but a loop (`cumsum`) 0.04 and a sort 0.01.
_WRITE_SECONDS = 0.03
# Seconds of a cold instruction besides what NumPy does, and of each byte of one that XLA computes.
_INSTRUCTION_SECONDS = 1e-5
_BYTE_SECONDS = 1e-9
_WRITES = frozenset(SCATTER_REDUCTIONS) | {"dynamic_update_slice"}


def seconds_for_writes(program: Program) -> float:
    """Seconds that XLA takes to compile a program's writes to parts of arrays, by estimate."""
    return _WRITE_SECONDS * sum(
        _write_count(instruction.operation) for instruction in program.instructions
    )


def seconds_for_cold_run(program: Program) -> float:
    """Seconds that a cold run of a program takes on a CPU, by estimate; the same on all ranks."""
    return sum(_cold_seconds(instruction.operation) for instruction in program.instructions)


def _cold_seconds(operation: Operation) -> float:
    if operation.primitive.traits.kind is Kind.BOXING:
        return _INSTRUCTION_SECONDS
    trace = trace_on_parts(operation) if _runs_on_parts(operation) else operation.trace
    function = numpy_function(operation, trace)
    if function is None or trace is None:
        nbytes = sum(spec.nbytes for spec in (*operation.in_specs, *operation.out_specs))
        return _INSTRUCTION_SECONDS + _BYTE_SECONDS * nbytes
    return _INSTRUCTION_SECONDS + seconds_on_numpy(function, operation, trace)


def _write_count(operation: Operation) -> int:
    """The number of writes to parts of arrays that one operation is traced to."""
    trace = operation.trace
    if _runs_on_parts(operation):
        trace = trace_on_parts(operation)  # which its cold run has made
    if trace is None:
        return 0
    traces = [trace, *(part for _, part in trace.parts)]
    return sum(_writes_in(traced.jaxpr) for traced in traces if traced.jaxpr is not None)


def _runs_on_parts(operation: Operation) -> bool:
    """Return whether a cold run traces an operation on parts of global tensors."""
    is_conversion = operation.primitive.traits.kind is Kind.BOXING
    return operation.signature is not None and operation.device.type == "cpu" and not is_conversion


def _writes_in(jaxpr: Any) -> int:
    count = 0
    for equation in jaxpr.eqns:
        name = equation.primitive.name
        called = called_jaxpr(name, equation.params)
        count += name in _WRITES
        if called is not None:
            count += _writes_in(getattr(called, "jaxpr", called))
    return count
