"""Write `docs/features.md`: every promised feature, where it lives, and the test that shows it.

`docs/features.tsv` lists the features; the tests below `tests/seeds` carry their ids, as in
``test_s003_24_debug`` or as the id of a parameter. Run it again when either changes.
"""

from __future__ import annotations

import ast
import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
LIST = ROOT / "docs" / "features.tsv"
PAGE = ROOT / "docs" / "features.md"
TESTS = ROOT / "tests" / "seeds"
# Programs of several processes; `test_row` checks what each of their functions says.
PROGRAMS = ROOT / "tests" / "distributed" / "programs"

_TITLES = {
    "000": "Framework",
    "001": "Graphs, operators, vision",
    "002": "Tensors and job functions",
    "003": "`nn.Graph`",
    "004": "ONNX",
}
_ID = re.compile(r"s(\d{3})_([A-Z]?\d+)")
_ROW = re.compile(r"^def s(\d{3})_([A-Z]?\d+)", re.MULTILINE)
_INTRODUCTION = """\
# Features

Everything that this package promises, with the part of the API that has it and the test that shows
it; written by `tools/make_features.py`. {tested} of {total} have a test. A test carries the id of
its feature: `make test ROOM=seeds PYTEST_ARGS="-k s003_24"` runs that of 003-24.
"""
_HEADER = "| id | feature | in | shown by |\n| --- | --- | --- | --- |"


class Feature(NamedTuple):
    """A row of the list."""

    id: str
    where: str
    feature: str


def features() -> list[Feature]:
    """Return the rows of `docs/features.tsv`."""
    with LIST.open(encoding="utf8") as file:
        return [
            Feature(**row) for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        ]


def features_with_tests() -> dict[str, list[str]]:
    """Return the tests of each feature that has some, by its id."""
    found: dict[str, list[str]] = {}
    for path in sorted(TESTS.glob("test_*.py")):
        for name, body in _tests(path.read_text(encoding="utf8")):
            for part, number in dict.fromkeys(_ID.findall(body)):
                found.setdefault(f"{part}-{number}", []).append(f"{path.stem}::{name}")
    for path in sorted(PROGRAMS.glob("rows_of_*.py")):
        for part, number in _ROW.findall(path.read_text(encoding="utf8")):
            found.setdefault(f"{part}-{number}", []).append("test_s_distributed::test_row")
    return found


def _tests(source: str) -> Iterator[tuple[str, str]]:
    """Each test with its text, and that of whatever it uses of its module."""
    tree = ast.parse(source)
    lines = source.splitlines()
    texts: dict[str, str] = {}
    used: dict[str, set[str]] = {}
    for node in tree.body:
        decorators = getattr(node, "decorator_list", [])
        first = min([node.lineno, *(decorator.lineno for decorator in decorators)])
        for name in _names_of(node):
            texts[name] = "\n".join(lines[first - 1 : node.end_lineno])
            used[name] = {child.id for child in ast.walk(node) if isinstance(child, ast.Name)}
    for name in texts:
        if name.startswith("test_"):
            # One that is named after a feature is about that.
            found, waiting = {name}, [] if _ID.search(name) else [name]
            while waiting:
                new = (used[waiting.pop()] & texts.keys()) - found
                found |= new
                waiting += new
            yield name, "\n".join(texts[text] for text in texts if text in found)


def _names_of(node: ast.stmt) -> list[str]:
    """The names that a statement of a module defines."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else []
    if isinstance(node, ast.AnnAssign):
        targets = [node.target]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def page() -> str:
    """Return the text of `docs/features.md`."""
    rows, tests = features(), features_with_tests()
    tested = sum(row.id in tests for row in rows)
    lines = [_INTRODUCTION.format(tested=tested, total=len(rows))]
    for part, title in _TITLES.items():
        lines += [f"\n## {title}\n", _HEADER]
        for row in rows:
            if row.id.startswith(part):
                shown = ", ".join(f"`{name}`" for name in tests.get(row.id, ())) or "not yet"
                lines.append(f"| {row.id} | {row.feature} | `{row.where}` | {shown} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf8")
