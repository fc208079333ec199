"""Guards of a recorded step: the contents of the dicts of its modules."""

from __future__ import annotations

from collections.abc import Iterable
from operator import is_not
from typing import Any

from oneflow.base.change_count import CHANGES, VersionDict
from oneflow.graph.variables import Attribute


class AttributeGuards:
    """Objects that must stay where they are, and dicts that must get no others.

    Dicts that count their changes are looked at only after a change somewhere.

    Args:
        attributes: dicts, keys and the objects there.
        dicts: the dicts that must keep their sizes.
    """

    def __init__(self, attributes: Iterable[Attribute], dicts: Iterable[dict[Any, Any]]) -> None:
        attributes, dicts = list(attributes), list(dicts)
        has_version = [isinstance(owner, VersionDict) for owner, _, _ in attributes]
        self._counted = _DictContent(
            [
                attribute
                for attribute, counts in zip(attributes, has_version, strict=True)
                if counts
            ],
            [members for members in dicts if isinstance(members, VersionDict)],
        )
        self._others = _DictContent(
            [
                attribute
                for attribute, counts in zip(attributes, has_version, strict=True)
                if not counts
            ],
            [members for members in dicts if not isinstance(members, VersionDict)],
        )
        self._has_others = any(not counts for counts in has_version) or any(
            not isinstance(members, VersionDict) for members in dicts
        )
        self._seen = -1

    def hold(self) -> bool:
        """Return whether everything is as it was."""
        if self._has_others and not self._others.is_same():
            return False
        changes = CHANGES.value
        if changes == self._seen:
            return True
        if not self._counted.is_same():
            return False
        self._seen = changes
        return True


class _DictContent:
    """The earlier content of some dicts."""

    def __init__(self, attributes: list[Attribute], dicts: list[dict[Any, Any]]) -> None:
        self._owners = [owner for owner, _, _ in attributes]
        self._keys = [key for _, key, _ in attributes]
        self._objects = [value for _, _, value in attributes]
        self._dicts = dicts
        self._sizes = list(map(len, dicts))

    def is_same(self) -> bool:
        """Return whether it still is."""
        current = map(dict.get, self._owners, self._keys)
        return not any(map(is_not, current, self._objects)) and (
            list(map(len, self._dicts)) == self._sizes
        )
