"""`tools.clients`: the table of programs that were written for OneFlow."""

from pathlib import Path

from tools.clients.catalogue import Client, Run
from tools.clients.runs import PASSED, Result, Results
from tools.clients.table import write_table


def test_runs_without_a_result_keep_their_lines(tmp_path: Path) -> None:
    names = ("first", "second", "new")
    runs, others = (
        tuple(Run(client, name, f"run {name}") for name in names) for client in ("libai", "models")
    )
    client = Client("libai", "https://example.org/libai", "0123456789", (), (), (), "", {}, runs)
    other = Client("models", "https://example.org/models", "abcdef0123", (), (), (), "", {}, others)
    page = tmp_path / "clients.md"
    page.write_text("Text.\n<!-- table -->\n<!-- end of table -->\nMore.\n")
    results = Results(tmp_path / "results.jsonl")
    for run in runs[:2]:
        results.add(Result("libai", run.name, run.command, PASSED, 3.5))
    write_table([client, other], results, page)
    results = Results(tmp_path / "others.jsonl")  # those of another machine
    results.add(Result("libai", "second", runs[1].command, "exit status 1", 1.5))
    write_table([client, other], results, page)
    text = page.read_text()
    lines = text.splitlines()
    assert lines[0] == "Text."
    assert lines[-1] == "More."
    assert "| first | 1 | passed | 3.5 |" in lines
    assert "| second | 1 | exit status 1 | 1.5 |" in lines
    assert "| new | 1 | not run | |" in lines
    assert text.count("| first |") == 2
    assert text.count("passed") == 1  # the other client has no results
