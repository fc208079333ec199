"""Modules and names of a package that are imported on first use.

Type checkers read the same names from imports under ``if TYPE_CHECKING``, which
`tools/make_facades.py` writes.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from oneflow.base.import_paths import is_import_path
from oneflow.base.suggestions import UnknownAttributeError

NO_NAMES: Mapping[str, str] = MappingProxyType({})


def lazy_getattr(
    package: str,
    modules: Sequence[str] = (),
    names: Mapping[str, str] = NO_NAMES,
    unsupported: str | None = None,
    prefixes: Mapping[str, str] = NO_NAMES,
    classes_of: str | None = None,
) -> Callable[[str], Any]:
    """Return the function `__getattr__` of a package.

    Import paths below it that hold no code are attributes, too.

    Args:
        package: its name.
        modules: modules of the package that are imported when they are asked for.
        names: other names, each with the module that has it; ``module:other_name`` if the module
            calls it by another name.
        unsupported: the module with a mapping `UNSUPPORTED`, from names that the package will not
            have to what stands for them.
        prefixes: beginnings of names, each with the module that has all of those names.
        classes_of: another package, whose classes are names of this one, too.
    """

    def import_name(name: str) -> Any:
        if name in modules:
            return importlib.import_module(f"{package}.{name}")
        if name in names:
            module, _, attribute = names[name].partition(":")
            value = getattr(importlib.import_module(module), attribute or name)
            # The next time Python finds it by itself.
            return vars(sys.modules[package]).setdefault(name, value)
        for prefix, module in prefixes.items():
            if name.startswith(prefix):
                return getattr(importlib.import_module(module), name)
        if is_import_path(f"{package}.{name}"):
            return importlib.import_module(f"{package}.{name}")
        value = None if classes_of is None else vars(sys.modules[classes_of]).get(name)
        if isinstance(value, type):
            return value
        message = f"module {package!r} has no attribute {name!r}"
        if unsupported is not None and not name.startswith("_"):
            hint = importlib.import_module(unsupported).UNSUPPORTED.get(name)
            message += f": {hint}" if hint else ""
        package_module = sys.modules[package]
        raise UnknownAttributeError(message, name, lambda: {*dir(package_module), *modules, *names})

    return import_name


def lazy_dir(package: str, names: Iterable[str]) -> Callable[[], list[str]]:
    """Return the function `__dir__` of a package: its public names, also the lazy ones."""

    def public_names() -> list[str]:
        members = vars(sys.modules[package])
        special = {name for name in members if name.startswith("__") and name.endswith("__")}
        return sorted({*members["__all__"], *names, *special})

    return public_names
