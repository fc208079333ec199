"""Names like one that does not exist, for messages."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the end of a message: those of the `known` names that are most like `name`, if any.

    Example:
        >>> from oneflow.base.suggestions import did_you_mean
        >>> did_you_mean("dims", ["input", "dim", "keepdim"])
        "; did you mean 'dim'?"
    """
    close = difflib.get_close_matches(name, list(known), n=3, cutoff=0.7)
    return f"; did you mean {' or '.join(map(repr, close))}?" if close else ""


class UnknownAttributeError(AttributeError):
    """An attribute that does not exist; names like it are looked for when the message is read.

    Programs ask whether attributes exist, many times and without reading why not.

    Args:
        message: what does not exist.
        name: the attribute.
        known: returns those that exist.
    """

    def __init__(self, message: str, name: str, known: Callable[[], Iterable[str]]) -> None:
        super().__init__(message)
        self._wanted, self._known = name, known

    def __str__(self) -> str:
        """The message, and what is meant perhaps."""
        return f"{super().__str__()}{did_you_mean(self._wanted, self._known())}"
