"""Runs the tests of a suite: ``python -m tools.third_party.suite_child``.

A test that has a result is not run again; on this package those are run that pass on PyTorch.
"""

from __future__ import annotations

import importlib
import os
import sys
import zlib
from pathlib import Path

import pytest
from tools.third_party.suites import read_suites
from tools.torch_tests.results import FAILED, PASSED, SKIPPED, STARTED, Result, Results

import oneflow.mock_torch

_MESSAGE_LENGTH = 1500


class Recorder:
    """A plugin of pytest that keeps results, and chooses the tests.

    Args:
        results: the results so far.
        counted: the tests that are run; None for all.
        every: one of so many is run.
    """

    def __init__(self, results: Results, counted: set[str] | None, every: int) -> None:
        self._results, self._counted, self._every = results, counted, every
        self._failed_part = ""

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list) -> None:
        """Leave out tests that have results, and those that are not chosen."""
        items[:] = [item for item in items if self._is_run(item.nodeid)]

    def _is_run(self, name: str) -> bool:
        if name in self._results.by_test:
            return False
        if self._counted is not None:
            return name in self._counted
        return zlib.crc32(name.encode()) % self._every == 0

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Keep the error of a file that cannot be imported."""
        if report.failed:
            name = f"import {report.nodeid}"
            self._results.add(Result(name, FAILED, report.longreprtext[-_MESSAGE_LENGTH:]))

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        """Note that a test begins."""
        self._failed_part = ""
        self._results.add(Result(nodeid, STARTED))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the outcome of a test."""
        if isinstance(report, pytest.SubtestReport):
            # The test that it is a part of goes on.
            self._failed_part = self._failed_part or report.longreprtext * report.failed
            return
        if report.passed and report.when != "call":
            return
        text = self._failed_part or report.longreprtext
        outcome = SKIPPED if report.skipped else PASSED
        outcome = FAILED if report.failed or self._failed_part else outcome
        message = text[-_MESSAGE_LENGTH:]
        self._results.add(Result(report.nodeid, outcome, message, report.duration))


def main(framework: str, name: str, cache: Path) -> None:
    """Run the tests of a suite that have no results yet."""
    suite = next(suite for suite in read_suites() if suite.name == name)
    counted = suite.results(cache, "torch").passed() if framework == "oneflow" else None
    recorder = Recorder(suite.results(cache, framework), counted, suite.every)
    if framework == "oneflow":
        oneflow.mock_torch.enable()
        # Some derive test cases from PyTorch's private ones.
        loading = importlib.import_module("tools.torch_tests.substitutes.loading")
        loading.install_private_modules()
    else:
        importlib.import_module("tests.flowvision.torchvision_operators")
    # Its tests may be called as ours, or be imported from folders of their own.
    os.chdir(cache / "suites" / name)
    for module in [module for module in sys.modules if module.split(".")[0] == "tests"]:
        del sys.modules[module]
    sys.path[:] = [str(Path.cwd()), *[path for path in sys.path if path != os.environ["PWD"]]]
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--continue-on-collection-errors"]
    pytest.main([*suite.paths, *options, *suite.options], plugins=[recorder])


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]))
