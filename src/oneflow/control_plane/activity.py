"""CPU time and I/O of a process and its descendants: a process that sleeps uses neither."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import NamedTuple

# A process below both of these between two measurements is idle.
_IDLE_BYTES = 1e6
_IDLE_CPU_SHARE = 0.05
# Bytes that the measurements themselves have read, which do not count.
_proc_bytes = 0.0


class Activity(NamedTuple):
    """CPU time and I/O of a process and its descendants since they started.

    Attributes:
        cpu_seconds: processor time in seconds.
        io_bytes: bytes read and written.
    """

    cpu_seconds: float
    io_bytes: float


def measure_activity() -> Activity:
    """Return the activity of this process and its descendants."""
    stats = _read_stats()
    children: dict[int, list[int]] = {}
    for process, (parent, _) in stats.items():
        children.setdefault(parent, []).append(process)
    seconds = io_bytes = 0.0
    pending = [os.getpid()]
    while pending:
        process = pending.pop()
        pending += children.get(process, [])
        if process in stats:
            seconds += stats[process][1]
            io_bytes += _io_bytes(process)
    return Activity(seconds, io_bytes - _proc_bytes)


def is_idle(before: Activity, after: Activity, elapsed: float) -> bool:
    """Return whether a process did nothing between two measurements `elapsed` seconds apart."""
    seconds = after.cpu_seconds - before.cpu_seconds
    io_bytes = after.io_bytes - before.io_bytes
    return seconds <= _IDLE_CPU_SHARE * elapsed and io_bytes <= _IDLE_BYTES


def _read_stats() -> dict[int, tuple[int, float]]:
    """Return the parent and the CPU seconds of every process of the machine."""
    stats = {}
    clock_rate = os.sysconf("SC_CLK_TCK")
    for name in os.listdir("/proc"):
        if name.isdecimal():
            with contextlib.suppress(OSError, IndexError, ValueError):
                # The command's name is in parentheses and may contain anything.
                fields = _read(name, "stat").rpartition(")")[2].split()
                stats[int(name)] = int(fields[1]), (int(fields[11]) + int(fields[12])) / clock_rate
    return stats


def _io_bytes(process: int) -> float:
    with contextlib.suppress(OSError, ValueError):
        lines = _read(str(process), "io").split("\n")
        numbers = dict(line.split(": ") for line in lines if ": " in line)
        return float(numbers["rchar"]) + float(numbers["wchar"])
    return 0.0


def _read(process: str, name: str) -> str:
    global _proc_bytes
    text = Path("/proc", process, name).read_text()
    _proc_bytes += len(text)
    return text
