"""Exceptions that users may want to catch."""

from __future__ import annotations


class OutOfMemoryError(RuntimeError):
    """A program needs more memory than its device has left.

    The tensors that the program would have overwritten are as before.

    Example:
        >>> import oneflow as flow
        >>> issubclass(flow.OutOfMemoryError, RuntimeError)
        True
    """


class UnavailableAttributeError(RuntimeError, AttributeError):
    """An attribute that objects of this kind do not have, such as `sbp` of a local tensor.

    It is a `RuntimeError`, as in OneFlow, and an `AttributeError`, so that `hasattr` is False and
    `inspect.getmembers` passes over it.
    """
