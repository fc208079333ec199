"""Intel's library of kernels, for which XLA has its own."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from oneflow.cuda.backends import is_unavailable as is_available

enabled = False


@contextlib.contextmanager
def flags(enabled: bool = False, **options: Any) -> Iterator[None]:
    """Choose in a block whether the library is used: it is not there.

    Args:
        enabled: whether it is.
        options: how exact it is.
    """
    yield


__all__ = ["enabled", "flags", "is_available"]
