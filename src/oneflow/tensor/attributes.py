"""Attributes that users set on a tensor, apart from its own state: `Tensor.__dict__`."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

# A class may give attributes of its own the names that are a tensor's state: these mark them.
OF_CLASS = " of the class"


class Attributes(dict[str, Any]):
    """The attributes that users have set on a tensor, by name; changes are made to the tensor.

    Args:
        stored: the dictionary of the instance.
        state: names in it that are the tensor's own.
    """

    def __init__(self, stored: dict[str, Any], state: Any) -> None:
        super().__init__(
            {
                name.removesuffix(OF_CLASS): value
                for name, value in stored.items()
                if name not in state
            }
        )
        self._stored, self._state = stored, state

    def __setitem__(self, name: str, value: Any) -> None:
        super().__setitem__(name, value)
        self._stored[self._key(name)] = value

    def __delitem__(self, name: str) -> None:
        super().__delitem__(name)
        del self._stored[self._key(name)]

    def _key(self, name: str) -> str:
        return name + OF_CLASS if name in self._state else name

    def __ior__(self, other: Any) -> Attributes:
        self.update(other)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return (dict, (dict(self),))

    def pop(self, name: str, *default: Any) -> Any:
        """Remove an attribute and return its value; `default` if there is none."""
        if name in self:
            del self._stored[self._key(name)]
        return super().pop(name, *default)

    update = MutableMapping.update
    popitem = MutableMapping.popitem
    setdefault = MutableMapping.setdefault
    clear = MutableMapping.clear


class WithState:
    """Base of tensors: what keeps their state and what users set in one dictionary."""


# Return the dictionary of a tensor, with its own state and the attributes that users set.
stored_in = vars(WithState)["__dict__"].__get__


class UserAttributes:
    """The descriptor `Tensor.__dict__`; attributes themselves are found without it."""

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return Attributes(stored_in(instance), self._state)

    def __set__(self, instance: Any, value: dict[str, Any]) -> None:
        attributes = self.__get__(instance)
        attributes.clear()
        attributes.update(value)

    def __set_name__(self, owner: Any, name: str) -> None:
        if not hasattr(self, "_state"):
            self._state = frozenset(owner.__annotations__)
