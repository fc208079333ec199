"""Running the tests of rows with their features broken.

A process imports what the tests need, and computes nothing. Each file of tests is collected in a
process forked from it, and each mutation is applied and tested in one forked from that.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import signal
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

import pytest
from _pytest.runner import runtestprotocol
from tools.mutate_rows.child import follow
from tools.mutate_rows.mutations import UNREACHABLE, Mutation, apply
from tools.mutate_rows.table import PROGRAMS, ROOT, TESTS, digest, killed_before, remember_killed

# Seconds that the tests of a row may take.
PATIENCE = 400
# Modules that take long to import. None starts threads, which a forked process would lack.
WARM = (
    "tests.conftest",
    "tests.graph.helpers",
    "tests.flowvision.zoo",
    "torchvision",
    "oneflow_onnx",
)

KILLED = "killed"
# The outcomes, the best first: a row that several files test gets the best of theirs.
VERDICTS = {
    KILLED: "a test fails, as it should",
    UNREACHABLE: "nothing that the test uses can be broken here",
    "killed elsewhere": "a test fails, but never uses what is broken",
    "survived": "the tests pass although the feature is broken",
    "not reached": "the tests pass, and never use what is broken",
    "fails anyway": "a test fails although nothing is broken",
    "not run": "there is no test, or it is skipped",
    "not collected": "the file of the test is wrong, or computes something when it is imported",
}
GOOD = {KILLED, UNREACHABLE}

_OPTIONS = ["-n", "0", "-q", "-s", "-p", "no:cacheprovider"]
# The process has imported them before pytest could rewrite their assertions.
_OPTIONS += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]


def run(mutations: Sequence[Mutation]) -> Iterator[tuple[Mutation, str, float]]:
    """Test mutations; each with its verdict and the seconds that it took."""
    files = {path: rows_of(path) for path in sorted(TESTS.glob("test_*.py"), key=_cost)}
    before = killed_before()
    shown_by = {
        mutation: [path for path, rows in files.items() if mutation.row in rows]
        for mutation in mutations
    }
    waiting: dict[Path, list[Mutation]] = defaultdict(list)
    for mutation, paths in shown_by.items():
        if mutation.kind == UNREACHABLE or digest(mutation, paths) in before:
            yield mutation, UNREACHABLE if mutation.kind == UNREACHABLE else KILLED, 0.0
            continue
        for path in paths or [TESTS]:
            waiting[path].append(mutation)
    if not waiting:
        return
    os.chdir(ROOT)
    for name in WARM:
        importlib.import_module(name)
    found: dict[Mutation, list[str]] = defaultdict(list)
    for path in [*files, TESTS]:
        left = [mutation for mutation in waiting[path] if KILLED not in found[mutation]]
        for mutation, verdict, seconds in _of_file(path, left):
            found[mutation].append(verdict)
            if verdict == KILLED or path == (shown_by[mutation] or [TESTS])[-1]:
                best = min(found[mutation], key=[*VERDICTS].index)
                if best == KILLED:
                    remember_killed(digest(mutation, shown_by[mutation]))
                yield mutation, best, seconds


def _cost(path: Path) -> tuple[bool, str]:
    """Jobs of several processes come last."""
    return "distributed" in path.name, path.name


def rows_of(file: Path) -> set[str]:
    """The rows that a file of tests names, and those of the programs that it runs."""
    text = file.read_text(encoding="utf8")
    for program in re.findall(r"rows_of_\w+\.py", text):
        text += (PROGRAMS / program).read_text(encoding="utf8")
    return {f"{part}-{number}" for part, number in re.findall(r"s(\d{3})_([A-Z]?\d+)", text)}


def _of_file(path: Path, mutations: list[Mutation]) -> Iterator[tuple[Mutation, str, float]]:
    """The verdicts of one file of tests, as they come from a forked process."""
    if path == TESTS or not mutations:
        yield from ((mutation, "not run", 0.0) for mutation in mutations)
        return
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _be_quiet()
        with os.fdopen(writing, "w", encoding="utf8", buffering=1) as out:
            pytest.main([*_OPTIONS, str(path)], plugins=[_Mutations(mutations, out.write)])
        os._exit(0)
    os.close(writing)
    left = list(mutations)
    with os.fdopen(reading, encoding="utf8") as lines:
        for line in lines:
            place, verdict, seconds = json.loads(line)
            left.remove(mutations[place])
            yield mutations[place], verdict, seconds
    os.waitpid(child, 0)
    yield from ((mutation, "not collected", 0.0) for mutation in left)


def _be_quiet() -> None:
    """Throw away the output of tests."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nowhere, stream)


