"""Processes that run the tests of a file, ended when a test takes too long."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from tools.environments import PROJECT
from tools.torch_tests.results import FAILED, PASSED, SKIPPED, Result, Results, results_of

#: Importing a file of tests, with what it makes, may take longer than a test.
_SECONDS_TO_START = 120


def forget(results: Results, part: str, *, passed: bool) -> None:
    """Forget the results of tests whose names hold a text, of those that have passed if asked."""
    kept = (PASSED, SKIPPED) if not passed else ()
    results.by_test = {
        name: result
        for name, result in results.by_test.items()
        if part not in name or result.outcome in kept
    }
    remaining = list(results.by_test.values())
    results.file.unlink(missing_ok=True)
    for result in remaining:
        results.add(result)


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
    command = [sys.executable, "-m", "tools.torch_tests.child"]
    arguments = [library, file, str(cache), str(folder), part]
    results = results_of(cache, library, file)
    run_to_the_end([*command, *arguments], None, results.file, limit)


def run_to_the_end(
    command: Sequence[str], variables: Mapping[str, str] | None, file: Path, limit: int
) -> None:
    """Run a command that writes results to a file until it has come to its end.

    The test that it had begun when it crashed, or was ended, has failed; then it goes on with the
    others.

    Args:
        command: the command; it leaves out what has a result.
        variables: its environment variables; None for those of this process.
        file: the file of results; the log is beside it.
        limit: seconds for a test.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    while True:
        status = _run_process(command, variables, file, limit)
        results = Results(file)
        test = results.started()
        if test is None:
            if status != 0:
                print(f"exit status {status}, see {file.with_suffix('.log')}", flush=True)
            return
        reason = f"not done after {limit} s" if status is None else f"exit status {status}"
        results.add(Result(test, FAILED, reason))


def _run_process(
    command: Sequence[str], variables: Mapping[str, str] | None, results: Path, limit: int
) -> int | None:
    """The exit status of a process; None if it was ended because it did not come forward."""
    with results.with_suffix(".log").open("w") as output:
        process = subprocess.Popen(
            command, cwd=PROJECT, env=variables, stdout=output, stderr=output
        )
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
