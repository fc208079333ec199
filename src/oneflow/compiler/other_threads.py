"""The ends of threads other than the main one, behind whose programs a small one is started.

XLA runs in order what one thread starts on a device. So the main thread can wait for its own
programs by one more; a thread starts that one itself when it ends, and its result is held.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from oneflow.base.device import Device, xla_device
from oneflow.compiler.jit_function import JitFunction

# Results of one byte of the threads that have ended last.
_results: deque[Any] = deque(maxlen=1024)


class _Devices(set[Device]):
    """The devices on which a thread has started programs; it goes when the thread ends."""

    def __init__(self) -> None:
        super().__init__()
        self._process = os.getpid()

    # Modules are empty by the time the interpreter drops the last ones.
    def __del__(
        self,
        getpid: Callable[[], int] = os.getpid,
        is_finalizing: Callable[[], bool] = sys.is_finalizing,
    ) -> None:
        if is_finalizing() or getpid() != self._process:  # a copy of it has no threads of XLA
            return
        with contextlib.suppress(Exception):
            for device in self:
                _results.append(small_program((xla_device(device),))())


class _ThreadDevices(threading.local):
    """The devices of this thread.

    Attributes:
        devices: on which it has started programs.
    """

    def __init__(self) -> None:
        self.devices = _Devices()


# A caller that starts a program on one device adds that device to `devices`.
THREAD = _ThreadDevices()


def last_results() -> list[Any]:
    """Results that are there when the programs of threads that have ended have run."""
    return list(_results)


@functools.lru_cache(maxsize=256)
def small_program(devices: tuple[Any, ...]) -> Any:
    """A function that starts a small program on all of some XLA devices."""
    sharding = NamedSharding(Mesh(np.array(devices), ("devices",)), PartitionSpec())
    return JitFunction(lambda: np.zeros((), np.bool_), devices, out_shardings=sharding)
