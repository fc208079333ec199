"""Names that occur once in a program: `oneflow.util`."""

from __future__ import annotations

import itertools

_numbers = itertools.count()


def unique_str(prefix: str) -> str:
    """Return `prefix` with a number that no other call gets.

    Example:
        >>> import oneflow as flow
        >>> flow.util.unique_str("layer") != flow.util.unique_str("layer")
        True
    """
    return f"{prefix}{next(_numbers)}"
