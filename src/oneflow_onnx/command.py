"""The command line: parses the arguments and runs the subcommand that they name."""

from __future__ import annotations

from collections.abc import Sequence

from oneflow.base.command_parser import CommandParser
from oneflow_onnx.commands.check import CHECK
from oneflow_onnx.commands.code import CODE
from oneflow_onnx.commands.export import EXPORT
from oneflow_onnx.commands.import_model import IMPORT
from oneflow_onnx.commands.info import INFO
from oneflow_onnx.commands.subcommand import show_error

SUBCOMMANDS = (EXPORT, IMPORT, CODE, CHECK, INFO)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the subcommand that the command line names; return the exit status."""
    parser = CommandParser(
        prog="python -m oneflow onnx", description="OneFlow models to ONNX and back."
    )
    choices = parser.add_subparsers(dest="subcommand", required=True)
    for command in SUBCOMMANDS:
        command.add_arguments(choices.add_parser(command.name, help=command.summary))
    options = parser.parse_args(arguments)
    (subcommand,) = [command for command in SUBCOMMANDS if command.name == options.subcommand]
    try:
        return subcommand.run(options)
    except (ValueError, TypeError, RuntimeError, OSError) as error:
        show_error(error)
        return 1
