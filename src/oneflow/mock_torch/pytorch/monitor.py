"""Events and statistics that a program hands to those who watch it."""

from __future__ import annotations

import enum
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING as TYPE_CHECKING, Any

STAT_EVENT = "torch.monitor.Stat"
data_value_t = str | float | int | bool


class Aggregation(enum.Enum):
    """Numbers that a `Stat` keeps of a window."""

    VALUE = 0
    MEAN = 2
    COUNT = 3
    SUM = 4
    MAX = 5
    MIN = 6

    def __int__(self) -> int:
        return self.value


COUNT, MAX, MEAN = Aggregation.COUNT, Aggregation.MAX, Aggregation.MEAN
MIN, SUM, VALUE = Aggregation.MIN, Aggregation.SUM, Aggregation.VALUE


class Event:
    """An event with data.

    Args:
        name: the name of the event.
        timestamp: when it happened.
        data: text, numbers and truth values by name.

    Raises:
        TypeError: other arguments than these.
    """

    def __init__(
        self, name: str, timestamp: datetime, data: Mapping[str, str | float | int | bool]
    ) -> None:
        if not isinstance(timestamp, datetime):
            raise TypeError(f"Event(): `timestamp` must be a datetime, got {timestamp!r}")
        if not all(isinstance(value, str | float | int) for value in data.values()):
            raise TypeError(f"Event(): `data` must hold text, numbers and truth values, got {data}")
        self.name, self.timestamp, self.data = name, timestamp, dict(data)


class EventHandlerHandle:
    """A handler that `register_event_handler` has registered."""

    def __init__(self, callback: Callable[[Event], Any]) -> None:
        self.callback = callback


_HANDLERS: list[EventHandlerHandle] = []


def register_event_handler(callback: Callable[[Event], Any]) -> EventHandlerHandle:
    """Call a function with each event from now on; the result is for `unregister_event_handler`."""
    handle = EventHandlerHandle(callback)
    _HANDLERS.append(handle)
    return handle


def unregister_event_handler(handler: EventHandlerHandle) -> None:
    """Call a function no more."""
    if handler in _HANDLERS:
        _HANDLERS.remove(handler)


def log_event(event: Event) -> None:
    """Hand an event to all handlers."""
    for handler in _HANDLERS[:]:
        handler.callback(event)


class Stat:
    """Statistics of numbers over windows of time, each of which becomes an event.

    Args:
        name: the name of the statistics; the event's data are ``name.sum`` and so on.
        aggregations: what is kept.
        window_size: length of a window. It ends with the first number after that.
        max_samples: so many numbers end a window earlier; more are dropped until its time is over.
    """

    def __init__(
        self,
        name: str,
        aggregations: Sequence[Aggregation],
        window_size: timedelta,
        max_samples: int = 2**63 - 1,
    ) -> None:
        self.name = name
        self._aggregations = tuple(aggregations)
        self._window, self._max_samples = window_size.total_seconds(), max_samples
        self._lock = threading.RLock()
        self._samples: list[float] = []
        self._result = dict.fromkeys(self._aggregations, 0.0)
        self._start, self._is_full = time.monotonic(), False

    @property
    def count(self) -> int:
        """The number of numbers in this window."""
        return len(self._samples)

    def add(self, v: float) -> None:
        """Add a number."""
        with self._lock:
            if time.monotonic() - self._start >= self._window:
                self._log()
                self._start, self._is_full = time.monotonic(), False
            if self._is_full:
                return
            self._samples.append(float(v))
            if len(self._samples) >= self._max_samples:
                self._is_full = True
                self._log()

    def get(self) -> dict[Aggregation, float]:
        """Return the statistics of the last window that has ended; zeros before."""
        return dict(self._result)

    def _log(self) -> None:
        """End the window, if it has numbers."""
        samples = self._samples
        if not samples:
            return
        self._samples = []
        numbers = {
            Aggregation.VALUE: samples[-1],
            Aggregation.MEAN: sum(samples) / len(samples),
            Aggregation.COUNT: float(len(samples)),
            Aggregation.SUM: sum(samples),
            Aggregation.MAX: max(samples),
            Aggregation.MIN: min(samples),
        }
        self._result = {kind: numbers[kind] for kind in self._aggregations}
        data = {f"{self.name}.{kind.name.lower()}": numbers[kind] for kind in self._aggregations}
        log_event(Event(STAT_EVENT, datetime.now(), data))

    def __del__(self) -> None:
        if hasattr(self, "_start"):
            self._log()


class TensorboardEventHandler:
    """A handler that writes statistics to a ``SummaryWriter``.

    Args:
        writer: gets ``add_scalar`` for each number.
    """

    def __init__(self, writer: Any) -> None:
        self._writer = writer

    def __call__(self, event: Event) -> None:
        """Write an event, if it is of statistics."""
        if event.name == STAT_EVENT:
            for name, number in event.data.items():
                self._writer.add_scalar(name, number, walltime=event.timestamp.timestamp())
