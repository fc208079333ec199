"""The schedule of a profile: which steps of a training loop are recorded."""

from __future__ import annotations

import enum
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


class ProfilerAction(enum.Enum):
    """The action of a profiler in a step.

    Example:
        >>> import oneflow as flow
        >>> plan = flow.profiler.schedule(wait=1, warmup=0, active=1)
        >>> [plan(step).name for step in range(2)]
        ['NONE', 'RECORD_AND_SAVE']
    """

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3

    @property
    def is_recording(self) -> bool:
        """True where events are kept."""
        return self in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


def schedule(
    *,
    wait: int,
    warmup: int,
    active: int,
    repeat: int = 0,
    skip_first: int = 0,
    skip_first_wait: int = 0,
) -> Callable[[int], ProfilerAction]:
    """Make a schedule for `profile`, in cycles of steps.

    Args:
        wait: steps at the beginning of each cycle in which nothing is done.
        warmup: steps after them, whose events are dropped.
        active: steps after them that are recorded.
        repeat: number of cycles; 0 goes on for ever.
        skip_first: steps before the first cycle.
        skip_first_wait: whether the first cycle begins with its warmup.

    Returns:
        A function from the number of a step to what is done in it.

    Raises:
        ValueError: a negative number, or no active step.

    Example:
        >>> import oneflow as flow
        >>> plan = flow.profiler.schedule(wait=1, warmup=0, active=2, repeat=1)
        >>> [plan(step).name for step in range(4)]
        ['NONE', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active < 1:
        raise ValueError(
            "Invalid profiler schedule arguments: `active` must be at least 1, the others at least "
            f"0, got {wait=}, {warmup=}, {active=}, {repeat=}, {skip_first=}"
        )

    def action(step: int) -> ProfilerAction:
        moved = step - skip_first + (wait if skip_first_wait else 0)
        cycle, place = divmod(moved, wait + warmup + active)
        if step < skip_first or (repeat and cycle >= repeat) or place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        is_last = place == wait + warmup + active - 1
        return ProfilerAction.RECORD_AND_SAVE if is_last else ProfilerAction.RECORD

    return action


def tensorboard_trace_handler(
    dir_name: str | os.PathLike[str], worker_name: str | None = None, use_gzip: bool = False
) -> Callable[[Any], None]:
    """Make a handler for `profile` that writes each trace to a file of its own.

    Args:
        dir_name: the folder, which is made if necessary.
        worker_name: how the files' names begin; by default host and process.
        use_gzip: compress them.

    Example:
        >>> import oneflow as flow
        >>> handler = flow.profiler.tensorboard_trace_handler("/tmp/traces")
        >>> callable(handler)
        True
    """

    def write(profile: Any) -> None:
        folder = Path(dir_name)
        folder.mkdir(parents=True, exist_ok=True)
        name = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        suffix = ".pt.trace.json.gz" if use_gzip else ".pt.trace.json"
        profile.export_chrome_trace(folder / f"{name}.{time.time_ns()}{suffix}")

    return write
