"""Processes that run the tests of a file, ended when a test takes too long."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from tools.torch_tests.results import FAILED, PASSED, SKIPPED, Result, Results, results_of

_PROJECT = Path(__file__).parents[2]
#: Importing a file of tests, with what it makes, may take longer than a test.
_SECONDS_TO_START = 120


def forget(results: Results, part: str, *, passed: bool) -> None:
    """Forget the results of tests whose names hold a text, of those that have passed if asked."""
    kept = (PASSED, SKIPPED) if not passed else ()
    results.by_test = {
        name: each
        for name, each in results.by_test.items()
        if part not in name or each.outcome in kept
    }
    remaining = list(results.by_test.values())
    results.file.unlink(missing_ok=True)
    for each in remaining:
        results.add(each)


def run_file(library: str, file: str, cache: Path, folder: Path, part: str, limit: int) -> None:
    """Run the tests of a file that have no results yet, in as many processes as it takes.

    Args:
        library: `torch` or `oneflow`.
        file: a file below the folder of tests.
        cache: the folder with the results.
        folder: the folder of tests.
        part: only tests whose names hold this.
        limit: seconds for a test.
    """
    log = results_of(cache, library, file).file.with_suffix(".log")
    log.parent.mkdir(parents=True, exist_ok=True)
    while True:
        status = _run_process([library, file, str(cache), str(folder), part], log, limit)
        results = results_of(cache, library, file)
        test = results.started()
        if test is None:
            if status != 0:
                print(f"{library}: {file}: exit status {status}, see {log}", flush=True)
            return
        reason = f"not done after {limit} s" if status is None else f"exit status {status}"
        results.add(Result(test, FAILED, reason))


def _run_process(arguments: list[str], log: Path, limit: int) -> int | None:
    """The exit status of a process; None if it was ended because it did not come forward."""
    command = [sys.executable, "-m", "tools.torch_tests.child", *arguments]
    results = log.with_suffix(".jsonl")
    with log.open("w") as output:
        process = subprocess.Popen(command, cwd=_PROJECT, stdout=output, stderr=output)
        start = time.time()
        while True:
            try:
                return process.wait(1)
            except subprocess.TimeoutExpired:
                pass
            written = results.stat().st_mtime if results.exists() else 0
            if time.time() - max(start + _SECONDS_TO_START, written) > limit:
                process.kill()
                process.wait()
                return None
