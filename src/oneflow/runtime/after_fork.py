"""Child processes made by `os.fork`, in which XLA's threads do not exist.

A program would wait for them forever. So a child of a process that has started XLA can read
values that had been computed on the CPU before, and everything else raises. The methods are
replaced in the child alone; the parent pays nothing for it.
"""

from __future__ import annotations

from typing import Any, NoReturn

import jax

from oneflow.base import cluster
from oneflow.base.device import invalidate_devices
from oneflow.compiler.export import ImportedProgram
from oneflow.compiler.lower import Executable
from oneflow.program.value import Value
from oneflow.runtime.background import BackgroundCompiler
from oneflow.runtime.eager import EagerRecorder

_REASON = (
    'this process is a copy (made by `os.fork` or multiprocessing\'s start method "fork") of one '
    "that had used tensors, and XLA's threads do not exist in it: it can only read what was "
    "computed on the CPU before it was made. Start processes with "
    '`multiprocessing.get_context("spawn")` instead, or use tensors in them only'
)


def _raise_after_fork(*arguments: Any, **options: Any) -> NoReturn:
    raise RuntimeError(_REASON)


def _read(self: Value) -> Any:
    """The array of a value, if it is there to be read."""
    array: Any = self.array
    if array is None:
        _raise_after_fork()
    if isinstance(array, jax.Array):
        on_cpu = all(device.platform == "cpu" for device in array.devices())
        if not on_cpu or not array.is_ready():  # pyright: ignore[reportAttributeAccessIssue]
            _raise_after_fork()
    return array


# The methods that run programs, or wait for a thread that does.
_RUNS = (
    (EagerRecorder, "flush"),
    (Executable, "__call__"),
    (ImportedProgram, "__call__"),
    (BackgroundCompiler, "wait"),
)


def disable_xla() -> None:
    """Make everything that needs XLA raise; runs in every new child."""
    cluster.leave()
    if invalidate_devices(_REASON):
        for owner, name in _RUNS:
            setattr(owner, name, _raise_after_fork)
        Value.read = _read
