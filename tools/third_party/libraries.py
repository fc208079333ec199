"""The list of libraries, `libraries.toml`, and the cases that are not expected to pass."""

from __future__ import annotations

import csv
import tomllib
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Library:
    """A library.

    Attributes:
        name: its name, and that of its module in `tools/third_party/programs`.
        packages: what is installed, with versions.
    """

    name: str
    packages: tuple[str, ...]


@dataclass(frozen=True)
class Exempt:
    """Cases that are not expected to pass here.

    Attributes:
        library: the name of the library.
        case: the name of the case; `*` means any characters.
        reason: why.
    """

    library: str
    case: str
    reason: str


def read_libraries() -> list[Library]:
    """Return the libraries of the list, in its order."""
    table = tomllib.loads((FOLDER / "libraries.toml").read_text())
    return [Library(name, tuple(packages)) for name, packages in table["libraries"].items()]


def read_exempt() -> list[Exempt]:
    """Return the rows of ``exempt.tsv``."""
    with (FOLDER / "exempt.tsv").open() as file:
        return [Exempt(**row) for row in csv.DictReader(file, delimiter="\t")]


def reason_of(library: str, case: str, exempt: list[Exempt]) -> str | None:
    """Return why a case is not expected to pass; None if it is."""
    rows = (e for e in exempt if e.library == library and fnmatch(case, e.case))
    return next((row.reason for row in rows), None)
