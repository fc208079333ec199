"""The start of the launcher while the package is still being imported.

`python -m oneflow.distributed.launch`, `python -m oneflow launch` and the command `oneflow launch`
import `oneflow` first. The launcher needs nothing of it, least of all JAX, and waits for its
processes for as long as they run; so it is started from here, which the package imports before
anything else, and never comes back.
"""

from __future__ import annotations

import os
import sys

MODULE = "oneflow.distributed.launch"


def launcher_arguments() -> list[str] | None:
    """Return the arguments of the launcher, or None if Python was not started to run it."""
    names_launcher = sys.argv[1:2] == ["launch"]
    if sys.argv[:1] != ["-m"]:
        is_command = sys.argv[:1] and os.path.basename(sys.argv[0]) in ("oneflow", "oneflow.exe")
        return sys.argv[2:] if is_command and names_launcher else None
    # While Python looks for the module, "-m" stands for its name, which comes before its arguments.
    module = sys.orig_argv[-len(sys.argv)].removeprefix("-m")
    if module == MODULE:
        return sys.argv[1:]
    return sys.argv[2:] if module == "oneflow" and names_launcher else None


arguments = launcher_arguments()
if arguments is not None:
    from oneflow.control_plane.launcher.command import main

    sys.argv = [MODULE, *arguments]
    sys.exit(main())
