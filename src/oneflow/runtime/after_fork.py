"""Copies of this process made by `os.fork`: XLA's threads do not exist there.

What runs in XLA would wait for them for ever. So a copy of a process that has started XLA can read
what had been computed on the CPU before, and everything else raises. All of this is put in place in
the copy alone; the original pays nothing for it.
"""

from __future__ import annotations

from typing import Any, NoReturn

import jax

from oneflow.base import cluster
from oneflow.base.device import lose_devices
from oneflow.compiler.export import ImportedProgram
from oneflow.compiler.lower import Executable
from oneflow.program.recorder import Recorder
from oneflow.program.value import Value
from oneflow.runtime.background import BackgroundCompiler

_REASON = (
    'this process is a copy (made by `os.fork` or multiprocessing\'s start method "fork") of one '
    "that had used tensors, and XLA's threads do not exist in it: it can only read what was "
    "computed on the CPU before it was made. Start processes with "
    '`multiprocessing.get_context("spawn")` instead, or use tensors in them only'
)


def _refuse(*given: Any, **options: Any) -> NoReturn:
    raise RuntimeError(_REASON)


def _read(self: Value) -> Any:
    """The array of a value, if it is there to be read."""
    array: Any = self.array
    if array is None:
        _refuse()
    if isinstance(array, jax.Array):
        on_cpu = all(device.platform == "cpu" for device in array.devices())
        if not on_cpu or not array.is_ready():  # pyright: ignore[reportAttributeAccessIssue]
            _refuse()
    return array


# What runs programs, or waits for a thread that does.
_RUNS = (
    (Recorder, "flush"),
    (Executable, "__call__"),
    (ImportedProgram, "__call__"),
    (BackgroundCompiler, "wait"),
)


def disable_xla() -> None:
    """Let everything raise that needs XLA; runs in every new copy."""
    cluster.leave()
    if lose_devices(_REASON):
        for owner, name in _RUNS:
            setattr(owner, name, _refuse)
        Value.read = _read
