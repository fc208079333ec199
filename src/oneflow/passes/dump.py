"""Dump programs before and after the passes that `ONEFLOW_DEBUG_PASS` names."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

from oneflow.base.environment import DEBUG_PASS, LOG_DIR
from oneflow.passes.pipeline import PASSES, PassObserver
from oneflow.program.ir import Program
from oneflow.program.printer import format_program


def dump_callback(name: str) -> PassObserver | None:
    """An observer that dumps the passes of program `name` that the environment names, or None."""
    selected = {name.strip() for name in DEBUG_PASS.read().split(",") if name.strip()}
    names = [entry.name for entry in PASSES]
    unknown = sorted(selected - {"ALL", *names})
    if unknown:
        warnings.warn(
            f"{DEBUG_PASS.name}: there is no pass {', '.join(unknown)}; choose among "
            f"{', '.join(names)} and ALL",
            stacklevel=2,
        )
    return _PassDump(name, selected) if selected else None


class _PassDump:
    """An observer that writes the programs before and after passes to standard error.

    It writes them to `ONEFLOW_LOG_DIR` too, if that is set.

    Args:
        name: the program's name.
        pass_names: names of passes, or ``ALL``.
    """

    def __init__(self, name: str, pass_names: set[str]) -> None:
        self._name = name
        self._pass_names = pass_names

    def __call__(self, pass_name: str, before: Program, after: Program) -> None:
        """Dump one pass."""
        if "ALL" not in self._pass_names and pass_name not in self._pass_names:
            return
        for when, program in (("before", before), ("after", after)):
            text = format_program(program, self._name)
            sys.stderr.write(f"--- {self._name}: {when} {pass_name}\n{text}\n")
            if LOG_DIR.read():
                folder = Path(LOG_DIR.read())
                folder.mkdir(parents=True, exist_ok=True)
                path = folder / f"{self._name}-{pass_name}-{when}.txt"
                path.write_text(f"{text}\n", encoding="utf-8")
