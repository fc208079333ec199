"""Runs tests whole, part by part, and writes down on which commit each part has passed.

    python -m tests.whole_runs [ROOM]

Parts are the folders of tests, and of laws and at the top the files. One that has passed is not run
again until something changes; so a run that was stopped goes on where it was.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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
        command = [sys.executable, "-m", "pytest", "--exhaustive", str(Path("tests") / part)]
        if subprocess.run(command, cwd=ROOT, check=False).returncode in (0, NO_TESTS):
            write_down(part, commit)
        else:
            failed.append(part)
    if failed:
        print("failed:", *failed)  # noqa: T201
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
