"""``eval $(python -m oneflow.mock_torch)``: PyTorch's programs run on `oneflow` in this shell.

It prints the command that puts a folder with a module called `torch` into ``PYTHONPATH``;
``python -m oneflow.mock_torch disable`` prints the one that takes it out again.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from pathlib import Path

FOLDER = str(Path(__file__).parent / "path")


def main(arguments: list[str] | None = None) -> None:
    """Print the command."""
    parser = argparse.ArgumentParser(prog="python -m oneflow.mock_torch", description=__doc__)
    parser.add_argument("mock", nargs="?", choices=("enable", "disable"), default="enable")
    chosen = parser.parse_args(arguments)
    others = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    kept = [each for each in others if each and each != FOLDER]
    if chosen.mock == "enable":
        kept.insert(0, FOLDER)
    sys.stdout.write(f"export PYTHONPATH={shlex.quote(os.pathsep.join(kept))}\n")


if __name__ == "__main__":
    main()
