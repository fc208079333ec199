"""The work of a compiled program, read from its text: kernels, bytes, collectives."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

_SHAPE = re.compile(r"\b([a-z]+\d*)(?:e\dm\d\w*)?\[([\d,]*)\]")
_HEAD = re.compile(r"^(ENTRY )?%?([\w.\-]+) \(.*\{$")
_INSTRUCTION = re.compile(r"^\s*(ROOT )?%?([\w.\-]+) = (.*)$")
_CALLED = re.compile(
    r"(?:calls|body|to_apply|called_computations|branch_computations)=\{?%?([\w.\-, %]+)\}?"
)
_TRIPS = re.compile(r'"known_trip_count":\{"n":"(\d+)"\}')
_NAMES = re.compile(r"%([\w.\-]+)")
COLLECTIVES = ("all-reduce", "reduce-scatter", "all-gather", "all-to-all", "collective-permute")
# Instructions that read and write nothing.
_FREE = frozenset(
    (
        *("parameter", "constant", "tuple", "get-tuple-element", "bitcast", "after-all"),
        *("partition-id", "replica-id", "opt-barrier", "domain", "add-dependency"),
        *("copy-done", "slice-done", "async-done", "async-update"),
        *(f"{collective}-done" for collective in COLLECTIVES),
    )
)
# Instructions that read as much of an operand as they return.
_SLICES = frozenset(["slice", "dynamic-slice", "gather"])


@dataclass(frozen=True)
class Instruction:
    """One line of a computation."""

    name: str
    opcode: str
    shapes: str
    operands: tuple[str, ...]
    text: str
    is_root: bool

    @property
    def nbytes(self) -> int:
        """Bytes of its result."""
        return bytes_of(self.shapes)

    @property
    def called(self) -> list[str]:
        """Computations that it names."""
        return [
            name.strip().lstrip("%")
            for match in _CALLED.findall(self.text)
            for name in match.split(",")
        ]


@dataclass(frozen=True)
class ProgramAccount:
    """The costs of one run of a program on a device.

    Attributes:
        kernels: launches; a loop's as often as it runs.
        bytes: bytes that kernels read and write.
        asynchronous: collectives that run beside other kernels.
        overlapped: kernels between the start and the end of such a collective; a loop's once.
    """

    kernels: int
    bytes: int
    asynchronous: int
    overlapped: int = 0


def account_of(hlo: str) -> ProgramAccount:
    """Return the account of a compiled program."""
    computations, entry = _computations(hlo)
    kernels = total = asynchronous = 0
    for instruction, operands, runs in _launches(computations, entry, 1):
        kernels += runs
        asynchronous += runs * _is_asynchronous(instruction)
        total += runs * _accessed(instruction, operands, computations)
    overlapped = sum(map(_overlapped, computations.values()))
    return ProgramAccount(kernels, total, asynchronous, overlapped)


def _overlapped(instructions: dict[str, Instruction]) -> int:
    """The kernels of a computation that run while a collective does."""
    running, count = 0, 0
    for instruction in instructions.values():
        kind, _, end = instruction.opcode.rpartition("-")
        if _is_asynchronous(instruction):
            running += 1
        elif end == "done" and kind in COLLECTIVES:
            running = max(running - 1, 0)
        elif running and instruction.opcode not in _FREE:
            count += 1
    return count


def _is_asynchronous(instruction: Instruction) -> bool:
    kind, started, _ = instruction.opcode.partition("-start")
    return bool(started) and kind in COLLECTIVES and '"is_sync":true' not in instruction.text


def bytes_of(shapes: str) -> int:
    """The bytes of the arrays in the text of a type, which may be a tuple."""
    return sum(
        math.prod(map(int, filter(None, sizes.split(",")))) * _itemsize(kind)
        for kind, sizes in _SHAPE.findall(shapes)
    )


def _itemsize(kind: str) -> int:
    digits = re.sub(r"\D", "", kind)
    return max(int(digits) // 8, 1) if digits else 1


def _computations(hlo: str) -> tuple[dict[str, dict[str, Instruction]], str]:
    """Instructions by name, by computation; and the name of the entry."""
    computations: dict[str, dict[str, Instruction]] = {}
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


def _parsed(root: str | None, name: str, text: str) -> Instruction:
    shapes, rest = _split_type(text)
    opcode, _, arguments = rest.partition("(")
    return Instruction(
        name,
        opcode.strip(),
        shapes,
        tuple(_NAMES.findall(_until_closed(arguments))),
        text,
        bool(root),
    )


def _split_type(text: str) -> tuple[str, str]:
    """The type of a result, which may be a tuple, and what is behind it."""
    if not text.startswith("("):
        shapes, _, rest = text.partition(" ")
        return shapes, rest
    shapes = _until_closed(text[1:])
    return shapes, text[len(shapes) + 2 :].lstrip()


def _until_closed(text: str) -> str:
    depth = 1
    for index, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if not depth:
            return text[:index]
    return text


def _launches(
    computations: dict[str, dict[str, Instruction]], name: str, runs: int
) -> Iterator[tuple[Instruction, list[Instruction], int]]:
    """Instructions that are kernels, with their operands and how often each runs."""
    instructions = computations[name]
    for instruction in instructions.values():
        if instruction.opcode in ("while", "call", "conditional"):
            trips = _TRIPS.search(instruction.text)
            for called in instruction.called:
                if called in computations:
                    yield from _launches(computations, called, runs * int(trips[1] if trips else 1))
        elif instruction.opcode not in _FREE:
            operands = [instructions[o] for o in instruction.operands if o in instructions]
            yield instruction, operands, runs


def _accessed(
    instruction: Instruction,
    operands: list[Instruction],
    computations: dict[str, dict[str, Instruction]],
) -> int:
    """Bytes that a kernel reads and writes."""
    if instruction.opcode in _SLICES:
        return 2 * instruction.nbytes
    if instruction.opcode == "dynamic-update-slice":
        return 2 * operands[1].nbytes
    body = computations.get(instruction.called[0]) if instruction.called else None
    if instruction.opcode != "fusion" or body is None:
        return instruction.nbytes + sum(operand.nbytes for operand in operands)
    parameters = _parameters(body)
    read = sum(
        min(operand.nbytes, _read(parameters.get(number), body, operand.nbytes))
        for number, operand in enumerate(operands)
    )
    return read + _written(instruction, body)


def _parameters(body: dict[str, Instruction]) -> dict[int, Instruction]:
    by_number = {}
    for instruction in body.values():
        if instruction.opcode == "parameter":
            by_number[int(instruction.text.partition("parameter(")[2].partition(")")[0])] = (
                instruction
            )
    return by_number


def _read(parameter: Instruction | None, body: dict[str, Instruction], whole: int) -> int:
    """Bytes that a fusion reads of an operand: of one that it only slices, the slices."""
    if parameter is None:
        return whole
    users = [user for user in body.values() if parameter.name in user.operands]
    total = 0
    for user in users:
        if user.opcode in _SLICES and user.operands[0] == parameter.name:
            total += user.nbytes
        elif user.opcode != "dynamic-update-slice" or user.operands[0] != parameter.name:
            return whole
    return total


def _written(instruction: Instruction, body: dict[str, Instruction]) -> int:
    """Bytes that a fusion writes: of an array that it updates in place, the update."""
    root = next((candidate for candidate in body.values() if candidate.is_root), None)
    if root is not None and root.opcode == "dynamic-update-slice":
        return body[root.operands[1]].nbytes
    return instruction.nbytes
