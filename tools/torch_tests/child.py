"""Runs the tests of one file on one library: ``python -m tools.torch_tests.child``.

A test that has a result is not run again, and on this package only those are that passed on
PyTorch. Whoever started this process watches the file of results, and ends and starts it again
when a test takes too long.
"""

from __future__ import annotations

import sys
import traceback
import unittest
import warnings
from collections.abc import Iterator
from pathlib import Path

from tools.torch_tests.results import FAILED, PASSED, SKIPPED, STARTED, Result, results_of

import oneflow.mock_torch

_MESSAGE_LENGTH = 1500


class _Outcome(unittest.TestResult):
    """The outcome of a single test: subtests count together, and errors as failures."""

    outcome, message = PASSED, ""

    def _fail(self, error: tuple) -> None:
        text = "".join(traceback.format_exception_only(error[1])).strip()
        frames = traceback.extract_tb(error[2])
        place = next((f for f in reversed(frames) if "/test/" in f.filename), frames[-1])
        self.outcome = FAILED
        self.message = f"{text}\n{place.lineno}: {place.line}"[:_MESSAGE_LENGTH]

    def addError(self, test: unittest.TestCase, err: tuple) -> None:
        """Keep an exception."""
        self._fail(err)

    def addFailure(self, test: unittest.TestCase, err: tuple) -> None:
        """Keep a failed assertion."""
        self._fail(err)

    def addSubTest(self, test: object, subtest: object, err: tuple | None) -> None:
        """Keep what went wrong in a part of the test."""
        if err is not None:
            self._fail(err)

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        """Keep the reason."""
        self.outcome, self.message = SKIPPED, reason

    def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:
        """A test that PyTorch expects to fail."""
        self.outcome, self.message = FAILED, "unexpected success"


def _tests(suite: unittest.TestSuite) -> Iterator[unittest.TestCase]:
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from _tests(test)
        else:
            yield test


def main(library: str, file: str, cache: Path, folder: Path, only: str) -> None:
    """Run the tests of a file that have no results yet."""
    if library == "oneflow":
        oneflow.mock_torch.enable()
    # Now that the name `torch` has its meaning.
    from tools.torch_tests.substitutes.loading import load  # noqa: PLC0415

    results = results_of(cache, library, file)
    counted = results_of(cache, "torch", file).passed() if library == "oneflow" else None
    suite = unittest.defaultTestLoader.loadTestsFromModule(load(folder, file))
    for test in _tests(suite):
        name = test.id().split(".", 1)[1]
        if (
            only not in name
            or name in results.by_test
            or (counted is not None and name not in counted)
        ):
            continue
        results.add(Result(name, STARTED))
        outcome = _Outcome()
        with warnings.catch_warnings():
            warnings.simplefilter("default")
            unittest.TestSuite([test]).run(outcome)
        results.add(Result(name, outcome.outcome, outcome.message))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4]), sys.argv[5])
