"""Streams and events by PyTorch's names.

XLA orders what runs on a device by what depends on what. There is one stream; an event waits until
everything recorded before it has run, and remembers when that was.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from time import perf_counter
from typing import Any

from oneflow.base.device import CPU, Device, are_devices_in_use
from oneflow.cuda.devices import gpu, is_available
from oneflow.runtime.checks import raise_failed
from oneflow.runtime.eager import flush_all
from oneflow.runtime.memory import wait_for


class Event:
    """A point in the work of a device.

    Args:
        enable_timing: keep the time, for `elapsed_time`.
        blocking: accepted for PyTorch's sake.
        interprocess: accepted for PyTorch's sake.

    Example:
        >>> import oneflow as flow
        >>> start, end = (flow.cuda.Event(enable_timing=True) for _ in range(2))
        >>> start.record()
        >>> x = flow.ones(3) + 1
        >>> end.record()
        >>> start.elapsed_time(end) >= 0
        True
    """

    def __init__(
        self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False
    ) -> None:
        self._enable_timing = enable_timing
        self._time: float | None = None

    def record(self, stream: Stream | None = None) -> None:
        """Wait until everything before has run, and keep the time."""
        synchronize_device(None if stream is None else stream.device)
        self._time = perf_counter()

    def wait(self, stream: Stream | None = None) -> None:
        """Return at once: later programs depend on earlier ones anyway."""

    def query(self) -> bool:
        """Return True: the work recorded before the event has run."""
        return True

    def synchronize(self) -> None:
        """Return at once: the work recorded before the event has run."""

    def elapsed_time(self, end_event: Event) -> float:
        """Return the milliseconds from this event to another.

        Raises:
            ValueError: an event was not recorded, or was made without `enable_timing`.
        """
        for event in (self, end_event):
            if not event._enable_timing:
                raise ValueError("both events must be made with `enable_timing=True`")
        if self._time is None or end_event._time is None:
            raise ValueError("both events must be recorded before their distance is asked for")
        return 1e3 * (end_event._time - self._time)


class Stream:
    """The queue of a device; each device has one.

    Args:
        device: the device, by default the current GPU, or the CPU without one.
        priority: accepted for PyTorch's sake.

    Example:
        >>> import oneflow as flow
        >>> with flow.cuda.stream(flow.cuda.Stream()):
        ...     x = flow.ones(3) + 1
        >>> flow.cuda.current_stream().synchronize()
    """

    def __init__(self, device: Device | str | int | None = None, priority: int = 0) -> None:
        self.device = gpu(device) if device is not None or is_available() else CPU

    def synchronize(self) -> None:
        """Wait until the device has run everything."""
        synchronize_device(self.device)

    def query(self) -> bool:
        """Wait until the device has run everything, and return True."""
        self.synchronize()
        return True

    def wait_stream(self, stream: Stream) -> None:
        """Return at once: operations wait for those whose results they take."""

    def wait_event(self, event: Event) -> None:
        """Return at once: operations wait for those whose results they take."""

    def record_event(self, event: Event | None = None) -> Event:
        """Record an event, by default a new one, and return it."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and self.device == other.device

    def __hash__(self) -> int:
        return hash(self.device)


def current_stream(device: Device | str | int | None = None) -> Stream:
    """Return the stream of a device, by default the current one.

    Example:
        >>> import oneflow as flow
        >>> flow.cuda.current_stream() == flow.cuda.default_stream()
        True
    """
    return Stream(device)


default_stream = current_stream


def stream(stream: Stream | None) -> AbstractContextManager[Any]:
    """Context manager that changes nothing: a device has one stream.

    Example:
        >>> import oneflow as flow
        >>> with flow.cuda.stream(flow.cuda.Stream()):
        ...     x = flow.ones(3)
    """
    return nullcontext(stream)


def synchronize_device(device: Device | None) -> None:
    """Run the recorded instructions, and wait for a device; by default the current one."""
    flush_all("sync")
    if are_devices_in_use():  # else nothing runs, and looking for a device would start XLA
        wait_for(Stream().device if device is None else device)
    raise_failed()
