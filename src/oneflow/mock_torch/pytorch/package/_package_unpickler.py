"""Reading pickles in packages: classes and functions come from the package."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from oneflow.base.device import Device
from oneflow.checkpoint.numpy_pickle import Budget
from oneflow.checkpoint.pickled_objects import read, trusting
from oneflow.checkpoint.torch_builder import StorageType, TorchBuilder, TorchStorage, saved_device
from oneflow.checkpoint.torch_names import is_of_pytorch
from oneflow.mock_torch.pytorch.package.importer import Importer


class PackageUnpickler(pickle.Unpickler):
    """An unpickler that looks names up in an importer, and those of PyTorch here."""

    importer: Importer

    def find_class(self, module_name: str, global_name: str) -> Any:
        """Return the object of a name."""
        if is_of_pytorch(module_name):
            return super().find_class(module_name, global_name)
        member: Any = self.importer.import_module(module_name)
        for part in global_name.split("."):
            member = getattr(member, part)
        return member


class StorageReader:
    """The storages of a package, each made once for one pickle.

    Args:
        record_of: gives the content of a storage by its key.
        restore_location: gives the device for that of a storage.
        size: bytes of the package.
        reduced: makes the object of what stands for one with code of its own.
    """

    def __init__(
        self,
        record_of: Callable[[str], bytes],
        restore_location: Callable[[Device], Device],
        size: int,
        reduced: Callable[..., Any],
    ) -> None:
        self._builder = TorchBuilder(
            restore_location, Budget(size), is_at_once=True, is_trusted=True
        )
        self._record_of, self._reduced = record_of, reduced
        self._storages: dict[str, TorchStorage] = {}
        self._reduced_objects: dict[Any, Any] = {}

    def read(self, pickled: bytes, importer: Importer) -> Any:
        """Return the object in a pickle."""
        unpickler = type("Unpickler", (PackageUnpickler,), {"importer": importer})
        table = self._builder.table_at_once()
        with trusting(True, SimpleNamespace(Unpickler=unpickler)):
            return read(io.BytesIO(pickled), table, self._persistent)

    def _persistent(self, reference: Any) -> Any:
        kind, *arguments = reference
        if kind == "storage":
            return self._storage(*arguments)
        if kind != "reduce_package":
            raise NotImplementedError(f"a package with objects of kind {kind!r} cannot be read")
        if len(arguments) == 2:  # files of PyTorch 1.8 have no number for them
            function, parameters = arguments
            return self._reduced(function, parameters)
        number, function, parameters = arguments
        if number not in self._reduced_objects:
            self._reduced_objects[number] = self._reduced(function, parameters)
        return self._reduced_objects[number]

    def _storage(self, kind: StorageType, key: str, location: str, numel: int) -> Any:
        if key not in self._storages:
            content = self._record_of(key)
            self._storages[key] = TorchStorage(kind.dtype, saved_device(location), content, numel)
        return self._builder.resolve_storage(self._storages[key])