class _Mutations:
    """A plugin of pytest: instead of running the tests, run some of them for each mutation."""

    def __init__(self, mutations: list[Mutation], write: Callable[[str], Any]) -> None:
        self._mutations = mutations
        self._write = write

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Take every test, not only those of the day."""
        for item in items:
            item.own_markers[:] = [marker for marker in item.own_markers if marker.name != "one_in"]

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Test the mutations one after the other."""
        backends = importlib.import_module("jax._src.xla_bridge")._backends
        if session.testsfailed or backends:
            return True
        rows = {mutation.row for mutation in self._mutations}
        items = {row: [item for item in session.items if _names(item, row)] for row in rows}
        used = [item for item in session.items if any(item in group for group in items.values())]
        plain = _outcomes(used, None, None)
        for place, mutation in enumerate(self._mutations):
            start = time.monotonic()
            verdict = _verdict(mutation, items[mutation.row], plain)
            self._write(json.dumps([place, verdict, time.monotonic() - start]) + "\n")
        return True


def _names(item: pytest.Item, row: str) -> bool:
    """Test if the name of a test, or the id of its parameters, has that of a row."""
    return re.search(rf"s{row.replace('-', '_')}(?!\d)", item.name) is not None


def _verdict(mutation: Mutation, items: list[pytest.Item], plain: dict[str, str]) -> str:
    """Run the tests of a row with its feature broken."""
    usual = {item: plain.get(item.nodeid, "failed") for item in items}
    if "failed" in usual.values():
        return "fails anyway"
    running = [item for item, outcome in usual.items() if outcome == "passed"]
    if not running:
        return "not run"
    with tempfile.TemporaryDirectory() as folder:
        reached = Path(folder) / "reached"
        outcomes = _outcomes(running, mutation, reached)
        # A process that did not come to an end was stopped for taking too long.
        if len(outcomes) < len(running) or "failed" in outcomes.values():
            return KILLED if reached.exists() else "killed elsewhere"
        return "survived" if reached.exists() else "not reached"


def _outcomes(
    items: list[pytest.Item], mutation: Mutation | None, reached: Path | None
) -> dict[str, str]:
    """Run tests in a forked process; with a mutation until the first fails."""
    with tempfile.TemporaryFile("w+", encoding="utf8") as file:
        child = os.fork()
        if child == 0:
            os.setsid()
            try:
                _run_items(items, mutation, reached, file)
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        _end_group(child)
        file.seek(0)
        return dict(json.loads(line) for line in file)


def _run_items(
    items: list[pytest.Item], mutation: Mutation | None, reached: Path | None, file: TextIO
) -> None:
    """Write the outcome of each test into a file."""
    if mutation is not None and reached is not None:
        signal.alarm(PATIENCE)
        apply(mutation, reached)
        follow(mutation, reached)
    for item, following in zip(items, [*items[1:], None], strict=True):
        outcome = _outcome(item, following)
        file.write(json.dumps([item.nodeid, outcome]) + "\n")
        file.flush()
        if mutation is not None and outcome == "failed":
            break


def _outcome(item: pytest.Item, following: pytest.Item | None) -> str:
    """Run a test: ``passed``, ``failed`` or ``skipped``."""
    outcomes = {report.outcome for report in runtestprotocol(item, log=False, nextitem=following)}
    return next((name for name in ("failed", "skipped") if name in outcomes), "passed")


def _end_group(process: int) -> None:
    """End what a test has started and left."""
    try:
        os.killpg(process, signal.SIGKILL)
    except ProcessLookupError:
        return
