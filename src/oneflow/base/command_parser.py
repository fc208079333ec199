"""Command lines whose errors suggest similar names."""

from __future__ import annotations

import argparse
import re
from typing import NoReturn

from oneflow.base.suggestions import did_you_mean

# As argparse writes its errors, with quotation marks around choices or without.
_CHOICE = re.compile(r"invalid choice: '(?P<word>[^']*)' \(choose from (?P<choices>.*)\)")
_UNKNOWN = re.compile(r"unrecognized arguments: .*?(?P<word>--[\w-]+)")
_OPTION = re.compile(r"--\w[\w-]*")


class CommandParser(argparse.ArgumentParser):
    """A parser that suggests similar options and choices for unknown ones."""

    def error(self, message: str) -> NoReturn:
        """End the program with a message that suggests similar names."""
        choice, unknown = _CHOICE.search(message), _UNKNOWN.search(message)
        hint = ""
        if choice is not None:
            words = [word.strip("'") for word in choice["choices"].split(", ")]
            hint = did_you_mean(choice["word"], words)
        elif unknown is not None:
            hint = did_you_mean(unknown["word"], set(_OPTION.findall(self.format_help())))
        super().error(f"{message}{hint}")
