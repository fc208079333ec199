"""Bodies: groups of lines as the insides of modules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from oneflow_onnx.x2oneflow.codegen.lines import Layer, Line, LiteralSlot

# Names of local variables, taken in this order.
_NAMES = ("x", "y", "z", "u", "v", "w")


@dataclass(frozen=True)
class Part:
    """A group of lines that becomes a module of its own."""

    kind: str
    body: Body

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the values that it reads."""
        return self.body.inputs

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the values that it makes for others."""
        return self.body.outputs

    @property
    def construction(self) -> tuple[Any, ...]:
        """The arguments that it has in common with parts of the same class."""
        return self.body.key


Item = Line | Part


@dataclass(frozen=True)
class Member:
    """An attribute of a module: a layer, a parameter, or a part.

    Attributes:
        offset: where the slots of its construction start among those of the body.
    """

    name: str
    content: Layer | Part
    offset: int


class Body:
    """The inside of a module: its attributes, and the statements of its `forward`.

    Attributes:
        members: the attributes.
        statements: the statements of `forward`.
        slots: the literals of all constructions, also of those inside, in order.
        state: arrays by their paths.
    """

    def __init__(
        self, items: Sequence[Item], inputs: Sequence[str], outputs: Sequence[str]
    ) -> None:
        self.inputs, self.outputs = tuple(inputs), tuple(outputs)
        self.members: list[Member] = []
        self.statements: list[str] = []
        self.slots: list[LiteralSlot] = []
        self.state: dict[str, np.ndarray] = {}
        self._variables: dict[str, str] = {}
        last = _last_uses(items, outputs)
        for name in inputs:
            self._variables[name] = self._free_variable()
        self.arguments = [self._variables[name] for name in inputs]
        numbers = _numbers(items)
        for index, item in enumerate(items):
            names = [self._member(member, numbers) for member in _members_of(item)]
            live = {name for name, use in last.items() if use > index}
            self._write(item, names, live)
        self._return([self._variables[name] for name in outputs])

    @cached_property
    def key(self) -> tuple[Any, ...]:
        """The part that bodies of the same class have in common."""
        expressions = tuple((m.name, m.content.construction) for m in self.members)
        return expressions, tuple(self.statements), tuple(self.arguments)

    def parts(self) -> Iterator[Part]:
        """The parts inside, and those inside them first."""
        for member in self.members:
            if isinstance(member.content, Part):
                yield from member.content.body.parts()
                yield member.content

    def _member(self, content: Layer | Part, numbers: dict[str, list[int]]) -> str:
        counter = numbers[content.kind]
        counter[0] += 1
        name = content.kind if counter[1] == 1 else f"{content.kind}{counter[0]}"
        self.members.append(Member(name, content, len(self.slots)))
        if isinstance(content, Part):
            self.slots += content.body.slots
            self.state.update((f"{name}.{path}", v) for path, v in content.body.state.items())
        else:
            self.slots += content.slots
            self.state.update((f"{name}.{k}" if k else name, v) for k, v in content.state.items())
        return name

    def _write(self, item: Item, names: list[str], live: set[str]) -> None:
        operands = [self._variables[name] for name in item.inputs]
        if isinstance(item, Part):
            text = f"self.{names[0]}({', '.join(operands)})"
        else:
            layers = {f"layer{index}": f"self.{name}" for index, name in enumerate(names)}
            text = item.text.format(*operands, **layers)
        # The variables of values that nobody reads any more are free again.
        self._variables = {n: v for n, v in self._variables.items() if n in live}
        targets = []
        for output in item.outputs:
            if output in live:
                self._variables[output] = self._free_variable()
            targets.append(self._variables.get(output, "_"))
        if text != ", ".join(targets):
            self.statements.append(f"{', '.join(targets)} = {text}")

    def _return(self, results: list[str]) -> None:
        last = self.statements[-1] if self.statements else ""
        target, _, expression = last.partition(" = ")
        if results == [target] and expression:
            self.statements[-1] = f"return {expression}"
        else:
            self.statements.append(f"return {', '.join(results)}")

    def _free_variable(self) -> str:
        taken = set(self._variables.values())
        free = next((name for name in _NAMES if name not in taken), None)
        return free or next(n for i in range(10**6) if (n := f"t{i}") not in taken)


def _members_of(item: Item) -> list[Layer | Part]:
    if isinstance(item, Part):
        return [item]
    return [layer for layer in item.layers if isinstance(layer, Layer | Part)]


def _numbers(items: Sequence[Item]) -> dict[str, list[int]]:
    """Return for every kind of member a counter and how many there are."""
    numbers: dict[str, list[int]] = {}
    for item in items:
        for member in _members_of(item):
            numbers.setdefault(member.kind, [0, 0])[1] += 1
    return numbers


def _last_uses(items: Sequence[Item], outputs: Sequence[str]) -> dict[str, int]:
    last = {name: index for index, item in enumerate(items) for name in item.inputs}
    last.update((name, len(items)) for name in outputs)
    return last
