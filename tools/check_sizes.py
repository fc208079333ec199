#!/usr/bin/env python3
"""Check that files and functions stay short enough to read, and say what they are about.

A file has at most 500 lines, except the lists of public names; a function has at most 50 lines, its
docstring not counted. Names of loop variables and openings of comments follow `plain_english.py`.
Prints every offender and exits with status 1 if there is one. `--summary` prints the number of
files and lines per room instead of only the total.
"""

import argparse
import ast
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from plain_english import unclear_lines

MAX_FILE_LINES = 500
MAX_FUNCTION_LINES = 50
FOLDERS = ("src", "tests", "examples", "benchmarks", "tools", "docs")
# Only imports: they grow with the number of public names.
NAME_LISTS = (
    Path("src/oneflow/__init__.py"),
    Path("src/oneflow/_C.py"),
)

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Measured:
    """A file and its number of lines."""

    path: Path
    lines: int


def python_files(root: Path) -> list[Path]:
    """Return the project's Python files, sorted, without built documentation."""
    paths = (path for folder in FOLDERS for path in (root / folder).rglob("*.py"))
    return sorted(path for path in paths if "_build" not in path.parts)


def docstring_lines(function: FunctionNode) -> int:
    """Return how many lines the docstring of a function takes."""
    if ast.get_docstring(function, clean=False) is None:
        return 0
    first = function.body[0]
    return (first.end_lineno or first.lineno) - first.lineno + 1


def function_lines(function: FunctionNode) -> int:
    """Return the lines of a function from `def` to its end, without the docstring."""
    end = function.end_lineno or function.lineno
    return end - function.lineno + 1 - docstring_lines(function)


def long_functions(path: Path, source: str) -> Iterator[str]:
    """Describe each function of a file that is too long."""
    for node in ast.walk(ast.parse(source, filename=str(path))):
        if not isinstance(node, FunctionNode):
            continue
        lines = function_lines(node)
        if lines > MAX_FUNCTION_LINES:
            yield (
                f"{path}:{node.lineno}: function `{node.name}` has {lines} lines, "
                f"at most {MAX_FUNCTION_LINES} are allowed"
            )


def room_of(path: Path) -> str:
    """Name the room of a file: `oneflow/tensor` in src, the top folder elsewhere."""
    top, *rest = path.parts
    if top != "src":
        return top
    return f"{rest[0]}/{rest[1]}" if len(rest) > 2 else f"{rest[0]}/*.py"


def print_summary(measured: list[Measured]) -> None:
    """Print files, lines and the longest file of every room."""
    rooms: dict[str, list[Measured]] = defaultdict(list)
    for file in measured:
        rooms[room_of(file.path)].append(file)
    width = max((len(room) for room in rooms), default=4)
    print(f"{'room':{width}}  files  lines  longest file")
    for room, files in rooms.items():
        longest = max(files, key=lambda file: file.lines)
        total = sum(file.lines for file in files)
        print(f"{room:{width}}  {len(files):5}  {total:5}  {longest.path.name} ({longest.lines})")


def main() -> int:
    """Check all files; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--summary", action="store_true", help="print lines per room")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    arguments = parser.parse_args()

    measured: list[Measured] = []
    offenders: list[str] = []
    for path in python_files(arguments.root):
        source = path.read_text(encoding="utf-8")
        file = Measured(path.relative_to(arguments.root), len(source.splitlines()))
        measured.append(file)
        if file.lines > MAX_FILE_LINES and file.path not in NAME_LISTS:
            offenders.append(
                f"{file.path}: the file has {file.lines} lines, "
                f"at most {MAX_FILE_LINES} are allowed"
            )
        offenders.extend(long_functions(file.path, source))
        offenders.extend(unclear_lines(file.path, source))

    if arguments.summary:
        print_summary(measured)
    for offender in offenders:
        print(offender, file=sys.stderr)
    total = sum(file.lines for file in measured)
    print(f"sizes: {len(measured)} files, {total} lines, {len(offenders)} too long or unclear")
    return 1 if offenders else 0


if __name__ == "__main__":
    sys.exit(main())
