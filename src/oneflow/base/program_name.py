"""The framework's name in the program that runs: OneFlow's, or PyTorch's in its place.

Texts that programs compare, as ``str(x.dtype)`` or ``x.type()``, begin with it.
"""

from __future__ import annotations

ONEFLOW = "oneflow"
PYTORCH = "torch"

_name = ONEFLOW


def program_name() -> str:
    """Return the name by which the program imports the framework: ``oneflow`` or ``torch``."""
    return _name


def set_program_name(name: str) -> None:
    """Say by which name the program imports the framework from now on."""
    global _name
    _name = name
