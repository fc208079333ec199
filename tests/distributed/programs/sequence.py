"""Runs programs of this folder one after the other: starting processes takes longer than most.

Takes a folder and a list, as JSON, of programs with their arguments. Each rank writes into the
folder which programs have ended, and what Python printed in them.
"""

import contextlib
import io
import json
import random
import runpy
import sys
from pathlib import Path

import numpy as np

import oneflow as flow

PROGRAMS = Path(__file__).parent


def run(program: str, *arguments: str) -> str:
    """Run a program as if it was started alone; return what it printed."""
    sys.argv = [program, *arguments]
    random.seed(0)
    np.random.seed(0)
    flow.manual_seed(0)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        runpy.run_path(str(PROGRAMS / program), run_name="__main__")
    return printed.getvalue()


if __name__ == "__main__":
    folder, programs = Path(sys.argv[1]), json.loads(sys.argv[2])
    for program, *arguments in programs:
        printed = run(program, *arguments)
        with (folder / f"rank_{flow.env.get_rank()}").open("a", encoding="utf-8") as records:
            records.write(json.dumps([[program, *arguments], printed]) + "\n")
