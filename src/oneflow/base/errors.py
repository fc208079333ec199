"""Exceptions that users may want to catch."""

from __future__ import annotations


class OutOfMemoryError(RuntimeError):
    """A program needs more memory than its device has left.

    What it would have overwritten is as before.

    Example:
        >>> import oneflow as flow
        >>> issubclass(flow.OutOfMemoryError, RuntimeError)
        True
    """


def readable_size(size: int) -> str:
    """A number of bytes as people write it."""
    amount = float(size)
    for unit in ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB"):
        if amount < 1024 or unit == "PiB":
            return f"{size} bytes" if unit == "bytes" else f"{amount:.1f} {unit}"
        amount /= 1024
    raise AssertionError
