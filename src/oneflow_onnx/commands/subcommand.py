"""`Subcommand`: the definition of one subcommand of the command line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass

from oneflow.base.printable import printable


@dataclass(frozen=True)
class Subcommand:
    """One subcommand.

    Attributes:
        name: as it is typed.
        summary: one line for ``--help``.
        add_arguments: declares its arguments.
        run: does what they ask for; returns the exit status. Errors that are the user's to mend
            are raised as `ValueError`, `TypeError`, `RuntimeError` or `OSError`: the command line
            prints their message and exits with 1.
    """

    name: str
    summary: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


def show(text: str) -> None:
    """Write a line, or several: names from files do nothing to the terminal."""
    sys.stdout.write(f"{printable(text)}\n")


def show_error(error: Exception) -> None:
    """Write the message of an error."""
    sys.stderr.write(f"error: {printable(str(error))}\n")
