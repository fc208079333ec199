"""Hooks on values that nodes save for backward; without hooks the values are simply kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from oneflow.differentiation.grad_mode import MODE
from oneflow.program.value import Value


class SavedValueHooks(Protocol):
    """Puts saved values away, and brings them back."""

    def pack(self, value: Value) -> Any:
        """Return an object to keep in place of `value`."""
        ...

    def unpack(self, packed: Any, grads: Sequence[Value | None]) -> Value:
        """The value again, when the node runs on `grads`."""
        ...


class Packed:
    """A saved value that hooks have put away. It remembers the history that the value had."""

    __slots__ = ("_hooks", "_node", "_output_index", "_packed")

    def __init__(self, hooks: SavedValueHooks, value: Value) -> None:
        self._hooks = hooks
        self._node, self._output_index = value.node, value.output_index
        with no_recording():
            self._packed = hooks.pack(value)

    def unpack(self, grads: Sequence[Value | None]) -> Value:
        """The value again, with its history."""
        with no_recording():
            value = self._hooks.unpack(self._packed, grads).alias()
        value.node, value.output_index = self._node, self._output_index
        return value


class no_recording:
    """Context manager: operators inside are neither recorded for backward nor packed.

    Backward passes inside are those of code that hooks call, and so not those of forward mode.
    """

    def __enter__(self) -> None:
        self._before = MODE.enabled, MODE.saved_hooks, MODE.needs_checks, MODE.tangents
        MODE.enabled, MODE.saved_hooks, MODE.needs_checks, MODE.tangents = False, (), False, False

    def __exit__(self, *exception: object) -> None:
        MODE.enabled, MODE.saved_hooks, MODE.needs_checks, MODE.tangents = self._before


class packing:
    """Context manager: values saved inside go through `hooks`; None turns packing off."""

    def __init__(self, hooks: SavedValueHooks | None) -> None:
        self._hooks = hooks

    def __enter__(self) -> object:
        self._before = MODE.saved_hooks
        MODE.saved_hooks = () if self._hooks is None else (*MODE.saved_hooks, self._hooks)
        MODE.update()

    def __exit__(self, *exception: object) -> None:
        MODE.saved_hooks = self._before
        MODE.update()


def packed(value: Any) -> Any:
    """The form in which a node saves an operand; hooks pack values, and numbers are not changed."""
    if not MODE.saved_hooks or type(value) is not Value:
        return value
    return Packed(MODE.saved_hooks[-1], value)


def unpacked(saved: Any, grads: Sequence[Value | None]) -> Any:
    """The operand again."""
    return saved.unpack(grads) if type(saved) is Packed else saved
