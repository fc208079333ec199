"""The table of results in `docs/clients.md`."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

from tools.clients.catalogue import FOLDER, Client
from tools.clients.runs import PASSED, Results

PAGE = FOLDER.parents[1] / "docs" / "clients.md"
_BEGIN, _END = "<!-- table -->\n", "<!-- end of table -->\n"


def write_table(clients: Iterable[Client], results: Results, page: Path = PAGE) -> None:
    """Write the results between two marks of the page.

    A run without a result keeps its line: whoever runs one client has no results of the others.
    """
    before, _, rest = page.read_text().partition(_BEGIN)
    table, _, after = rest.partition(_END)
    lines = [f"Written by `make clients` on {time.strftime('%Y-%m-%d')}.", ""]
    for client in clients:
        _, _, section = table.partition(_heading(client))
        lines += _lines(client, results, section.partition("### ")[0].splitlines())
    page.write_text(before + _BEGIN + "\n".join(lines) + "\n" + _END + after)


def _heading(client: Client) -> str:
    return f"### [{client.name}]({client.repository}), commit `{client.commit[:8]}`"


def _lines(client: Client, results: Results, before: list[str]) -> list[str]:
    lines = [_heading(client), ""]
    if client.edits:
        edits = [f"`{e.file}`: `{_short(e.old)}` → `{_short(e.new)}`" for e in client.edits]
        lines += [f"Edits: {'; '.join(edits)}.", ""]
    lines += ["| run | processes | result | seconds |", "| --- | --- | --- | --- |"]
    for run in client.runs:
        result = results.get(run)
        start = f"| {run.name} | {run.ranks} | "
        if result is None:
            lines.append(
                next((line for line in before if line.startswith(start)), f"{start}not run | |")
            )
            continue
        outcome, seconds = result.outcome, result.seconds
        compared = f", losses of {run.equals}" if run.equals and outcome == PASSED else ""
        lines.append(f"{start}{outcome}{compared} | {seconds} |")
    return [*lines, ""]


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) < 60 else line[:57] + "..."
