"""Every row of `tests/samples` compiled for chips: ``python -m tools.chips.rows h100 FILE``.

A row is recorded on the CPU: results and first gradients of its first case; what was recorded is
compiled for the chip, and nothing runs. FILE gets a line of JSON for each row.
"""

from __future__ import annotations

import faulthandler
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")

from tests.laws.on_chips import compile_for, programs_of
from tests.samples.table import Operator, operators

from oneflow.plan import chip_named

ROOT = Path(__file__).resolve().parents[2]


def named_rows() -> dict[str, Operator]:
    """All rows of the table, in its order."""
    return {f"{family}-{row.name}": row for family, row in operators()}


def problem_of(row: Operator, chip_name: str) -> str | None:
    """The error of XLA's for a row that does not compile for a chip; None if it compiles.

    Also None if the call raises an error of ours.
    """
    chip = chip_named(chip_name)
    try:
        programs = programs_of(row, chip.type)
    except NotImplementedError:
        return None
    try:
        for program in programs:
            compile_for(program, chip)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def compile_rows(chip_name: str, file: Path, limit: int) -> None:
    """Compile the rows that `file` has no line for; the process ends if one takes too long."""
    done = set(problems_in(file))
    for name, row in named_rows().items():
        if name not in done:
            faulthandler.dump_traceback_later(limit, exit=True)
            problem = problem_of(row, chip_name)
            faulthandler.cancel_dump_traceback_later()
            _add(file, name, problem)


def compile_all(python: Path, chip_name: str, file: Path, limit: int) -> None:
    """Compile the rows in processes of their own, one after the other, past those too slow."""
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    settings = {"PYTHONPATH": paths, "JAX_ENABLE_COMPILATION_CACHE": "false"}
    command = [str(python), "-m", "tools.chips.rows", chip_name, str(file), str(limit)]
    while missing := [name for name in named_rows() if name not in problems_in(file)]:
        run = subprocess.run(
            command, cwd=ROOT, env=os.environ | settings, stderr=subprocess.PIPE, check=False
        )
        if run.returncode:
            rest = [name for name in missing if name not in problems_in(file)]
            end = run.stderr.decode(errors="replace")[-400:]
            _add(file, rest[0], f"the process ended, or took more than {limit} s: {end}")


def problems_in(file: Path) -> dict[str, str | None]:
    """The rows that have been compiled, each with what went wrong."""
    lines = file.read_text().splitlines() if file.is_file() else []
    kept = map(json.loads, lines)
    return {line["row"]: line["problem"] for line in kept}


def _add(file: Path, name: str, problem: str | None) -> None:
    with file.open("a") as lines:
        lines.write(json.dumps({"row": name, "problem": problem}) + "\n")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    compile_rows(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]))
