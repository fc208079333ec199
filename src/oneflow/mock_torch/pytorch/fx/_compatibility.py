"""Notes on names that stay as they are: ``torch.fx._compatibility``."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

_BACK_COMPAT_OBJECTS: dict[Any, None] = {}
_MARKED_WITH_COMPATIBILITY: dict[Any, None] = {}
_NOTES = {
    True: "\n.. note::\n    Backwards-compatibility for this API is guaranteed.\n",
    False: "\n.. warning::\n    This API is experimental and is *NOT* backward-compatible.\n",
}


def compatibility(is_backward_compatible: bool) -> Callable[[Any], Any]:
    """Return a decorator that says in a docstring whether a function or class stays as it is.

    Args:
        is_backward_compatible: whether it does.
    """

    def mark(member: Any) -> Any:
        member.__doc__ = inspect.cleandoc(member.__doc__ or "") + _NOTES[is_backward_compatible]
        _MARKED_WITH_COMPATIBILITY.setdefault(member)
        if is_backward_compatible:
            _BACK_COMPAT_OBJECTS.setdefault(member)
        return member

    return mark


__all__ = ["compatibility"]
