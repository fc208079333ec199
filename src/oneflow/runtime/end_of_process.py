"""The end of the process, which waits for programs that still run.

JAX waits for it only if its client goes with the interpreter, and ours does not: caches hold
objects of XLA that Python cannot find in cycles. The code of a program that still ran would then be
gone under it, and the process would end by a signal.

Arrays can be asked whether they are there. A program whose results are all gone cannot be asked;
but XLA runs what one thread starts on a device in order, and what any thread starts on several
devices, too. So a small program that is started last ends last. Other threads start one when they
end (`compiler/other_threads.py`).
"""

from __future__ import annotations

import atexit
import contextlib
import math
import os
import time
from collections.abc import Iterator
from typing import Any

import jax

from oneflow.base import cluster
from oneflow.compiler.other_threads import last_results, small_program
from oneflow.runtime.daemon_threads import end_daemon_threads

# A rank may wait for one that is gone; those that are there have ended their scripts by now.
_SECONDS_FOR_OTHER_RANKS = 10.0
_POLL_INTERVAL = 0.01


def wait_at_exit() -> None:
    """Make the process wait at its end until its programs have run."""
    atexit.register(_wait, os.getpid())


def _wait(process: int) -> None:
    if os.getpid() != process:  # a copy of the process has no threads of XLA
        return
    end_daemon_threads()
    is_rank = cluster.is_multiprocess()
    limit = time.monotonic() + (_SECONDS_FOR_OTHER_RANKS if is_rank else math.inf)
    for arrays in (jax.live_arrays, last_results, _results_of_this_thread):
        with contextlib.suppress(Exception):  # no memory is left for a small program
            for array in arrays():
                _wait_for(array, limit)


def _wait_for(array: Any, limit: float) -> None:
    with contextlib.suppress(Exception):  # overwritten, or an error that nobody has read
        if limit == math.inf:
            array.block_until_ready()
        while not array.is_ready() and time.monotonic() < limit:
            time.sleep(_POLL_INTERVAL)


def _results_of_this_thread() -> Iterator[Any]:
    """Results of programs that run after all that this thread has started."""
    devices = jax.local_devices()
    if not any(device.client.live_executables() for device in devices):
        return  # nothing has been compiled
    # One device alone is a group once.
    for group in dict.fromkeys([*((device,) for device in devices), tuple(devices)]):
        yield small_program(group)()
