"""Trials of programs that are compiled before they have run: the steps of graphs.

A step that takes long as a whole runs cold a few times. A cold run is given up once it has taken as
long as the shortest one as a whole, since it can only lose then: so a step whose cold form is the
slower one, as nearly all are, loses the time of one run by its trial.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any

import jax

from oneflow.compiler.lower import Executable
from oneflow.program.liveness import memory_of
from oneflow.runtime.cold import FailedResult, is_interpreted, run_cold
from oneflow.runtime.counters import STATISTICS
from oneflow.runtime.eager_settings import SETTINGS
from oneflow.runtime.trial import RETRY_AFTER, Trial, needs_trial
from oneflow.tuning.linux import can_allocate


class StepTrial:
    """The choice, for each run of a compiled step, between the whole and one op after another.

    Operations that NumPy would take long for are compiled in cold runs, too, which costs as much as
    it can gain. So a step with such an instruction has no trial.

    Attributes:
        is_cold: the run that was chosen last is op by op.
        is_over: all further runs are as a whole.

    Args:
        executable: the step, compiled.
    """

    def __init__(self, executable: Executable) -> None:
        self.is_cold = self.is_over = False
        self._executable = executable
        self._trial = Trial(executable, math.inf)
        self._runs = self._cold_until = 0
        # Seconds of the shortest run as a whole in the trial before this one.
        self._fastest_hot = math.inf
        self._is_candidate: bool | None = None

    def next_run(self) -> Callable[..., Any]:
        """Return the function that runs the next step.

        Nothing is tried if programs are compiled on request, and not when that pays.
        """
        self._runs += 1
        self.is_cold = False
        if SETTINGS.mode != "deferred" or not SETTINGS.background or self._trial.is_won:
            self.is_over = True
            return self._executable
        if self._trial.is_lost:
            self._trial.report(self._executable.program)
            self._fastest_hot = self._trial.fastest_hot
            self._trial = Trial(self._executable, math.inf)
            self._cold_until = RETRY_AFTER * self._runs
        is_waiting = self._runs <= self._cold_until
        if not is_waiting and not self._trial.is_cold_next:
            return self._trial
        self.is_over = not is_waiting and not self._may_run_cold()
        self.is_cold = not self.is_over
        return self._executable if self.is_over else self._run_cold

    def _may_run_cold(self) -> bool:
        """Return whether the step may be quicker cold, and has the memory for that."""
        program = self._executable.program
        if not needs_trial(self._trial.fastest_hot):
            return False
        if self._is_candidate is None:
            self._is_candidate = is_interpreted(program)
        return self._is_candidate and can_allocate(memory_of(program, ()).peak)

    def _run_cold(
        self, arrays: Sequence[Any], scalars: Sequence[Any], returned: list[Any], failed: Any = None
    ) -> Any:
        """Run the step op by op; as a whole if that takes too long, or fails."""
        jax.block_until_ready(arrays)
        limit = min(self._fastest_hot, self._trial.fastest_hot)
        started = perf_counter()
        outputs: list[Any] = []
        results = None
        is_done = False
        with contextlib.suppress(Exception):  # nothing is lost: a cold run keeps its inputs
            outputs, results = run_cold(self._executable.program, arrays, scalars, limit)
            is_done = not any(type(output) is FailedResult for output in outputs)
        if not is_done:
            self._trial.note_cold_run(limit)
            self._cold_until = 0
            return self._executable(arrays, scalars, returned, failed)
        self._trial.note_cold_run(perf_counter() - started)
        STATISTICS.cold_runs += 1
        return outputs, results
