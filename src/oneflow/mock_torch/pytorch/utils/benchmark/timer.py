"""``torch.utils.benchmark.Timer``: measures statements as `timeit` does, and waits for results."""

from __future__ import annotations

import enum
import textwrap
import timeit
from collections.abc import Callable
from typing import Any

from oneflow.cuda.streams import synchronize_device
from oneflow.mock_torch.modules import MODULE_IN_PLACE
from oneflow.mock_torch.pytorch.utils.benchmark.measurement import Measurement, TaskSpec

Callback = Callable[[int, float], Any] | None


class Language(enum.Enum):
    """The language of a statement."""

    PYTHON = 0
    CPP = 1


def timer() -> float:
    """Return the time in seconds, when all that was called before is computed."""
    synchronize_device(None)
    return timeit.default_timer()


class Timer:
    """Measures how long a statement takes, results included.

    Args:
        stmt: the statement.
        setup: what is run before it.
        global_setup: the setup of statements in C++.
        timer: gives the time; by default when everything is computed.
        globals: the names that the statement knows.
        label: the name of the statement in texts.
        sub_label: what distinguishes it from others of the label.
        description: what distinguishes measurements of the same.
        env: the name of the environment.
        num_threads: is noted; XLA takes the number of its threads when it starts.
        language: the language of the statement.

    Raises:
        NotImplementedError: the statement is in C++.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     from torch.utils.benchmark import Timer
        >>> Timer("x + 1", globals={"x": 1}).timeit(100).number_per_run
        100
    """

    _timer_cls = timeit.Timer

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Language | str = Language.PYTHON,
    ) -> None:
        if language not in (Language.PYTHON, "py", "python"):
            raise NotImplementedError("`language`: statements are of Python, as nothing is in C++")
        names = {"torch": MODULE_IN_PLACE.value("torch"), **(globals or {})}
        stmt, setup = (textwrap.dedent(text.strip("\n")).strip() for text in (stmt, setup))
        self._task_spec = TaskSpec(
            stmt, setup, global_setup, label, sub_label, description, env, num_threads
        )
        self._clock = timer
        self._timer = self._timer_cls(stmt, setup, timer, names)

    def timeit(self, number: int = 1_000_000) -> Measurement:
        """Return the time of so many runs, after a hundredth of them, two at least."""
        self._timer.timeit(max(number // 100, 2))
        return self._measurement(number, [self._timer.timeit(number)])

    def blocked_autorange(
        self, callback: Callback = None, min_run_time: float = 0.2
    ) -> Measurement:
        """Return the times of blocks of runs, so many that reading the time costs nothing.

        Args:
            callback: is called with the runs of each block and its seconds.
            min_run_time: the seconds of all blocks together, at least.
        """
        return self._measure(min_run_time, lambda measurement: True, callback)

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callback = None,
    ) -> Measurement:
        """Return the times of blocks of runs, so many that they agree.

        Args:
            threshold: the distance of the quartiles, relative to the median, that is small enough.
            min_run_time: the seconds of all blocks together, at least.
            max_run_time: the seconds after which no more blocks are run.
            callback: is called with the runs of each block and its seconds.
        """

        def is_stable(measurement: Measurement) -> bool:
            return len(measurement.raw_times) > 3 and measurement.meets_confidence(threshold)

        return self._measure(min_run_time, is_stable, callback, max_run_time)

    def _measurement(self, number: int, times: list[float]) -> Measurement:
        return Measurement(number, times, self._task_spec)

    def _measure(
        self,
        seconds: float,
        is_stable: Callable[[Measurement], bool],
        callback: Callback,
        most: float = float("inf"),
    ) -> Measurement:
        number = self._runs_of_a_block(seconds)
        result, total = self._measurement(number, []), 0.0
        while total <= most and (total < seconds or not is_stable(result)):
            time = self._timer.timeit(number)
            result.raw_times.append(time)
            total += time
            if callback is not None:
                callback(number, time)
        return result

    def _runs_of_a_block(self, seconds: float) -> int:
        """Return so many runs that reading the time takes a thousandth of theirs at most."""
        reading = min(self._timer_cls("pass", timer=self._clock).timeit(0) for _ in range(5))
        number = 1
        while True:
            block = self._timer.timeit(number)
            is_long = block >= seconds / 1000 and reading <= block / 1000
            if is_long or block > seconds:
                return number
            number *= 10
