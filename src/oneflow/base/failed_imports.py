"""Errors of imports of names and modules that do not exist, with similar names.

Python says nothing of the kind for modules, and before 3.12 nothing for names.
"""

from __future__ import annotations

import pkgutil
import sys
from collections.abc import Iterable, Iterator
from types import ModuleType

from oneflow.base.suggestions import did_you_mean

_IMPORTS = "<frozen importlib._bootstrap>"


def failed_import(fullname: str, extra_modules: Iterable[str] = ()) -> ImportError | None:
    """Return the error for the last finder to raise: it does not know a module either.

    It has Python's type, names and words, and then the names that are like the one asked for.

    Args:
        fullname: the module.
        extra_modules: names of modules of the same package that have no file.

    Returns:
        None if nothing is like it, or if nobody imports it: `importlib.util.find_spec` asks the
        same finders, and says None.
    """
    package_name, _, name = fullname.rpartition(".")
    package, functions = sys.modules.get(package_name), tuple(_import_functions())
    if package is None or "_find_and_load_unlocked" not in functions or _is_incomplete(package):
        return None
    modules = {module.name for module in pkgutil.iter_modules(package.__path__)} | {*extra_modules}
    if "_handle_fromlist" not in functions:
        hint = did_you_mean(name, _public(modules))
        text = f"No module named {fullname!r}{hint}"
        return ModuleNotFoundError(text, name=fullname) if hint else None
    hint = did_you_mean(name, _public({*dir(package), *modules}))
    path = getattr(package, "__file__", None)
    text = f"cannot import name {name!r} from {package_name!r} ({path or 'unknown location'})"
    return ImportError(f"{text}{hint}", name=package_name, path=path) if hint else None


def _import_functions() -> Iterator[str]:
    """The functions of Python's import that have called the finder, the innermost first."""
    frame = sys._getframe()
    while frame is not None and frame.f_code.co_filename != _IMPORTS:
        frame = frame.f_back
    while frame is not None and frame.f_code.co_filename == _IMPORTS:
        yield frame.f_code.co_name
        frame = frame.f_back


def _is_incomplete(package: ModuleType) -> bool:
    return bool(getattr(package.__spec__, "_initializing", False))


def _public(names: Iterable[str]) -> list[str]:
    return [name for name in names if not name.startswith("_")]
