"""Counts of the eager virtual machine's work, for profiling."""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from time import perf_counter

from oneflow.primitives.trace_cache import TRACES


@dataclass
class EagerStatistics:
    """Counts since the start or the last `reset`.

    Attributes:
        values: values recorded (one per instruction, or per output of one that has several).
        flushes: number of flushes by reason (``read``, ``step``, ``limit``, ``immediate``,
            ``sync``).
        cold_runs: programs run op by op.
        hot_runs: programs run as one executable.
        operation_compiles: single operations compiled.
        program_compiles: whole programs compiled.
        lost_trials: programs that run op by op on, since as a whole they took longer.
        new_programs: program keys seen for the first time.
        compile_seconds: the seconds that compiling took, on any thread.
        cold_seconds: the seconds that programs ran op by op, with what they compiled and traced
            meanwhile.
        waiting_seconds: the seconds that reads waited for values under way, and long programs to be
            compiled.

    Example:
        >>> import oneflow as flow
        >>> before = flow.eager.statistics().values
        >>> (flow.ones(2) + 1).tolist()
        [2.0, 2.0]
        >>> flow.eager.statistics().values - before
        2
    """

    values: int = 0
    flushes: Counter = field(default_factory=Counter)
    cold_runs: int = 0
    hot_runs: int = 0
    operation_compiles: int = 0
    program_compiles: int = 0
    lost_trials: int = 0
    new_programs: int = 0
    compile_seconds: float = 0.0
    cold_seconds: float = 0.0
    waiting_seconds: float = 0.0
    _traced_before: float = field(default=0.0, repr=False)

    @property
    def tracing_seconds(self) -> float:
        """Seconds that JAX traced implementations of operators; once for each new operation."""
        return TRACES.seconds - self._traced_before

    def reset(self) -> None:
        """Set every count to zero."""
        self.__init__(_traced_before=TRACES.seconds)


STATISTICS = EagerStatistics()
_lock = threading.Lock()


@contextlib.contextmanager
def compiling() -> Iterator[None]:
    """Context manager: add the time spent inside to `compile_seconds`."""
    started = perf_counter()
    try:
        yield
    finally:
        with _lock:
            STATISTICS.compile_seconds += perf_counter() - started


def statistics() -> EagerStatistics:
    """The live counts of the eager virtual machine.

    Example:
        >>> import oneflow as flow
        >>> flow.eager.statistics().reset()
        >>> (flow.ones(2) + 1).sum().item()
        4.0
        >>> flow.eager.statistics().flushes["read"]
        1
    """
    return STATISTICS
