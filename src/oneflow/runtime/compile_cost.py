"""Estimates of the time for which XLA compiles programs that write to parts of arrays."""

from __future__ import annotations

from typing import Any

from oneflow.primitives.jax_primitives import SCATTER_REDUCTIONS, called_jaxpr
from oneflow.primitives.operation import Operation
from oneflow.program.ir import Program

# Measured on the CPU, in seconds of one core: `x[i, j] = 1` 0.018, `x[i, j] += 1`, which writes to
# the view and to its base, 0.068, `x[index] += 1` 0.065, `scatter_add` 0.039. All else took 0.001
# to 0.005, but a loop (`cumsum`) 0.04 and a sort 0.01.
_WRITE_SECONDS = 0.03
_WRITES = frozenset(SCATTER_REDUCTIONS) | {"dynamic_update_slice"}


def seconds_for_writes(program: Program) -> float:
    """Seconds that XLA takes to compile a program's writes to parts of arrays, by estimate."""
    return _WRITE_SECONDS * sum(
        _write_count(instruction.operation) for instruction in program.instructions
    )


def _write_count(operation: Operation) -> int:
    """The number of writes to parts of arrays that one operation is traced to."""
    trace = operation.trace
    if trace is None:
        return 0
    traces = [trace, *(part for _, part in trace.parts)]
    return sum(_writes_in(traced.jaxpr) for traced in traces if traced.jaxpr is not None)


def _writes_in(jaxpr: Any) -> int:
    count = 0
    for equation in jaxpr.eqns:
        name = equation.primitive.name
        called = called_jaxpr(name, equation.params)
        count += name in _WRITES
        if called is not None:
            count += _writes_in(getattr(called, "jaxpr", called))
    return count
