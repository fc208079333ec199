"""Names of Python's own modules."""

from __future__ import annotations

import sys


def is_stdlib_module(module: str) -> bool:
    """Return whether a module belongs to Python's standard library, or is within one that does."""
    return module.partition(".")[0] in sys.stdlib_module_names
