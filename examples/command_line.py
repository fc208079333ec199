"""The examples' common part: options with defaults in their help, and an end on Ctrl-C."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

OUTPUT = Path(__file__).parent / "output"


def make_parser(documentation: str, folder: str | None = None) -> argparse.ArgumentParser:
    """Return a parser whose help begins with the first line of a documentation.

    Args:
        documentation: of the program.
        folder: the folder below `OUTPUT` that it writes into; None if it writes nothing.
    """
    parser = argparse.ArgumentParser(
        description=documentation.splitlines()[0],
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    if folder is not None:
        output = OUTPUT / folder
        parser.add_argument("--output", type=Path, default=output, help="folder of what is written")
    return parser


def run(main: Callable[[], None]) -> None:
    """Run a program; Ctrl-C ends it with a word in place of a traceback."""
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("stopped")
