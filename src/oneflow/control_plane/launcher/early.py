"""The start of the launcher while the package is still being imported.

`python -m oneflow.distributed.launch`, or `python -m oneflow launch`, imports `oneflow` first. The
launcher needs nothing of it, least of all JAX, and waits for its processes for as long as they run;
so it is started from here, which the package imports before anything else, and never comes back.
"""

from __future__ import annotations

import sys

MODULE = "oneflow.distributed.launch"


def launcher_arguments() -> list[str] | None:
    """Return the arguments of the launcher, or None if Python was not started to run it."""
    if sys.argv[:1] != ["-m"]:
        return None
    # While Python looks for the module, "-m" stands for its name, which comes before its arguments.
    module = sys.orig_argv[-len(sys.argv)].removeprefix("-m")
    if module == MODULE:
        return sys.argv[1:]
    return sys.argv[2:] if module == "oneflow" and sys.argv[1:2] == ["launch"] else None


arguments = launcher_arguments()
if arguments is not None:
    from oneflow.control_plane.launcher.command import main

    sys.argv = [MODULE, *arguments]
    sys.exit(main())
