"""Lines: the statements of a model's `forward`, each with the layer that it calls."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np


class LiteralSlot(NamedTuple):
    """A literal in the construction of a layer that may differ between alike blocks.

    With a `default` it is a keyword argument, left out where it has that value.
    """

    name: str
    value: Any
    default: Any = None

    def written(self, text: str) -> str:
        """Return the argument with the value `text`, with a comma in front if it is a keyword."""
        if self.default is None:
            return text
        return "" if text == repr(self.default) else f", {self.name}={text}"


@dataclass(frozen=True)
class Layer:
    """A layer that a line calls, or a parameter or buffer that it reads.

    Attributes:
        kind: the attribute's name, to which a number is added.
        construction: the expression that makes it, with ``{}`` in the place of every slot.
        state: arrays by the name that they have in the layer; the empty name is the layer itself.
    """

    kind: str
    construction: str
    slots: tuple[LiteralSlot, ...]
    state: dict[str, np.ndarray]


class Called(Protocol):
    """A layer, or a part: what an attribute of a module may be."""

    @property
    def kind(self) -> str:
        """The attribute's name, to which a number is added."""
        ...

    @property
    def construction(self) -> Hashable:
        """The part of its construction that alike ones have in common."""
        ...


@dataclass(frozen=True)
class Line:
    """One statement.

    Attributes:
        outputs: the names of the values that it makes.
        inputs: the names of the values that it reads, in the order of their marks.
        text: its right side; ``{0}``, ``{1}`` stand for the inputs, ``{layer0}`` for a layer.
        layers: the layers, or parts, that it calls.
    """

    outputs: tuple[str, ...]
    inputs: tuple[str, ...]
    text: str
    layers: tuple[Called, ...] = field(default=())

    @property
    def template(self) -> tuple[Any, ...]:
        """The part that alike lines have in common."""
        expressions = tuple((layer.kind, layer.construction) for layer in self.layers)
        return self.text, expressions, len(self.outputs), len(self.inputs)
