"""The instructions of a compiled program, read from its text (HLO)."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

COLLECTIVES = ("all-reduce", "reduce-scatter", "all-gather", "all-to-all", "collective-permute")
_SHAPE = re.compile(r"\b([a-z]+\d*)(?:e\dm\d\w*)?\[([\d,]*)\](\{[^}]*\})?")
# The layout of an array in the memory of a TPU's core, with its tiles before.
_NEAR = re.compile(r"T\(.*S\(1\)")
_HEAD = re.compile(r"^(ENTRY )?%?([\w.\-]+) \(.*\{$")
_INSTRUCTION = re.compile(r"^\s*(ROOT )?%?([\w.\-]+) = (.*)$")
_CALLED = re.compile(
    r"(?:calls|body|to_apply|called_computations|branch_computations|true_computation"
    r"|false_computation)=(\{[^}]*\}|%?[\w.\-]+)"
)
_NAMES = re.compile(r"%([\w.\-]+)")


@dataclass(frozen=True)
class HloInstruction:
    """One line of a computation."""

    name: str
    opcode: str
    shapes: str
    operands: tuple[str, ...]
    text: str
    is_root: bool

    @property
    def nbytes(self) -> int:
        """Bytes of its result in the chip's memory."""
        return memory_bytes_of(self.shapes)

    @property
    def called(self) -> list[str]:
        """The names of the computations that the instruction calls."""
        return [
            name.strip().lstrip("%")
            for match in _CALLED.findall(self.text)
            for name in match.strip("{}").split(",")
        ]


def shapes_of(shapes: str) -> list[tuple[int, ...]]:
    """The shapes of the arrays in the text of a type, which may be a tuple."""
    matches = _SHAPE.findall(shapes)
    return [tuple(map(int, filter(None, sizes.split(",")))) for _, sizes, _ in matches]


def bytes_of(shapes: str) -> int:
    """The bytes of the arrays in the text of a type, which may be a tuple."""
    return sum(_sizes(shapes))


def result_shapes(opcode: str, shapes: str) -> str:
    """The type of an instruction's results.

    The start of an asynchronous collective has operands first in its type, and results behind them;
    of all-reduce it has results alone.

    Args:
        opcode: the opcode of the instruction.
        shapes: its type; a tuple's without the parentheses around it.
    """
    kind, started, _ = opcode.partition("-start")
    if not started or kind not in COLLECTIVES or kind == "all-reduce":
        return shapes
    depth = 0
    for place, character in enumerate(shapes):
        depth += character in "([{"
        depth -= character in ")]}"
        if character == "," and depth == 0:
            return shapes[place + 1 :]
    raise ValueError(f"the type of `{opcode}` has no results: {shapes}")


def memory_bytes_of(shapes: str) -> int:
    """As `bytes_of`, without arrays that are in the memory of a TPU's core."""
    return sum(size for size, is_near in arrays_of(shapes) if not is_near)


def arrays_of(shapes: str) -> list[tuple[int, bool]]:
    """The bytes of each array in the text of a type, and whether a TPU's core has it in memory."""
    layouts = (layout for _, _, layout in _SHAPE.findall(shapes))
    return [
        (size, bool(_NEAR.search(layout)))
        for size, layout in zip(_sizes(shapes), layouts, strict=True)
    ]


def _sizes(shapes: str) -> list[int]:
    return [
        math.prod(map(int, filter(None, sizes.split(",")))) * _itemsize(kind)
        for kind, sizes, _ in _SHAPE.findall(shapes)
    ]


def _itemsize(kind: str) -> int:
    digits = re.sub(r"\D", "", kind)
    return max(int(digits) // 8, 1) if digits else 1


def computations_of(hlo: str) -> tuple[dict[str, dict[str, HloInstruction]], str]:
    """Instructions by name, by computation; and the name of the entry."""
    computations: dict[str, dict[str, HloInstruction]] = {}
    entry, current = "", None
    for line in hlo.splitlines():
        head = _HEAD.match(line)
        if head:
            current = computations.setdefault(head[2], {})
            entry = head[2] if head[1] else entry
        elif current is not None and (match := _INSTRUCTION.match(line)):
            instruction = _parsed(*match.groups())
            current[instruction.name] = instruction
    return computations, entry


def _parsed(root: str | None, name: str, text: str) -> HloInstruction:
    shapes, rest = _split_type(text)
    opcode, _, arguments = rest.partition("(")
    return HloInstruction(
        name,
        opcode.strip(),
        shapes,
        tuple(_NAMES.findall(_until_closed(arguments))),
        text,
        bool(root),
    )


def _split_type(text: str) -> tuple[str, str]:
    """Split a line into the type of a result, which may be a tuple, and the rest."""
    if not text.startswith("("):
        shapes, _, rest = text.partition(" ")
        return shapes, rest
    shapes = _until_closed(text[1:])
    return shapes, text[len(shapes) + 2 :].lstrip()


def _until_closed(text: str) -> str:
    depth = 1
    for index, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if not depth:
            return text[:index]
    return text
