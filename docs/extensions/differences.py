"""The rows of the tables of `docs/differences.md`, by the public names that they are about."""

from __future__ import annotations

import functools
import re
from collections.abc import Collection
from dataclasses import dataclass
from fnmatch import translate
from pathlib import Path

from markup import from_markdown, table

PAGE = Path(__file__).parents[1] / "differences.md"
_SECTION = re.compile(r"^\|.+\n\| ---.+\n(?:\|.+\n?)+", re.MULTILINE)
# A name in the first column, with or without arguments: `Tensor.to(other)`, `F.avg_pool*d`.
_NAME = re.compile(r"`([A-Za-z_][\w.*]*)(?:\([^`]*\))?`")


@dataclass(frozen=True)
class Difference:
    """A row of a table.

    Attributes:
        header: the titles of the table's columns.
        cells: what stands in them, in Markdown.
    """

    header: tuple[str, ...]
    cells: tuple[str, ...]

    @functools.cached_property
    def patterns(self) -> tuple[str, ...]:
        """The full names in the first column; a `*` stands for anything."""
        names = _NAME.findall(self.cells[0])
        full = ["oneflow." + re.sub(r"^F\.", "nn.functional.", name) for name in names]
        return (*full, *[f"oneflow.Tensor.{name}" for name in names if "." not in name])


@functools.cache
def differences() -> tuple[Difference, ...]:
    """Return the rows of all tables."""
    found: list[Difference] = []
    for section in _SECTION.findall(PAGE.read_text(encoding="utf-8")):
        header, _, *rows = (_cells(line) for line in section.splitlines())
        found += (Difference(header, cells) for cells in rows)
    return tuple(found)


def _cells(line: str) -> tuple[str, ...]:
    return tuple(cell.strip() for cell in line.strip().strip("|").split("|"))


@functools.cache
def _rows_by_name() -> tuple[dict[str, list[int]], list[tuple[re.Pattern[str], int]]]:
    """Return the numbers of the rows about each full name, and those about names with a `*`.

    A row about a member is about its owner, too.
    """
    exact: dict[str, list[int]] = {}
    wildcards = []
    for number, row in enumerate(differences()):
        for pattern in row.patterns:
            if "*" in pattern:
                wildcards.append((re.compile(translate(pattern)), number))
            for name in {pattern, pattern.rpartition(".")[0]} - {"oneflow.Tensor"}:
                exact.setdefault(name, []).append(number)
    return exact, wildcards


def rows_about(paths: Collection[str]) -> list[Difference]:
    """Return the rows about an object with the names `paths`, in the order of the page."""
    exact, wildcards = _rows_by_name()
    numbers = {number for path in paths for number in exact.get(path, ())}
    numbers.update(
        number for pattern, number in wildcards if any(pattern.match(path) for path in paths)
    )
    return [differences()[number] for number in sorted(numbers)]


def differences_table(paths: Collection[str]) -> str:
    """Return the tables of what differs for an object with the names `paths`; empty if nothing."""
    by_header: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for row in rows_about(paths):
        by_header.setdefault(row.header, []).append(row.cells)
    tables = [
        table(header, *(map(from_markdown, cells) for cells in rows))
        for header, rows in by_header.items()
    ]
    if not tables:
        return ""
    return "\n".join([".. rubric:: :doc:`What differs </differences>`\n", *tables])
