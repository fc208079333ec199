"""The table of results in `docs/third_party.md`."""

from __future__ import annotations

import time
from pathlib import Path

from tools.third_party.libraries import Library, read_exempt, reason_of
from tools.third_party.page import write_part
from tools.torch_tests.results import FAILED, PASSED, Result, results_of

#: What the page promises: of all cases that pass on PyTorch.
_SHARE = 0.97
_NOT_RUN = "not run"


def _failures(cache: Path, library: str) -> list[Result]:
    """The cases that pass on PyTorch and do not here."""
    results = results_of(cache, "oneflow", library).by_test
    counted = sorted(results_of(cache, "torch", library).passed())
    found = [results.get(case, Result(case, FAILED, _NOT_RUN)) for case in counted]
    return [result for result in found if result.outcome != PASSED]


def write_table(cache: Path, libraries: list[Library]) -> bool:
    """Write the page's table; returns whether as much passes as it promises."""
    exempt = read_exempt()
    rows = ["| library | cases | pass | not expected to | not run |", "| --- |" + " ---: |" * 4]
    listed, failed, total, left = [], [], 0, 0
    for library in libraries:
        cases = results_of(cache, "torch", library.name).passed()
        if not cases:
            continue
        failures = _failures(cache, library.name)
        excused = [x for x in failures if reason_of(library.name, x.test, exempt)]
        total += len(cases) - len(excused)
        packages = ", ".join(f"`{package}`" for package in library.packages)
        not_run = sum(failure.message == _NOT_RUN for failure in failures)
        numbers = len(cases), len(cases) - len(failures), len(excused) or "", not_run or ""
        rows.append(f"| {packages} | {' | '.join(map(str, numbers))} |")
        left += not_run
        for failure in (x for x in failures if x.message != _NOT_RUN):
            text = reason_of(library.name, failure.test, exempt) or _first_line(failure.message)
            line = f"- {library.name}, {failure.test}: {text}"
            (listed if failure in excused else failed).append(line)
    lines = [f"Written by `make third-party` on {time.strftime('%Y-%m-%d')}.", "", *rows]
    for title, members in (("Not expected to pass", listed), ("Failures", failed)):
        lines += ["", f"{title}:", "", *members] if members else []
    write_part("table", "\n".join(lines))
    return len(failed) + left <= (1 - _SHARE) * total


def _first_line(message: str) -> str:
    line = message.partition("\n")[0].replace("|", "\\|")
    return f"`{line[:157]}...`" if len(line) > 160 else f"`{line}`"
