"""How much a process and those it has started have done: a sleeping process does nothing."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")
# A process counts as busy if it moved this much while it was watched.
_BUSY_BYTES = 1e6
_BUSY_SHARE = 0.05
# What measuring itself has read, which does not count.
_own_reading = 0.0


def activity() -> tuple[float, float]:
    """Seconds of processor time, and bytes read or written, of this process and its descendants."""
    statuses = _statuses()
    children: dict[int, list[int]] = {}
    for process, (parent, _) in statuses.items():
        children.setdefault(parent, []).append(process)
    seconds = moved = 0.0
    waiting = [os.getpid()]
    while waiting:
        process = waiting.pop()
        waiting += children.get(process, [])
        if process in statuses:
            seconds += statuses[process][1]
            moved += _bytes_moved(process)
    return seconds, moved - _own_reading


def is_busy(before: tuple[float, float], after: tuple[float, float], elapsed: float) -> bool:
    """Whether a process worked between two measurements that are `elapsed` seconds apart."""
    worked, moved = after[0] - before[0], after[1] - before[1]
    return worked > _BUSY_SHARE * elapsed or moved > _BUSY_BYTES


def _statuses() -> dict[int, tuple[int, float]]:
    """Parent and processor seconds of every process of the machine."""
    found = {}
    for name in os.listdir("/proc"):
        if name.isdecimal():
            with contextlib.suppress(OSError, IndexError, ValueError):
                # The command's name is in parentheses and may hold anything.
                fields = _read(name, "stat").rpartition(")")[2].split()
                found[int(name)] = int(fields[1]), (int(fields[11]) + int(fields[12])) / _TICKS
    return found


def _bytes_moved(process: int) -> float:
    with contextlib.suppress(OSError, ValueError):
        lines = _read(str(process), "io").split("\n")
        numbers = dict(line.split(": ") for line in lines if ": " in line)
        return float(numbers["rchar"]) + float(numbers["wchar"])
    return 0.0


def _read(process: str, name: str) -> str:
    global _own_reading
    text = Path("/proc", process, name).read_text()
    _own_reading += len(text)
    return text
