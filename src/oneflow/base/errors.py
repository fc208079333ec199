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
