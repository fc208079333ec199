"""`Hook`: a lower room's name for something that only a higher room can provide."""

from __future__ import annotations

import importlib
from typing import Any, Generic, TypeVar

_Value = TypeVar("_Value")


class Hook(Generic[_Value]):
    """A function, or a record of functions, that a higher room provides exactly once.

    A lower room never imports a higher one. It owns the hook and reads `value`; the module that
    `provider` names fills it when it is imported, at the latest when the value is first read.

    Args:
        name: the hook's name in messages.
        provider: the module that fills the hook.

    Attributes:
        value: the value that the hook was filled with.

    Example:
        >>> from oneflow.base.hook import Hook
        >>> greeting = Hook("greeting", "oneflow.base.shape")
        >>> greeting.value
        Traceback (most recent call last):
        RuntimeError: hook `greeting` is not filled, though `oneflow.base.shape` should fill it
        >>> _ = greeting.fill(lambda name: f"hello {name}")
        >>> greeting.value("world")
        'hello world'
    """

    # `value` is a slot so that reading it costs no call; as long as it is empty, `__getattr__`
    # is asked instead.
    __slots__ = ("_filled", "_name", "_provider", "value")

    value: _Value

    def __init__(self, name: str, provider: str) -> None:
        self._name = name
        self._provider = provider
        self._filled = False

    def __getattr__(self, attribute: str) -> Any:
        if attribute != "value":
            raise AttributeError(f"`Hook` has no attribute `{attribute}`")
        importlib.import_module(self._provider)
        if not self._filled:
            raise RuntimeError(
                f"hook `{self._name}` is not filled, though `{self._provider}` should fill it"
            )
        return self.value

    def fill(self, value: _Value) -> _Value:
        """Provide the hook's value; returns it, so that `fill` is also a decorator.

        Raises:
            RuntimeError: the hook is filled already.
        """
        if self._filled:
            raise RuntimeError(
                f"hook `{self._name}` is filled already, with {self.value!r}; a hook is filled "
                f"once, by `{self._provider}`"
            )
        self.value, self._filled = value, True
        return value
