"""Names like one that does not exist, for messages."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """Return the end of a message: the candidates that are most like `name`, if any.

    Example:
        >>> from oneflow.base.suggestions import did_you_mean
        >>> did_you_mean("dims", ["input", "dim", "keepdim"])
        "; did you mean 'dim'?"
        >>> did_you_mean("lstm", ["RNN", "LSTM"])
        "; did you mean 'LSTM'?"
    """
    by_key: dict[str, list[str]] = {}
    for candidate in candidates:
        by_key.setdefault(candidate.casefold(), []).append(candidate)
    folded = name.casefold()
    # A wrong letter is much of a short name.
    close = sorted(
        (key for key in by_key if _is_one_change(folded, key)),
        key=lambda close_key: close_key[:1] != folded[:1],
    )
    close += difflib.get_close_matches(folded, by_key, n=3, cutoff=0.7)
    names = [candidate for key in dict.fromkeys(close) for candidate in by_key[key]][:3]
    return f"; did you mean {' or '.join(map(repr, names))}?" if names else ""


def _is_one_change(one: str, other: str) -> bool:
    """Return True if names differ by one letter too many, too few or wrong, or by two exchanged."""
    length = min(len(one), len(other))
    if length < 2:
        return False
    same = next((i for i in range(length) if one[i] != other[i]), length)
    one, other = one[same:], other[same:]
    swapped = one[1::-1] + one[2:]
    return other in (one[1:], swapped) or other[1:] in (one, one[1:])


class UnknownAttributeError(AttributeError):
    """An attribute that does not exist; names like it are looked for when the message is read.

    Programs ask whether attributes exist, many times and without reading why not.

    Args:
        message: what does not exist.
        name: the attribute.
        candidates: returns those that exist.
    """

    def __init__(self, message: str, name: str, candidates: Callable[[], Iterable[str]]) -> None:
        super().__init__(message)
        self._name, self._candidates = name, candidates

    def __str__(self) -> str:
        """The message, with similar names."""
        return f"{super().__str__()}{did_you_mean(self._name, self._candidates())}"
