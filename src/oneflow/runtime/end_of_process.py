"""The end of the process, which waits for arrays that are still computed.

JAX waits for it only if its client goes with the interpreter, and ours does not: caches hold
objects of XLA that Python cannot find in cycles. The code of a program that still ran would then be
gone under it, and the process would end by a signal.
"""

from __future__ import annotations

import atexit
import contextlib
import os

import jax

from oneflow.base import cluster


def wait_at_exit() -> None:
    """Let the process wait at its end until its arrays have been computed."""
    atexit.register(_wait, os.getpid())


def _wait(process: int) -> None:
    # A copy of the process has no threads of XLA, and a rank that is gone answers no other.
    if os.getpid() != process or cluster.is_multiprocess():
        return
    for array in jax.live_arrays():
        with contextlib.suppress(Exception):  # overwritten, or an error that nobody has read
            array.block_until_ready()
