"""Outcomes of tests, kept in files as they come in, so that a stopped run goes on."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

PASSED, SKIPPED, FAILED, STARTED = "passed", "skipped", "failed", "started"


@dataclass(frozen=True)
class Result:
    """The end of a test.

    Attributes:
        test: the name of its class and its own.
        outcome: one of the words above; what has started and not ended is the process' last test.
        message: the reason, or the type of the exception and the first lines of its text.
        seconds: how long it took, where that is measured.
    """

    test: str
    outcome: str
    message: str = ""
    seconds: float = 0.0


class Results:
    """The results of one file on one library; the last line of a test holds."""

    def __init__(self, file: Path) -> None:
        self.file = file
        lines = file.read_text().splitlines() if file.exists() else []
        self.by_test = {result.test: result for result in (Result(**json.loads(x)) for x in lines)}

    def add(self, result: Result) -> None:
        """Keep a result."""
        self.by_test[result.test] = result
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with self.file.open("a") as output:
            output.write(json.dumps(asdict(result)) + "\n")

    def started(self) -> str | None:
        """The test that has started and not ended."""
        names = (result.test for result in self.by_test.values() if result.outcome == STARTED)
        return next(names, None)

    def passed(self) -> set[str]:
        """The names of tests that have passed."""
        return {result.test for result in self.by_test.values() if result.outcome == PASSED}


def results_of(cache: Path, library: str, file: str) -> Results:
    """The results of a file of tests on a library."""
    return Results(cache / "results" / library / f"{file.replace('/', '.')}.jsonl")
