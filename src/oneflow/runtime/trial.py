"""Trials: a program runs as a whole only if that is no slower than one instruction after another.

XLA compiles some operations into code that takes longer than NumPy: convolutions of small images
with many channels, for one. So the first runs of a compiled program are timed beside cold ones.
"""

from __future__ import annotations

import logging
import math
from collections import deque
from collections.abc import Sequence
from time import perf_counter
from typing import Any

import jax

from oneflow.compiler.lower import Executable
from oneflow.program.ir import Program
from oneflow.runtime.counters import STATISTICS

logger = logging.getLogger("oneflow.eager")
# Seconds of a cold run below which a program needs no trial: most of them are Python's, and waking
# a thread takes as long where other processes use the cores.
_SHORT = 0.005
# Runs of each kind after which a trial ends.
_RUNS = 3
# The factor by which a run as a whole may take longer: clocks and other processes blur as much.
_TOLERANCE = 1.1
# A program that lost its trial has another once it has had this many times as many runs.
RETRY_AFTER = 4
# The reports of programs that lost their trial, the newest last.
LOSERS: deque[str] = deque(maxlen=32)


class Trial:
    """The first runs of a compiled program, and cold runs between them.

    The two kinds of runs take turns, so that both meet what else the machine is doing. The
    program wins as soon as one run as a whole is no longer than the shortest cold one. One that has
    not run before runs as a whole first, a few times.

    Args:
        executable: the program, compiled.
        fastest_cold: seconds of the shortest cold run before the trial; infinite: there was none.

    Attributes:
        executable: the program, compiled.
        guarded: it takes the flag of failed checks.
    """

    def __init__(self, executable: Executable, fastest_cold: float) -> None:
        self.executable = executable
        self.guarded = executable.guarded
        self._fastest_cold = fastest_cold
        self._fastest_hot = math.inf
        self._hot_runs = self._cold_runs = 0
        # Runs as a whole before the first cold one, besides its own.
        self._hot_first = 0 if math.isfinite(fastest_cold) else _RUNS - 1

    def __call__(
        self, arrays: Sequence[Any], scalars: Sequence[Any], returned: list[Any], failed: Any = None
    ) -> Any:
        """Run the program as a whole, as its executable does, until its results are there."""
        jax.block_until_ready(arrays)
        started = perf_counter()
        results = self.executable(arrays, scalars, returned, failed)
        jax.block_until_ready(results)
        self._fastest_hot = min(self._fastest_hot, perf_counter() - started)
        self._hot_runs += 1
        return results

    def sorted_results(self, results: Sequence[Any]) -> tuple[list[Any], Any]:
        """The outputs of a run in the order of the executable's."""
        return self.executable.sorted_results(results)

    def note_cold_run(self, seconds: float) -> None:
        """Take a cold run into account."""
        self._fastest_cold = min(self._fastest_cold, seconds)
        self._cold_runs += 1

    @property
    def is_won(self) -> bool:
        """True once the program has been as quick as a whole as in a cold run."""
        return self._fastest_hot <= self._fastest_cold * _TOLERANCE < math.inf

    @property
    def is_lost(self) -> bool:
        """True once the program has had its runs, and was slower as a whole in each."""
        return not self.is_won and min(self._hot_runs, self._cold_runs) >= _RUNS

    @property
    def is_cold_next(self) -> bool:
        """True if the next run is a cold one."""
        return self._cold_runs < self._hot_runs - self._hot_first

    @property
    def fastest_hot(self) -> float:
        """Seconds of the shortest run as a whole."""
        return self._fastest_hot

    def report(self, program: Program) -> None:
        """Count the trial as lost, and say that the program runs cold on."""
        STATISTICS.lost_trials += 1
        names = [instruction.operation.primitive.name for instruction in program.instructions]
        LOSERS.append(
            f"a program of {len(names)} operators (`{names[0]}` to `{names[-1]}`) keeps running op "
            f"by op: that takes {self._fastest_cold * 1e3:.1f} ms, and as a whole "
            f"{self._fastest_hot * 1e3:.1f} ms"
        )
        logger.info("%s", LOSERS[-1])


def needs_trial(fastest: float) -> bool:
    """Return whether a program is to be timed before it stays compiled.

    Args:
        fastest: seconds of its shortest run before the trial, of the kind that comes first.
    """
    return fastest >= _SHORT
