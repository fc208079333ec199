"""A Python program that a test starts runs with the test's mutation.

``python child.py MUTATION REACHED ...`` does what ``python ...`` does. In a process whose feature
is broken, `follow` lets every Python process that it starts run this way.
"""

from __future__ import annotations

import importlib
import json
import os
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

LAUNCHER = "oneflow.distributed.launch"
ROOT = Path(__file__).resolve().parents[2]


def follow(mutation: tuple[str, ...], reached: Path) -> None:
    """Let the Python processes that this one starts have the mutation."""
    start: Callable[..., None] = subprocess.Popen.__init__
    prefix = [str(Path(__file__)), json.dumps(mutation), str(reached)]

    def start_broken(self: Any, args: Any, *rest: Any, **options: Any) -> None:
        if isinstance(args, list | tuple) and args and str(args[0]) == sys.executable:
            flags = 1
            while str(args[flags]).startswith(("-W", "-X", "-u")):
                flags += 1 if len(str(args[flags])) > 2 or args[flags] == "-u" else 2
            args = [*args[:flags], *prefix, *args[flags:]]
        start(self, args, *rest, **options)

    subprocess.Popen.__init__ = start_broken  # type: ignore[method-assign]


def main() -> None:
    """Break the feature, and run the program that the rest of the command line names."""
    _, encoded, reached, *command = sys.argv
    mutations = importlib.import_module("tools.mutate_rows.mutations")
    mutation = mutations.Mutation(*json.loads(encoded))
    mutations.apply(mutation, Path(reached))
    follow(mutation, Path(reached))
    program, *arguments = command
    if program == "-c":
        code, *arguments = arguments
        sys.argv = ["-c", *arguments]
        sys.path[0] = ""
        exec(compile(code, "<string>", "exec"), sys.modules["__main__"].__dict__)
    elif program == "-m":
        module, *arguments = arguments
        sys.argv = [module, *arguments]
        sys.path[0] = os.getcwd()
        if module == LAUNCHER:  # it starts while its package is imported
            sys.exit(importlib.import_module(module).main())
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    else:
        sys.argv = [program, *arguments]
        sys.path[0] = str(Path(program).resolve().parent)
        runpy.run_path(program, run_name="__main__")


if __name__ == "__main__":
    sys.path.insert(1, str(ROOT))
    main()
