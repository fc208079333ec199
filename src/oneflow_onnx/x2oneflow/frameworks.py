"""The frameworks whose models are converted, which only users of a converter have."""

from __future__ import annotations

import importlib
from types import ModuleType


def framework(name: str, caller: str) -> ModuleType:
    """Import a framework that only the user of a converter has."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        package = name.partition(".")[0]
        raise ModuleNotFoundError(
            f"`{caller}` needs the package `{package}`, which is not installed: "
            f"python -m pip install {package}"
        ) from error
