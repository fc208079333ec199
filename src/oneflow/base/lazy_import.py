"""Modules of a package that are imported when they are first asked for.

Type checkers read the same names from an import under ``if TYPE_CHECKING``.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from types import ModuleType


def lazy_getattr(package: str, modules: Sequence[str]) -> Callable[[str], ModuleType]:
    """Return the function `__getattr__` of a package, which imports one of its lazy modules."""

    def import_module(name: str) -> ModuleType:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return importlib.import_module(f"{package}.{name}")

    return import_module


def lazy_dir(package: str, modules: Sequence[str]) -> Callable[[], list[str]]:
    """Return the function `__dir__` of a package, which names its lazy modules too."""
    return lambda: sorted({*vars(sys.modules[package]), *modules})
