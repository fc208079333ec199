"""Runs tests whole, part by part, and writes down on which commit each part has passed.

    python -m tests.whole_runs [ROOM]

Parts are the folders of tests, and of laws and at the top the files. One that has passed is not run
again until something changes; so a run that was stopped goes on where it was. The tests of a part
that is a file run one after the other, and those that had passed before it was stopped do not run
again either: `.whole_runs` remembers them.
"""

from __future__ import annotations

import ast
import subprocess
import sys

from tests.changes import (
    RECORD,
    ROOT,
    TESTS,
    changed_definitions,
    git,
    part_of,
    recorded_commits,
)

NO_TESTS = 5  # what pytest returns if all cases are left out
PASSED = ROOT / ".whole_runs"  # a commit and a test in each line


def parts(room: str = "") -> list[str]:
    """Return all parts, or those of a folder or file of tests."""
    files = (path.relative_to(TESTS).as_posix() for path in TESTS.rglob("test_*.py"))
    return sorted({part_of(path) for path in files if path.startswith(room)})


def changed_since(commit: str) -> set[str]:
    """Return the files that have changed since a commit, the record apart."""
    return set(changed_definitions(commit)) - {RECORD.relative_to(ROOT).as_posix()}


def write_down(part: str, commit: str) -> None:
    """Write down that a part has passed on a commit."""
    lines = sorted({**recorded_commits(), part: commit}.items())
    RECORD.write_text("".join(f"{part}\t{commit}\n" for part, commit in lines), encoding="utf-8")


def tests_of(part: str) -> list[str]:
    """Return what is run of a part, in order: the tests of a file, or a folder at once."""
    path = f"tests/{part}"
    if not (ROOT / path).is_file():
        return [path]
    body = ast.parse((ROOT / path).read_text(encoding="utf-8")).body
    names = [node.name for node in body if isinstance(node, ast.FunctionDef)]
    return [f"{path}::{name}" for name in names if name.startswith("test")]


def passed_before(commit: str) -> set[str]:
    """Return the tests that have passed on a commit, or on one that is not different."""
    lines = PASSED.read_text(encoding="utf-8").splitlines() if PASSED.exists() else []
    entries = [line.split("\t") for line in lines]
    commits = {other for other, _ in entries}
    equal = {
        other
        for other in commits
        if other == commit
        or (git("cat-file", "-e", other) is not None and not changed_since(other))
    }
    return {test for other, test in entries if other in equal}


def run_part(part: str, commit: str) -> bool:
    """Run what has not passed of a part; return whether nothing fails."""
    passed, succeeds = passed_before(commit), True
    for test in tests_of(part):
        if test in passed:
            continue
        command = [sys.executable, "-m", "pytest", "--exhaustive", test]
        if subprocess.run(command, cwd=ROOT, check=False).returncode in (0, NO_TESTS):
            with PASSED.open("a", encoding="utf-8") as file:
                file.write(f"{commit}\t{test}\n")
        else:
            succeeds = False
    return succeeds


def main(room: str = "") -> int:
    """Run what has not run whole on the present state; return 1 if something fails."""
    commit = (git("rev-parse", "HEAD") or "").strip()
    if not commit or changed_since(commit):
        print("Commit all changes first: what runs whole is written down by its commit.")  # noqa: T201
        return 1
    failed = []
    for part in parts(room):
        before = recorded_commits().get(part)
        if before and git("cat-file", "-e", before) is not None and not changed_since(before):
            continue
        if run_part(part, commit):
            write_down(part, commit)
        else:
            failed.append(part)
    if failed:
        print("failed:", *failed)  # noqa: T201
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
