"""Ranges of a program that users name, for its profile."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable
from typing import Any, Self

from oneflow.runtime.eager import flush_all
from oneflow.runtime.events import SINK, EventKind, span
from oneflow.tensor.tensor import Tensor


class record_function(contextlib.ContextDecorator):
    """Context manager or decorator that gives what runs inside a name in a profile.

    While a profile is made, entering and leaving are sync points: what was recorded before runs
    before, and what is recorded inside runs inside.

    Args:
        name: the name of the range.
        args: shown beside it.

    Example:
        >>> import oneflow as flow
        >>> with flow.profiler.profile() as prof, flow.profiler.record_function("sum of ones"):
        ...     _ = flow.ones(3).sum()
        >>> "sum of ones" in prof.key_averages().table()
        True
    """

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name if args is None else f"{name}({args})"
        self._span = contextlib.ExitStack()

    def __enter__(self) -> Self:
        if SINK.record is not None:
            flush_all("sync")
            self._span.enter_context(span(EventKind.RANGE, self.name))
            self._span.callback(flush_all, "sync")
        return self

    def __exit__(self, *exception: Any) -> None:
        self._span.close()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Decorate a function: every call is a range of its own."""

        @functools.wraps(function)
        def recorded(*args: Any, **kwargs: Any) -> Any:
            with record_function(self.name):
                return function(*args, **kwargs)

        return recorded


class _OpenRanges(threading.local):
    """The ranges that `range_push` has opened on this thread."""

    def __init__(self) -> None:
        self.ranges: list[record_function] = []


_OPEN = _OpenRanges()


def range_push(range_name: str) -> None:
    """Open a range, which the next `range_pop` of this thread closes.

    Example:
        >>> import oneflow as flow
        >>> flow.profiler.range_push("step")
        >>> flow.profiler.range_pop()
    """
    _OPEN.ranges.append(record_function(range_name).__enter__())


def range_pop() -> None:
    """Close the range that was opened last.

    Raises:
        RuntimeError: none is open on this thread.

    Example:
        >>> import oneflow as flow
        >>> flow.profiler.range_push("step")
        >>> flow.profiler.range_pop()
    """
    if not _OPEN.ranges:
        raise RuntimeError("range_pop: no range is open on this thread; call `range_push` first")
    _OPEN.ranges.pop().__exit__()


def nvtx_start(x: Tensor, mark_prefix: str) -> Tensor:
    """Open a range where `x` has been computed; `nvtx_end` closes it.

    In a job function or graph, whose operators run as one program, the range is of its building.

    Args:
        x: what the operators in the range begin with.
        mark_prefix: the name of the range.

    Returns:
        `x` itself.

    Example:
        >>> import oneflow as flow
        >>> x = flow.profiler.nvtx_start(flow.ones(2), mark_prefix="layer")
        >>> flow.profiler.nvtx_end(x * 2, mark_prefix="layer").tolist()
        [2.0, 2.0]
    """
    range_push(mark_prefix)
    return x


def nvtx_end(x: Tensor, mark_prefix: str) -> Tensor:
    """Close the range that was opened last, where `x` has been computed.

    Args:
        x: what the operators in the range end with.
        mark_prefix: the name of the range.

    Returns:
        `x` itself.

    Raises:
        RuntimeError: the range that was opened last on this thread has another name.

    Example:
        >>> import oneflow as flow
        >>> x = flow.profiler.nvtx_start(flow.ones(2), mark_prefix="layer")
        >>> flow.profiler.nvtx_end(x * 2, mark_prefix="layer").tolist()
        [2.0, 2.0]
    """
    name = _OPEN.ranges[-1].name if _OPEN.ranges else None
    if name != mark_prefix:
        raise RuntimeError(
            f"nvtx_end: `mark_prefix` must name the range that was opened last, {name!r}, "
            f"got {mark_prefix!r}; call `nvtx_start` with that name first"
        )
    range_pop()
    return x
