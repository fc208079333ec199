"""`Hook`: a lower room's name for something that only a higher room can provide."""

from __future__ import annotations

from typing import Any, Generic, TypeVar

_Value = TypeVar("_Value")


class Hook(Generic[_Value]):
    """A function, or a record of functions, that a higher room provides exactly once.

    A lower room never imports a higher one. It owns the hook and reads `value`; the module that
    `provider` names fills it when it is imported.

    Args:
        name: the hook's name in messages.
        provider: the module that fills the hook.

    Attributes:
        value: the value that the hook was filled with.

    Example:
        >>> from oneflow.base.hook import Hook
        >>> greeting = Hook("greeting", "oneflow.greetings")
        >>> greeting.value
        Traceback (most recent call last):
        RuntimeError: hook `greeting` is not filled: import `oneflow.greetings`, which fills it
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
        raise RuntimeError(
            f"hook `{self._name}` is not filled: import `{self._provider}`, which fills it"
        )

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
