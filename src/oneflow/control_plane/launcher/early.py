"""The start of the launcher while the package is still being imported.

`python -m oneflow.distributed.launch` imports `oneflow` first. The launcher needs nothing of it,
least of all JAX, and waits for its processes for as long as they run; so it is started from here,
which the package imports before anything else, and never comes back.
"""

from __future__ import annotations

import sys

MODULE = "oneflow.distributed.launch"


def is_launcher() -> bool:
    """Return whether Python was started with ``-m oneflow.distributed.launch``."""
    # While Python looks for the module, "-m" stands for its name, which comes before its arguments.
    return sys.argv[:1] == ["-m"] and sys.orig_argv[-len(sys.argv)].removeprefix("-m") == MODULE


if is_launcher():
    from oneflow.control_plane.launcher.command import main

    sys.argv[0] = MODULE
    sys.exit(main())
