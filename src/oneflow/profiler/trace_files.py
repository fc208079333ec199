"""Files of profiles: entries of the trace event format, and stacks for flame graphs."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from oneflow.base.device import platform_devices
from oneflow.profiler.averages import TimedEvent
from oneflow.runtime.memory import process_bytes

_NS_PER_US = 1e3
_METRICS = ("self_cpu_time_total", "cpu_time_total")
# The characters that separate callers, and a stack from its number.
_SEPARATOR_TABLE = str.maketrans(";\t\n", "___")


class MemoryUse(NamedTuple):
    """The memory in use after an operator.

    Attributes:
        time: the time in nanoseconds of `time.perf_counter_ns`.
        by_device: bytes by device.
    """

    time: int
    by_device: dict[str, int]


def bytes_in_use(device_type: str) -> dict[str, int]:
    """Return the bytes in use on the devices of a type that are this process's, by device."""
    if device_type == "cpu":
        used = process_bytes()
        return {} if used is None else {"cpu": used}
    devices = enumerate(platform_devices(device_type))
    statistics = {
        f"{device_type}:{index}": device.memory_stats() or {} for index, device in devices
    }
    return {name: counters.get("bytes_in_use", 0) for name, counters in statistics.items()}


def peak_bytes(uses: Iterable[MemoryUse]) -> dict[str, int]:
    """Return the most bytes by device."""
    peak_by_device: dict[str, int] = {}
    for use in uses:
        for device, number in use.by_device.items():
            peak_by_device[device] = max(number, peak_by_device.get(device, 0))
    return peak_by_device


def trace_entry(timed: TimedEvent, with_shapes: bool, with_flops: bool) -> dict[str, Any]:
    """Return a complete event of the trace event format, with times in microseconds."""
    event = timed.event
    details: dict[str, Any] = {}
    if with_shapes:
        details = {"Input Dims": event.shapes, "Input type": event.dtypes}
    if with_flops and timed.flops:
        details["FLOPs"] = timed.flops
    if event.output_bytes:
        details["Output bytes"] = event.output_bytes
    if event.stack:
        details["Call stack"] = ";".join(reversed(event.stack))
    return {
        "name": event.name,
        "cat": event.kind.value,
        "ph": "X",
        "ts": event.start / _NS_PER_US,
        "dur": (event.end - event.start) / _NS_PER_US,
        "pid": os.getpid(),
        "tid": event.thread,
        "args": details,
    }


def memory_entries(uses: Iterable[MemoryUse]) -> Iterator[dict[str, Any]]:
    """Yield counters of the trace event format, one for the devices after each operator."""
    for use in uses:
        if use.by_device:
            yield {
                "name": "bytes in use",
                "ph": "C",
                "ts": use.time / _NS_PER_US,
                "pid": os.getpid(),
                "args": use.by_device,
            }


def folded_stacks(events: Iterable[TimedEvent], metric: str) -> str:
    """Return the lines of a flame graph: callers and operator, and its microseconds.

    Raises:
        ValueError: an unknown metric.
    """
    if metric not in _METRICS:
        raise ValueError(f"`metric` must be one of {_METRICS}, got {metric!r}")
    times: Counter[str] = Counter()
    for event in events:
        if event.stack:
            frames = [*reversed(event.stack), event.name]
            times[";".join(frame.translate(_SEPARATOR_TABLE) for frame in frames)] += getattr(
                event, metric
            )
    return "".join(f"{stack} {round(time)}\n" for stack, time in times.items() if round(time))
