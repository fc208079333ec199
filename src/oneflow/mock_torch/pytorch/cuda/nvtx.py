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


__all__ = ["mark", "range"]
