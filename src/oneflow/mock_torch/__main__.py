"""PyTorch's programs run on `oneflow`: one of them, or all that a shell starts.

``python -m oneflow.mock_torch script.py ...`` runs a script in which `torch` is `oneflow`;
``eval $(python -m oneflow.mock_torch)`` puts a folder with a module called `torch` into
``PYTHONPATH``, ``eval $(python -m oneflow.mock_torch disable)`` takes it out again. Options stand
before the script.
"""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from pathlib import Path

from oneflow.base.command_parser import CommandParser
from oneflow.base.environment import MOCK_TORCH_LAZY, MOCK_TORCH_VERBOSE

FOLDER = str(Path(__file__).parent / "path")


def main(arguments: list[str] | None = None) -> None:
    """Run a script, or print the command that changes the environment."""
    parser = CommandParser(
        prog="python -m oneflow.mock_torch",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--lazy",
        action=argparse.BooleanOptionalAction,
        help=f"placeholders stand for names that are missing here; default: {MOCK_TORCH_LAZY.name}",
    )
    parser.add_argument(
        "--verbose",
        action=argparse.BooleanOptionalAction,
        help=f"print the missing names; default: {MOCK_TORCH_VERBOSE.name}",
    )
    parser.add_argument(
        "mock",
        nargs="?",
        default="enable",
        metavar="SCRIPT",
        help="a script to run; or `enable`, or `disable`, to print the command (%(default)s)",
    )
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="those of the script")
    options = parser.parse_args(arguments)
    flags = {MOCK_TORCH_LAZY.name: options.lazy, MOCK_TORCH_VERBOSE.name: options.verbose}
    variables = {"PYTHONPATH": _python_path(with_mock=options.mock != "disable")}
    variables |= {name: str(int(flag)) for name, flag in flags.items() if flag is not None}
    if options.mock in ("enable", "disable"):
        words = [f"{name}={shlex.quote(value)}" for name, value in variables.items()]
        sys.stdout.write(f"export {' '.join(words)}\n")
        return
    if not Path(options.mock).exists():
        parser.error(f"there is no script `{options.mock}`")
    # Its child processes run like it.
    os.environ |= variables
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, options.mock, *options.arguments])


def _python_path(with_mock: bool) -> str:
    others = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    paths = [folder for folder in others if folder and folder != FOLDER]
    return os.pathsep.join([FOLDER, *paths] if with_mock else paths)


if __name__ == "__main__":
    main()
