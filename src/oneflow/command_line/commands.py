"""``python -m oneflow COMMAND``: all command lines of the packages under one name."""

from __future__ import annotations

import argparse
import importlib
import runpy
import sys
from collections.abc import Sequence

from oneflow.base.command_parser import CommandParser

# Each command with the module that runs it and what it does.
COMMANDS = {
    "doctor": ("oneflow.command_line.doctor", "describe this installation, and try it"),
    "launch": ("oneflow.distributed.launch", "start a script in several processes"),
    "plan": ("oneflow.plan", "say what a step would take on devices that are not there"),
    "serve": ("oneflow.serving", "answer requests with saved graphs"),
    "onnx": ("oneflow_onnx", "export, import, check and describe ONNX models"),
    "completion": ("oneflow.command_line.completion", "print completion for a shell"),
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line."""
    summary = "".join(f"  {name:<12}{text}\n" for name, (_, text) in COMMANDS.items())
    parser = CommandParser(
        prog="python -m oneflow",
        usage="python -m oneflow COMMAND ...",
        description=f"commands:\n{summary}",
        epilog="`python -m oneflow COMMAND --help` explains each.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("command", choices=COMMANDS, metavar="COMMAND", help=argparse.SUPPRESS)
    words = list(sys.argv[1:] if arguments is None else arguments)
    if not words:
        parser.print_help()
        return
    # The rest belongs to the command, options such as `--help` too.
    command = parser.parse_args(words[:1]).command
    module, _ = COMMANDS[command]
    sys.argv[1:] = words[1:]
    try:
        program = importlib.import_module(module)
    except ModuleNotFoundError as error:  # it says what it needs
        sys.exit(f"{parser.prog} {command}: {error}")
    if hasattr(program, "__path__"):
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    else:
        sys.exit(program.main())
