"""Hooks on values that nodes save for backward; without hooks the values are simply kept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from oneflow.differentiation.grad_mode import MODE
from oneflow.program.value import Value


class Packer(Protocol):
    """Puts saved values away, and brings them back."""

    def pack(self, value: Value) -> Any:
        """Something to keep in place of `value`."""
        ...

    def unpack(self, packed: Any, grads: Sequence[Value | None]) -> Value:
        """The value again, when the node runs on `grads`."""
        ...


class Packed:
    """A saved value that a packer has put away. It remembers the history that the value had."""

    __slots__ = ("_node", "_output_index", "_packed", "_packer")

    def __init__(self, packer: Packer, value: Value) -> None:
        self._packer = packer
        self._node, self._output_index = value.node, value.output_index
        with unwatched():
            self._packed = packer.pack(value)

    def unpack(self, grads: Sequence[Value | None]) -> Value:
        """The value again, with its history."""
        with unwatched():
            value = self._packer.unpack(self._packed, grads).alias()
        value.node, value.output_index = self._node, self._output_index
        return value


class unwatched:
    """Context manager: operators inside are neither recorded for backward nor packed."""

    def __enter__(self) -> None:
        self._before = MODE.enabled, MODE.packers, MODE.watched
        MODE.enabled, MODE.packers, MODE.watched = False, (), False

    def __exit__(self, *exception: object) -> None:
        MODE.enabled, MODE.packers, MODE.watched = self._before


class packing:
    """Context manager: values saved inside go through `packer`; None turns packing off."""

    def __init__(self, packer: Packer | None) -> None:
        self._packer = packer

    def __enter__(self) -> None:
        self._before = MODE.packers
        MODE.packers = () if self._packer is None else (*MODE.packers, self._packer)
        MODE.update()

    def __exit__(self, *exception: object) -> None:
        MODE.packers = self._before
        MODE.update()


def packed(value: Any) -> Any:
    """The form in which a node keeps an operand: numbers, and values without hooks, as they are."""
    if not MODE.packers or type(value) is not Value:
        return value
    return Packed(MODE.packers[-1], value)


def unpacked(kept: Any, grads: Sequence[Value | None]) -> Any:
    """The operand again."""
    return kept.unpack(grads) if type(kept) is Packed else kept
