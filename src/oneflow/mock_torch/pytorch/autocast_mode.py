"""Names by which ``torch`` turns mixed precision on and off, beside those of `oneflow`."""

from __future__ import annotations

import threading

from oneflow.amp.autocast import is_autocast_enabled, set_autocast_enabled


class _Nesting(threading.local):
    """The number of blocks that a thread has entered by functions."""

    level = 0


_NESTING = _Nesting()


def is_autocast_cpu_enabled() -> bool:
    """Return whether mixed precision is on for the CPU."""
    return is_autocast_enabled("cpu")


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """Turn mixed precision on or off for the CPU."""
    set_autocast_enabled("cpu", enabled)


def autocast_increment_nesting() -> int:
    """Count a block that is entered; returns the number of those that are open."""
    _NESTING.level += 1
    return _NESTING.level


def autocast_decrement_nesting() -> int:
    """Count a block that is left; returns the number of those that are open."""
    _NESTING.level -= 1
    return _NESTING.level


__all__ = [
    "autocast_decrement_nesting",
    "autocast_increment_nesting",
    "is_autocast_cpu_enabled",
    "set_autocast_cpu_enabled",
]
