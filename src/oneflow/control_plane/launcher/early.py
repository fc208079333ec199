"""The start of the launcher while the package is still being imported.

`python -m oneflow.distributed.launch`, or `python -m oneflow launch`, imports `oneflow` first. The
launcher needs nothing of it, least of all JAX, and waits for its processes for as long as they run;
so it is started from here, which the package imports before anything else, and never comes back.
"""

from __future__ import annotations

import sys

MODULE = "oneflow.distributed.launch"


def is_launcher() -> bool:
    """Return whether Python was started with ``-m oneflow.distributed.launch``.

    ``-m oneflow launch`` is the same; its first argument is taken away.
    """
    if sys.argv[:1] != ["-m"]:
        return False
    # While Python looks for the module, "-m" stands for its name, which comes before its arguments.
    module = sys.orig_argv[-len(sys.argv)].removeprefix("-m")
    if module == "oneflow" and sys.argv[1:2] == ["launch"]:
        del sys.argv[1]
        return True
    return module == MODULE


if is_launcher():
    from oneflow.control_plane.launcher.command import main

    sys.argv[0] = MODULE
    sys.exit(main())
