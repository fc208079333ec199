"""Patterns of names of modules and files."""

from __future__ import annotations

import re
from collections.abc import Iterable

GlobPattern = str | Iterable[str]


class GlobGroup:
    """A set of patterns, without those of another set.

    ``*`` stands for any text within one part of a name, ``**`` for any number of parts.

    Args:
        include: a pattern, or several.
        exclude: a pattern, or several, of names that do not belong to the set.
        separator: of the parts of names.

    Example:
        >>> from oneflow.mock_torch.pytorch.package import GlobGroup
        >>> models = GlobGroup("models.**", exclude="models.old.*")
        >>> models.matches("models.new.resnet"), models.matches("models.old.resnet")
        (True, False)
    """

    def __init__(
        self, include: GlobPattern, *, exclude: GlobPattern = (), separator: str = "."
    ) -> None:
        self._text = f"GlobGroup(include={include}, exclude={exclude})"
        self.include = GlobGroup._glob_list(include, separator)
        self.exclude = GlobGroup._glob_list(exclude, separator)
        self.separator = separator

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return self._text

    def matches(self, candidate: str) -> bool:
        """Return whether a name belongs to the set."""
        # Each part follows a separator, so that `**` can stand for none.
        candidate = self.separator + candidate
        return any(pattern.fullmatch(candidate) for pattern in self.include) and not any(
            pattern.fullmatch(candidate) for pattern in self.exclude
        )

    @staticmethod
    def _glob_list(patterns: GlobPattern, separator: str = ".") -> list[re.Pattern[str]]:
        patterns = [patterns] if isinstance(patterns, str) else patterns
        return [_compiled(pattern, separator) for pattern in patterns]


def _compiled(pattern: str, separator: str) -> re.Pattern[str]:
    """A pattern as a regular expression."""
    return re.compile("".join(_of_part(part, separator) for part in pattern.split(separator)))


def _of_part(part: str, separator: str) -> str:
    other = f"[^{re.escape(separator)}]"
    if part == "**":
        return f"({re.escape(separator)}{other}+)*"
    if "**" in part:
        raise ValueError(f"`**` stands for whole parts of a name, not within one, as in {part!r}")
    return re.escape(separator) + f"{other}*".join(map(re.escape, part.split("*")))
