"""The rows of the tables of `docs/differences.md`, by the public names that they are about."""

from __future__ import annotations

import functools
import re
from collections.abc import Collection
from dataclasses import dataclass
from fnmatch import fnmatchcase
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

    def is_about(self, path: str) -> bool:
        """Say whether the row names an entry, or a member of it."""
        return any(
            fnmatchcase(path, pattern) or path == pattern.rpartition(".")[0] != "oneflow.Tensor"
            for pattern in self.patterns
        )


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


def differences_table(paths: Collection[str]) -> str:
    """Return the tables of what differs for an object with the names `paths`; empty if nothing."""
    by_header: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for row in differences():
        if any(map(row.is_about, paths)):
            by_header.setdefault(row.header, []).append(row.cells)
    tables = [
        table(header, *(map(from_markdown, cells) for cells in rows))
        for header, rows in by_header.items()
    ]
    if not tables:
        return ""
    return "\n".join([".. rubric:: :doc:`What differs </differences>`\n", *tables])
