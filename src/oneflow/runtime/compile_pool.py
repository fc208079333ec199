"""Compilation of the operations of a cold program side by side.

A new program of which nothing is interpreted compiles each of its operations. XLA compiles one of
them on one core or two, so several are compiled at once, before the program runs.
"""

from __future__ import annotations

import contextlib
import os
from concurrent.futures import ThreadPoolExecutor

from oneflow.base.device import Device
from oneflow.base.environment import THREAD_PREFIX
from oneflow.compiler.lower import compile_operation, compiled_operation
from oneflow.primitives.operation import Operation
from oneflow.primitives.operators.update_unless_failed import update_unless_failed
from oneflow.program.ir import Program
from oneflow.runtime.counters import STATISTICS, compiling
from oneflow.runtime.events import EventKind, span

# Each compiles in memory of its own, and XLA's compiler for GPUs gains nothing from more: a LeNet's
# operators took 3.4 s with two threads on an H200, and 4.0 s with 16.
_MAX_THREADS = 4


def compile_operations(program: Program) -> None:
    """Compile the operations of a program that are not compiled, on several threads.

    One that fails is left as it is: it fails again when it is its turn, and then says where. An
    exception of a signal handler ends the wait when the operations that are being compiled are
    done.

    Args:
        program: a program on one device; nothing happens for one on a placement.
    """
    operations = {
        instruction.operation: None
        for instruction in program.instructions
        if compiled_operation(instruction.operation) is None
        and isinstance(instruction.operation.device, Device)
        and instruction.operation.primitive is not update_unless_failed
    }
    count = min(len(operations), os.cpu_count() or 1, _MAX_THREADS)
    if count < 2:
        return
    pool = ThreadPoolExecutor(count, f"{THREAD_PREFIX.read()}oneflow-operation-compiler")
    try:
        with span(EventKind.COMPILATION, f"compile {len(operations)} operators"):
            STATISTICS.operation_compiles += sum(pool.map(_compile, operations))
    finally:
        pool.shutdown(cancel_futures=True)


def _compile(operation: Operation) -> bool:
    """Compile an operation; return whether that succeeded."""
    with contextlib.suppress(Exception), compiling():
        compile_operation(operation)
        return True
    return False
