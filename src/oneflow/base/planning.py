"""Planning mode of a thread: nothing runs then, and no device is needed."""

from __future__ import annotations

import threading


class _PlanningState(threading.local):
    active = False


_state = _PlanningState()


def is_planning() -> bool:
    """Return whether this thread is inside `oneflow.plan.planning`."""
    return _state.active


def set_planning(active: bool) -> None:
    """Begin or end planning on this thread; `oneflow.runtime.planning_mode` does."""
    _state.active = active
