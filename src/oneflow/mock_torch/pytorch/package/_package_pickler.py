"""Pickles in packages: each class and function is the one that the package's importers find."""

from __future__ import annotations

import pickle
import pickletools
from collections.abc import Callable
from types import FunctionType, SimpleNamespace
from typing import Any

from oneflow.checkpoint.torch_pickler import SavedStorages, dump
from oneflow.mock_torch.pytorch.package.importer import (
    Importer,
    ObjMismatchError,
    ObjNotFoundError,
)

# Python's own pickler, whose methods can be replaced.
_Pickler: Any = pickle._Pickler


class PackagePickler(_Pickler):
    """A pickler that writes the names under which importers find objects."""

    importer: Importer
    reduce_in_package: Callable[[Any], Any]
    dispatch = _Pickler.dispatch.copy()

    def persistent_id(self, obj: Any) -> Any:
        """Return what stands for an object that adds code of its own to the package."""
        if isinstance(obj, type) or not hasattr(obj, "__reduce_package__"):
            return None
        return self.reduce_in_package(obj)

    def save_global(self, obj: Any, name: str | None = None) -> None:
        """Write the name of an object.

        Raises:
            PicklingError: no importer finds it.
        """
        try:
            module_name, name = self.importer.get_name(obj, name)
        except (ObjNotFoundError, ObjMismatchError) as error:
            raise pickle.PicklingError(f"cannot pickle {obj!r}: {error}") from error
        owner, _, attribute = name.rpartition(".")
        if self.proto >= 4:
            self.save(module_name)
            self.save(name)
            self.write(pickle.STACK_GLOBAL)
        elif owner:
            parent = self.importer.import_module(module_name)
            for part in owner.split("."):
                parent = getattr(parent, part)
            self.save_reduce(getattr, (parent, attribute))
        else:
            self.write(pickle.GLOBAL + f"{module_name}\n{name}\n".encode())
        self.memoize(obj)

    dispatch[FunctionType] = save_global
    dispatch[type] = save_global


def dump_with_importer(
    obj: Any,
    importer: Importer,
    protocol: int,
    storages: SavedStorages,
    reduce_in_package: Callable[[Any], Any],
) -> bytes:
    """Return the pickle of an object, with names as in PyTorch.

    Args:
        obj: the object.
        importer: finds classes and functions.
        protocol: of pickles.
        storages: gets the storages of the tensors in it.
        reduce_in_package: gives what stands for an object with ``__reduce_package__``.

    Raises:
        PicklingError: the importer does not find a class or function.
    """
    members = {"importer": importer, "reduce_in_package": staticmethod(reduce_in_package)}
    pickler = type("Pickler", (PackagePickler,), members)
    module = SimpleNamespace(Pickler=pickler)
    return dump(obj, module, protocol, storages)


def modules_in(pickled: bytes) -> list[tuple[str, str]]:
    """Return the modules that a pickle names, each with a name in it, in order."""
    names: dict[tuple[str, str], None] = {}
    memo: dict[int, Any] = {}
    texts: list[Any] = []
    argument: Any
    for opcode, argument, _ in pickletools.genops(pickled):
        if opcode.name == "GLOBAL":
            module_name, _, name = argument.partition(" ")
            names[module_name, name] = None
        elif opcode.name == "STACK_GLOBAL":
            names[texts[-2], texts[-1]] = None
        elif opcode.name == "MEMOIZE":
            memo[len(memo)] = texts[-1] if texts else None
        elif opcode.name in ("PUT", "BINPUT", "LONG_BINPUT"):
            memo[argument] = texts[-1] if texts else None
        elif opcode.name in ("GET", "BINGET", "LONG_BINGET"):
            texts.append(memo.get(argument))
        elif isinstance(argument, str):
            texts.append(argument)
    return list(names)
