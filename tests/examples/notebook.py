"""Run a notebook: ``python -m tests.examples.notebook FILE`` prints what each of its cells prints.

The cells of code run in order, in one namespace, in a folder of their own.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any


def code_cells(path: Path) -> list[dict[str, Any]]:
    """The cells of code of a notebook."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def shown(cell: dict[str, Any]) -> str:
    """The output that a notebook shows below a cell."""
    return "".join(line for output in cell["outputs"] for line in output["text"])


def run(path: Path) -> list[str]:
    """Run the cells; return what each prints."""
    names: dict[str, Any] = {"__name__": "__main__"}
    printed = []
    for number, cell in enumerate(code_cells(path), 1):
        code = compile("".join(cell["source"]), f"{path.name}, cell {number}", "exec")
        with contextlib.redirect_stdout(io.StringIO()) as stdout:
            exec(code, names)
        printed.append(stdout.getvalue())
    return printed


if __name__ == "__main__":
    notebook = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        sys.stdout.write(json.dumps(run(notebook)))
