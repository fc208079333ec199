"""The command line of the tools that write files: write them, or compare only."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable
from pathlib import Path


def write_or_check(
    files: Callable[[], Iterable[tuple[Path, str]]], documentation: str | None
) -> None:
    """Write files; with ``--check`` exit with 1 if one is not what it should be.

    Args:
        files: gives each file with its text.
        documentation: of the tool; its first line is the help's.
    """
    parser = argparse.ArgumentParser(description=(documentation or "").splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only compare")
    check = parser.parse_args().check
    for file, text in list(files()):
        if not check:
            file.write_text(text, encoding="utf-8")
        elif not file.exists() or file.read_text(encoding="utf-8") != text:
            sys.exit(f"{file} is out of date: run `make stubs`")
