"""PyTorch's programs run on `oneflow`: one of them, or all that a shell starts.

``python -m oneflow.mock_torch script.py ...`` runs a script in which `torch` is `oneflow`;
``eval $(python -m oneflow.mock_torch)`` puts a folder with a module called `torch` into
``PYTHONPATH``, ``eval $(python -m oneflow.mock_torch disable)`` takes it out again.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from pathlib import Path

FOLDER = str(Path(__file__).parent / "path")


def main(arguments: list[str] | None = None) -> None:
    """Run a script, or print the command that changes the environment."""
    parser = argparse.ArgumentParser(
        prog="python -m oneflow.mock_torch",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "mock",
        nargs="?",
        default="enable",
        metavar="SCRIPT",
        help="a script to run; or `enable`, or `disable`, to print the command (%(default)s)",
    )
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="those of the script")
    chosen = parser.parse_args(arguments)
    path = _python_path(with_mock=chosen.mock != "disable")
    if chosen.mock in ("enable", "disable"):
        sys.stdout.write(f"export PYTHONPATH={shlex.quote(path)}\n")
        return
    if not Path(chosen.mock).exists():
        parser.error(f"there is no script `{chosen.mock}`")
    # Its child processes run like it.
    os.environ["PYTHONPATH"] = path
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, chosen.mock, *chosen.arguments])


def _python_path(with_mock: bool) -> str:
    others = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    kept = [each for each in others if each and each != FOLDER]
    return os.pathsep.join([FOLDER, *kept] if with_mock else kept)


if __name__ == "__main__":
    main()
