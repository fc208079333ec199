"""Looking at what eager code records, and waiting for what runs in the background."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from oneflow.base.device import CPU
from oneflow.base.location import user_line
from oneflow.passes.pipeline import PassGroup, run_passes
from oneflow.program.ir import Program, program_from_key
from oneflow.runtime.background import COMPILER
from oneflow.runtime.checks import raise_failed
from oneflow.runtime.eager import flush_all, recorder_for
from oneflow.tensor.reads import record_all
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import unwrap


def record(function: Callable[..., Any], *args: Any) -> Program:
    """The program that ``function(*args)`` records when nothing in it reads a value.

    Args:
        function: takes `args` and returns a tensor or a tuple of tensors.
        args: tensors on the CPU and anything else.

    Returns:
        The program, printable with `format_program`. Its inputs are in the order of their first
        use.

    Raises:
        RuntimeError: the function read a value, so that its program came in several pieces.

    Example:
        >>> import oneflow as flow
        >>> print(flow.eager.format_program(flow.eager.record(lambda x: x * 2.0 + x, flow.ones(2))))
        program(%0: float32[2], $1: float32) {
          %2: float32[2] = mul(%0, $1)
          %3: float32[2] = add(%2, %0)
          return %3
        }
    """
    for arg in args:
        if isinstance(arg, Tensor):
            unwrap(arg).read()
    flush_all("sync")
    with record_all():
        result = function(*args)
    results = result if isinstance(result, tuple | list) else (result,)
    recorder = recorder_for(CPU, user_line)
    values = [unwrap(tensor) for tensor in results]
    if any(value.recorder is not recorder for value in values):
        raise RuntimeError(
            "`function` read a value or returned an input; record() wants one program"
        )
    program = program_from_key(recorder.key, [value.position for value in values])
    return run_passes(program, PassGroup.PROGRAM)


def synchronize() -> None:
    """Run all recorded instructions and wait until background compilation has finished.

    Raises:
        Exception: a run-time check of something that this thread has run has failed.

    Example:
        >>> import oneflow as flow
        >>> flow.eager.synchronize()
    """
    flush_all("sync")
    COMPILER.wait()
    raise_failed()
