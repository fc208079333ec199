"""Sets of modules, and the objects in them: those of this process, and those of packages."""

from __future__ import annotations

import importlib
import pickle
import sys
from abc import ABC, abstractmethod
from types import ModuleType
from typing import Any

from oneflow.mock_torch.pytorch.package._mangling import demangle, get_mangle_prefix, is_mangled


class ObjNotFoundError(Exception):
    """An object is not where its name says."""


class ObjMismatchError(Exception):
    """Another object is where the name of one says."""


class Importer(ABC):
    """A set of modules.

    Example:
        >>> from oneflow.mock_torch.pytorch.package import sys_importer
        >>> import collections
        >>> sys_importer.get_name(collections.OrderedDict)
        ('collections', 'OrderedDict')
    """

    modules: dict[str, ModuleType]

    @abstractmethod
    def import_module(self, module_name: str, /) -> ModuleType:
        """Return the module of a name."""

    def get_name(self, obj: Any, name: str | None = None) -> tuple[str, str]:
        """Return the module in which an object is found, and its name there.

        Raises:
            ObjNotFoundError: nothing is found under its name.
            ObjMismatchError: something else is found there.
        """
        name = name or _name_of(obj)
        mangled = self.whichmodule(obj, name)
        # A name of another package leads to what this importer has under it.
        module_name = demangle(mangled)
        try:
            member: Any = self.import_module(module_name)
            for part in name.split("."):
                member = getattr(member, part)
        except (ImportError, KeyError, AttributeError):
            raise ObjNotFoundError(f"{obj!r} was not found as `{module_name}.{name}`") from None
        if member is obj:
            return module_name, name
        raise ObjMismatchError(
            f"the object {_origin(obj, mangled)} is not the one of the same name that the importer "
            f"finds {_origin(member, getattr(member, '__module__', ''))}; give the package that it "
            "comes from among the importers, before others that have the name"
        )

    def whichmodule(self, obj: Any, name: str) -> str:
        """Return the name of the module that an object belongs to; ``__main__``: none is known."""
        module_name = getattr(obj, "__module__", None)
        if module_name is not None:
            return module_name
        for name_of_module, module in list(self.modules.items()):
            if name_of_module in ("__main__", "__mp_main__") or module is None:
                continue
            if getattr(module, name, None) is obj:
                return name_of_module
        return "__main__"


def _name_of(obj: Any) -> str:
    """The name by which an object is pickled."""
    reduce = getattr(obj, "__reduce__", None)
    if not isinstance(obj, type) and reduce is not None:
        try:
            name = reduce()
        except Exception:
            name = None
        if isinstance(name, str):
            return name
    return getattr(obj, "__qualname__", None) or obj.__name__


def _origin(obj: Any, module_name: str) -> str:
    name = f"`{demangle(module_name)}.{getattr(obj, '__qualname__', obj)}`"
    place = f"package {get_mangle_prefix(module_name)}" if is_mangled(module_name) else "Python"
    return f"{name} from {place}"


def _is_folder_of_package(module: ModuleType) -> bool:
    """Return whether a package has nothing of a module but others in it."""
    return bool(vars(module).get("__torch_package__")) and module.__file__ is None


class _SysImporter(Importer):
    """The modules of this process."""

    modules = sys.modules

    def import_module(self, module_name: str) -> ModuleType:
        return importlib.import_module(module_name)

    def whichmodule(self, obj: Any, name: str) -> str:
        return vars(pickle)["whichmodule"](obj, name)


sys_importer = _SysImporter()


class OrderedImporter(Importer):
    """Several sets of modules: each module comes from the first that has it.

    Args:
        args: the importers.
    """

    def __init__(self, *args: Importer) -> None:
        self._importers = list(args)

    def import_module(self, module_name: str) -> ModuleType:
        """Return the module of the first importer that has it."""
        error: ModuleNotFoundError | None = None
        for importer in self._importers:
            if not isinstance(importer, Importer):
                raise TypeError(f"{importer!r} is no Importer: give `sys_importer` for the process")
            try:
                module = importer.import_module(module_name)
            except ModuleNotFoundError as missing:
                error = missing
                continue
            if not _is_folder_of_package(module):
                return module
        raise error or ModuleNotFoundError(module_name)

    def whichmodule(self, obj: Any, name: str) -> str:
        """Return the name of the module by the first importer that knows it."""
        for importer in self._importers:
            module_name = importer.whichmodule(obj, name)
            if module_name != "__main__":
                return module_name
        return "__main__"
