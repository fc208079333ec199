"""Planning mode of a thread: nothing runs then, and no device is needed."""

from __future__ import annotations

import threading
from typing import Any


class _PlanningState(threading.local):
    active = False
    devices: tuple[Any, ...] = ()


_state = _PlanningState()


def is_planning() -> bool:
    """Return whether this thread is inside `oneflow.plan.planning`."""
    return _state.active


def set_planning(active: bool) -> None:
    """Begin or end planning on this thread; `oneflow.runtime.planning_mode` does."""
    _state.active = active


def planning_devices() -> tuple[Any, ...]:
    """Return XLA's devices that a plan uses in place of a placement's; empty: CPUs."""
    return _state.devices


def set_planning_devices(devices: tuple[Any, ...]) -> None:
    """Set the devices that a plan uses in place of a placement's; `compiler.topologies` does."""
    _state.devices = devices
