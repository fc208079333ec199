"""A list of objects by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class Registry(Iterable[tuple[str, T]], Generic[T]):
    """Objects by their names, such as the backbones that a configuration may name.

    Args:
        name: the name of the list, for messages.

    Example:
        >>> from flowvision.utils.base_registry import Registry
        >>> backbones = Registry("BACKBONE")
        >>> @backbones.register()
        ... def tiny_backbone(width):
        ...     return [width]
        >>> backbones.get("tiny_backbone")(3)
        [3]
        >>> "large_backbone" in backbones
        False
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._obj_map: dict[str, T] = {}

    @overload
    def register(self, obj: None = None) -> Callable[[T], T]: ...

    @overload
    def register(self, obj: T) -> T: ...

    def register(self, obj: Any = None) -> Any:
        """Add an object, a function or a class, under its name; without one, return a decorator.

        Raises:
            ValueError: the name is taken.
        """
        if obj is None:
            return self.register
        name = obj.__name__
        if name in self._obj_map:
            raise ValueError(f"an object named {name!r} is in the registry {self._name!r} already")
        self._obj_map[name] = obj
        return obj

    def get(self, name: str) -> T:
        """Return the object with a name.

        Raises:
            KeyError: there is none.
        """
        if name not in self._obj_map:
            raise KeyError(f"there is no object named {name!r} in the registry {self._name!r}")
        return self._obj_map[name]

    def __contains__(self, name: str) -> bool:
        return name in self._obj_map

    def __iter__(self) -> Iterator[tuple[str, T]]:
        return iter(self._obj_map.items())

    def __repr__(self) -> str:
        lines = [f"Registry of {self._name}:", *(f"{name}: {value!r}" for name, value in self)]
        return "\n    ".join(lines)
