"""Programs for the CPU that need much working memory: keeping it in one place.

XLA takes a program's working memory from the C library's heap when the program starts and gives it
back when it is over. Two things made a ResNet-50 step's peak 1.9 GB instead of 1.3:

- Results are announced before the working memory is given back. Whoever waits for them and starts
  the next program then takes the processor from the thread that was about to do so.
- The first runs find the heap as compiling and the steps before left it, and lay their working
  memory elsewhere each time. What was used once stays with the process, see `base.heap`.
"""

from __future__ import annotations

import contextlib
import time
import weakref
from typing import Any, ClassVar

import jax

from oneflow.tuning.linux import trim_heap

# Bytes of working memory from which on it matters; such a program takes ten milliseconds or more.
LARGE = 2**26
# What the thread that gives the memory back needs at most, in seconds.
_PAUSE = 0.0005
# Runs before which free memory goes back to the system.
_SETTLING_RUNS = (1, 2, 4)


class SequentialRuns:
    """Lets a large program start only when the one before is over and its memory given back."""

    # One of the results of the large program that was started last.
    _latest: ClassVar[weakref.ref[Any] | None] = None

    def __init__(self) -> None:
        self._runs = 0

    def wait(self, arguments: tuple) -> None:
        """Wait for the turn of a program with these arguments."""
        latest = SequentialRuns._latest and SequentialRuns._latest()
        if latest is not None:
            # It fails if that result has been overwritten, by another thread even now. What was
            # made of it is then likely among the arguments. Whoever reads it meets other errors.
            with contextlib.suppress(RuntimeError):
                latest.block_until_ready()
        jax.block_until_ready(arguments)
        time.sleep(_PAUSE)
        self._runs += 1
        if self._runs in _SETTLING_RUNS:
            trim_heap()

    def note_start(self, results: list) -> None:
        """Note that it has been started."""
        if results:
            SequentialRuns._latest = weakref.ref(results[0])
