"""Names that ``torch.cuda.nvtx`` has beside `oneflow.profiler`: ranges with a name."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from oneflow.profiler import record_function


@contextlib.contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """Give what runs inside a name in a profile; the arguments are put into it by `format`."""
    with record_function(msg.format(*args, **kwargs)):
        yield


def mark(msg: str) -> None:
    """Put a name into a profile."""
    with record_function(msg):
        pass


_open: dict[int, record_function] = {}


def range_start(msg: str) -> int:
    """Begin to give what runs a name in a profile, and return what `range_end` takes.

    Args:
        msg: the name.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        >>> started = torch.cuda.nvtx.range_start("step")
        >>> torch.cuda.nvtx.range_end(started)
    """
    span = record_function(msg)
    span.__enter__()
    _open[id(span)] = span
    return id(span)


def range_end(range_id: int) -> None:
    """End what `range_start` began.

    Args:
        range_id: what it returned.

    Raises:
        KeyError: it has ended, or never begun.
    """
    _open.pop(range_id).__exit__(None, None, None)


__all__ = ["mark", "range", "range_end", "range_start"]
