"""The list of clients, `clients.toml`, as records."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
LIST = FOLDER / "clients.toml"


@dataclass(frozen=True)
class Edit:
    """A text of a client's files that is replaced: a device, a size, a path.

    Attributes:
        file: the path of the file in the repository, or a pattern of paths like ``**/*.py``.
        old: the text, which must occur in the file, or in one of the files.
        new: what stands there instead.
    """

    file: str
    old: str
    new: str


@dataclass(frozen=True)
class Run:
    """A command of a client.

    Attributes:
        client: the name of the client.
        name: what the command shows.
        command: the command, run by a shell in the client's folder; ``{output}`` is a folder of
            its own. ``{tools}``, the folder of this package, and ``{launch}`` are filled in when it
            is run.
        ranks: the number of processes that ``{launch}`` starts.
        limit: seconds after which it counts as hanging.
        losses: a file of JSON lines with one loss each, and their field: ``file:field``.
        equals: the name of an earlier run whose losses must be equal.
        tolerance: how far they may be apart, relative to their size.
    """

    client: str
    name: str
    command: str
    ranks: int = 1
    limit: int = 300
    losses: str = ""
    equals: str = ""
    tolerance: float = 1e-5


@dataclass(frozen=True)
class Client:
    """A repository.

    Attributes:
        name: its name.
        repository: where it is fetched from.
        commit: which commit.
        packages: packages that it needs besides those of this project's tests.
        without: files and folders that are not checked out.
        edits: changes to its files.
        data: a program in `tools/clients/data` that writes synthetic data into the folder.
        variables: environment variables of its runs.
        runs: its commands.
    """

    name: str
    repository: str
    commit: str
    packages: tuple[str, ...]
    without: tuple[str, ...]
    edits: tuple[Edit, ...]
    data: str
    variables: dict[str, str]
    runs: tuple[Run, ...]


def read_clients(path: Path = LIST) -> list[Client]:
    """Return the clients of the list, with the words of ``[client.words]`` filled in.

    Raises:
        ValueError: two runs of a client have one name, or one refers to an unknown run.
    """
    return [_client(table) for table in tomllib.loads(path.read_text())["client"]]


def _client(table: dict[str, Any]) -> Client:
    name, words = table["name"], table.get("words", {})
    runs = tuple(_run(name, words, row) for row in table["run"])
    names: set[str] = set()
    for run in runs:
        if run.name in names or (run.equals and run.equals not in names):
            raise ValueError(f"{name}: run {run.name!r} is there twice, or refers to a later one")
        names.add(run.name)
    return Client(
        name,
        table["repository"],
        table["commit"],
        tuple(table.get("packages", ())),
        tuple(table.get("without", ())),
        tuple(Edit(**row) for row in table.get("edit", ())),
        table.get("data", ""),
        table.get("variables", {}),
        runs,
    )


def _run(client: str, words: dict[str, str], row: dict[str, Any]) -> Run:
    """A run, with words in place of ``{word}``; a word may have earlier ones in it."""
    output = "output/" + "".join(element if element.isalnum() else "_" for element in row["name"])
    filled = {}
    for field in ("command", "losses"):
        text = row.get(field, "")
        for word, meaning in (*reversed(words.items()), ("output", output)):
            text = text.replace(f"{{{word}}}", meaning)
        filled[field] = text
    return Run(**{**row, **filled, "client": client})
