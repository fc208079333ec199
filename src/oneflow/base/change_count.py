"""A count of changes to objects that users may change between the calls of a recorded step."""

from __future__ import annotations

from typing import Any


class ChangeCount:
    """A number that grows with every change of a kind, so that nobody looks for changes in vain.

    Attributes:
        value: the number. A change is visible before the number grows.
    """

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0


# The number of changes of attributes of modules and graphs, of registered members, and of hooks.
CHANGES = ChangeCount()


class VersionDict(dict[Any, Any]):
    """A module's dict; every change of it counts in `CHANGES`."""

    __slots__ = ()

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)
        CHANGES.value += 1

    def __delitem__(self, key: Any) -> None:
        super().__delitem__(key)
        CHANGES.value += 1

    def __ior__(self, other: Any) -> VersionDict:
        self.update(other)
        return self

    def clear(self) -> None:
        """Remove everything."""
        super().clear()
        CHANGES.value += 1

    def pop(self, *args: Any) -> Any:
        """Remove and return an entry."""
        size = len(self)
        value = super().pop(*args)
        CHANGES.value += len(self) != size
        return value

    def popitem(self) -> tuple[Any, Any]:
        """Remove and return the last entry."""
        item = super().popitem()
        CHANGES.value += 1
        return item

    def setdefault(self, key: Any, default: Any = None) -> Any:
        """Return an entry, which is made if there is none."""
        value = super().setdefault(key, default)
        CHANGES.value += 1
        return value

    def update(self, *args: Any, **entries: Any) -> None:
        """Take over entries."""
        super().update(*args, **entries)
        CHANGES.value += 1


class MemberDict(VersionDict):
    """The parameters, buffers or modules of a module. Its copies and pickles are plain dicts."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return dict, (), None, None, iter(self.items())
