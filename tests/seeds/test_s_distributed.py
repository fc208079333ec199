"""Rows that speak of several processes: each job checks all rows for its number of processes."""

import functools
import re

import pytest

from tests.distributed.launching import PROGRAMS, ROOT, Outcome, launch

pytestmark = [pytest.mark.multiprocess, pytest.mark.xdist_group("processes")]

JOBS = {"rows_of_two.py": 2, "rows_of_four.py": 4}


def rows_in(program: str) -> list[str]:
    """The names of the rows that a program checks."""
    return re.findall(r"^def (s\d\d\d_\w+)\(", (PROGRAMS / program).read_text(), re.MULTILINE)


@functools.cache
def outcome_of(program: str) -> Outcome:
    # No GPU, whatever the machine has: fewer devices than processes.
    return launch(program, processes=JOBS[program], CUDA_VISIBLE_DEVICES="")


@pytest.mark.parametrize(
    ("program", "row"), [(program, row) for program in JOBS for row in rows_in(program)]
)
def test_row(program, row):
    outcome = outcome_of(program)
    assert outcome.output.count(f"{row} holds\n") == JOBS[program], outcome.error


def test_s000_16_every_process_says_who_it_is():
    lines = outcome_of("rows_of_two.py").output.splitlines()
    assert {"rank 0 of 2", "rank 1 of 2"} <= set(lines)


def test_s000_24_the_page_on_strategies_runs(tmp_path):
    page = (ROOT / "docs" / "distributed.md").read_text()
    for title in ("Data parallelism", "Tensor parallelism", "Pipelines"):
        assert f"\n## {title}\n" in page
    for number, program in enumerate(re.findall(r"```python\n(.*?)```", page, re.DOTALL)):
        (tmp_path / f"{number}.py").write_text(program)
    run_all = tmp_path / "run_all.py"
    run_all.write_text(
        "import os, pathlib, runpy\n"
        "os.chdir(pathlib.Path(__file__).parent)\n"
        "for path in sorted(pathlib.Path().glob('?.py')):\n"
        "    runpy.run_path(str(path))\n"
    )
    outcome = launch(str(run_all))
    assert outcome.code == 0, outcome.error
    assert (tmp_path / "model").exists()
