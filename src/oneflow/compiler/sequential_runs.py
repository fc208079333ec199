"""CPU programs with large temporaries run one at a time, and so share one memory.

XLA allocates a program's working memory on the C library's heap when the program starts and frees
it when the program ends. Two effects made a ResNet-50 step's peak 1.9 GB instead of 1.3:

- Results are announced before the working memory is freed. A thread that waits for them and starts
  the next program then takes the processor from the thread that was about to free it.
- The first runs find the heap as compiling and earlier steps left it, and allocate their working
  memory elsewhere each time. Memory that was used once stays with the process, see `tuning.linux`.
"""

from __future__ import annotations

import contextlib
import time
import weakref
from typing import Any, ClassVar

import jax

from oneflow.tuning.linux import trim_heap

# Bytes of working memory from which on a program is large; it takes ten milliseconds or more.
LARGE = 2**26
# The seconds that the thread which frees the memory needs at most.
_SLEEP_SECONDS = 0.0005
# Runs of a program before which free memory is returned to the system.
_TRIMMED_RUNS = (1, 2, 4)


class SequentialRuns:
    """The runs of one large program, each of which waits for the previous large program."""

    # One of the results of the large program that was started last.
    _latest: ClassVar[weakref.ref[Any] | None] = None

    def __init__(self) -> None:
        self._runs = 0

    def wait(self, arguments: tuple) -> None:
        """Wait until the previous program has freed its memory and the arguments are computed."""
        latest = SequentialRuns._latest and SequentialRuns._latest()
        if latest is not None:
            # It fails if that result has been overwritten, perhaps by another thread just now. The
            # arguments are then likely computed from it; its reader gets any other error.
            with contextlib.suppress(RuntimeError):
                latest.block_until_ready()
        jax.block_until_ready(arguments)
        time.sleep(_SLEEP_SECONDS)
        self._runs += 1
        if self._runs in _TRIMMED_RUNS:
            trim_heap()

    def note_start(self, results: list) -> None:
        """Remember the program that was started last, by one of its results."""
        if results:
            SequentialRuns._latest = weakref.ref(results[0])
