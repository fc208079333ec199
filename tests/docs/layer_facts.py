"""The shapes and first values in the documentation of a layer, as facts to be checked.

In the sections ``Attributes:`` and ``Shape:`` an entry is ``names: text``. In the text, a shape is
``(N, in_features)``, where a `*` stands for any dimensions and other names are symbols or
attributes of the layer; ``bound = 1 / sqrt(in_features)`` is a formula.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

from oneflow import nn

_ENTRY = re.compile(r"^    ([\w\[\]]+(?:, [\w\[\]]+)*): (.*(?:\n        .*)*)", re.MULTILINE)
_CODE = re.compile(r"``(.+?)``", re.DOTALL)
_FORMULA = re.compile(r"(\w+) = (.+)", re.DOTALL)
_SAME = re.compile(r"as (?:the )?`?(\w+)`?\b")
_COMMA = re.compile(r",\s*(?![^(\[]*[)\]])")  # outside of parentheses


class Size(int):
    """A setting of one number, or of one for each dimension; as a number it is the first."""

    sizes: Sequence[int]

    def __new__(cls, value: Any) -> Size:
        sizes = value if isinstance(value, tuple | list) else (value,) * 3
        size = super().__new__(cls, (sizes[0] or 0) if sizes else 0)
        size.sizes = sizes
        return size

    def __getitem__(self, index: int) -> int:
        return self.sizes[index]

    def __iter__(self) -> Iterator[int]:
        return iter(self.sizes)


class Symbols(dict[str, Any]):
    """Values of names: sizes found, attributes of the layer, and what formulas give."""

    def __init__(self, layer: nn.Module, formulas: dict[str, str]) -> None:
        settings = {
            name: Size(value)
            for name, value in vars(layer).items()
            if isinstance(value, int | tuple | list)
        }
        super().__init__(settings)
        self.formulas = formulas

    def __missing__(self, name: str) -> Any:
        return self.value(self.formulas[name])

    def value(self, expression: str) -> Any:
        """The value of an expression; NameError if a symbol in it has none yet."""
        return eval(expression, {"sqrt": math.sqrt}, self)

    def fits(self, form: str, shape: Sequence[int]) -> bool:
        """Say whether a shape is of a form, and keep the sizes of its symbols if it is."""
        parts = [part for part in _COMMA.split(form[1:-1].strip()) if part]
        expected: list[Any] = []
        for part in parts:
            is_several = part.startswith("*") and part != "*"
            expected += self.value(part[1:]) if is_several else [part]
        found = dict[Any, Any]()
        if "*" in expected:
            at, others = expected.index("*"), len(expected) - 1
            found["*"] = tuple(shape[at : len(shape) - others + at])
            expected[at : at + 1] = found["*"]
        if len(expected) != len(shape) or (
            "*" in found and self.get("*", found["*"]) != found["*"]
        ):
            return False
        for part, size in zip(expected, shape, strict=True):
            try:
                if (part if isinstance(part, int) else self.value(part)) != size:
                    return False
            except NameError:
                found[part] = size
        self.update(found)
        return True


def section(layer: type[nn.Module], title: str) -> dict[str, str]:
    """The texts of the entries of a section by their names; empty if there is none."""
    text = inspect.cleandoc(layer.__dict__.get("__doc__") or "") + "\n"
    found = re.search(rf"^{title}:\n((?:    .*\n)+)", text, re.MULTILINE)
    entries = _ENTRY.findall(found[1]) if found else []
    return {name: said for names, said in entries for name in names.split(", ")}


def forms(text: str) -> list[str]:
    """The shapes in a text."""
    return [code for code in _CODE.findall(text) if re.fullmatch(r"\(.*\)", code, re.DOTALL)]


def formulas(entries: dict[str, str]) -> dict[str, str]:
    """The formulas in the texts of a section."""
    found = (_FORMULA.fullmatch(code) for said in entries.values() for code in _CODE.findall(said))
    return {match[1]: " ".join(match[2].split()) for match in found if match is not None}


def same_as(text: str) -> str | None:
    """The name of the tensor whose shape this one has, if the text begins with it."""
    found = _SAME.match(text)
    return found[1] if found else None


def is_named(name: str, entries: dict[str, str]) -> str | None:
    """The text about an attribute; ``[k]`` in names of entries stands for the number of a layer."""
    for pattern, said in entries.items():
        if re.fullmatch(re.escape(pattern).replace(r"\[k\]", r"\d+(_reverse)?"), name):
            return said
    return None
