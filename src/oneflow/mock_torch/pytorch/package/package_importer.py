"""Modules and objects of a package, apart from those of the process."""

from __future__ import annotations

import builtins
import importlib
import importlib.util
import inspect
import io
import linecache
import os
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CodeType, ModuleType
from typing import IO, Any
from weakref import WeakValueDictionary

from oneflow.base.device import Device
from oneflow.mock_torch.pytorch.archives import PyTorchFileReader
from oneflow.mock_torch.pytorch.package._directory_reader import DirectoryReader
from oneflow.mock_torch.pytorch.package._importlib import PackageResourceReader
from oneflow.mock_torch.pytorch.package._mangling import PackageMangler, demangle
from oneflow.mock_torch.pytorch.package._package_unpickler import StorageReader
from oneflow.mock_torch.pytorch.package.file_structure_representation import (
    Directory,
    _create_directory_from_file_list,
)
from oneflow.mock_torch.pytorch.package.glob_group import GlobPattern
from oneflow.mock_torch.pytorch.package.importer import Importer

#: Modules that a package may take from the process although it does not say so: pickles of arrays
#: name them.
IMPLICIT_IMPORT_ALLOWLIST = (
    "numpy",
    "numpy.core",
    "numpy.core._multiarray_umath",
    # The function that makes a ufunc again.
    "numpy.core._internal",
    "builtins",
)
_DATA = ".data"
# Modules of packages that somebody has, by their mangled names.
_imported_modules: WeakValueDictionary[str, ModuleType] = WeakValueDictionary()
_file_of = inspect.getfile


def _getfile(object: Any) -> str:
    """Return the file of an object; Python looks for classes in the process' modules alone."""
    module = _imported_modules.get(getattr(object, "__module__", None) or "")
    if isinstance(object, type) and module is not None:
        return module.__file__ or ""
    return _file_of(object)


class _Node:
    """The meaning of a name in a package: a module, a package, or a module of the process."""

    def __init__(self, file: str | None = None, is_package: bool = False) -> None:
        self.file, self.is_package, self.is_extern = file, is_package, False
        self.children: dict[str, _Node] = {}


class PackageImporter(Importer):
    """A package that `PackageExporter` or PyTorch's has written; importing from it runs its code.

    Args:
        file_or_buffer: path of the archive, or of the folder into which it was unpacked, or a file
            open for reading bytes.
        module_allowed: says whether the package may take a module from the process.

    Raises:
        ImportError: the package needs a module that is not allowed.

    Example:
        >>> import io
        >>> from oneflow.mock_torch.pytorch.package import PackageExporter, PackageImporter
        >>> file = io.BytesIO()
        >>> with PackageExporter(file) as exporter:
        ...     exporter.save_source_string("model", "layers = 3")
        >>> _ = file.seek(0)
        >>> PackageImporter(file).import_module("model").layers
        3
    """

    def __init__(
        self,
        file_or_buffer: Any,
        module_allowed: Callable[[str], bool] = lambda module_name: True,
    ) -> None:
        inspect.getfile = _getfile
        self.zip_reader, self.filename = _reader_of(file_or_buffer)
        self.modules: dict[str, Any] = {}
        self._root = _Node(is_package=True)
        self._mangler = PackageMangler()
        self.patched_builtins = dict(vars(builtins), __import__=self.__import__)
        self.extern_modules = self._read_extern_modules()
        for name in self.extern_modules:
            if not module_allowed(name):
                raise ImportError(f"`module_allowed`: the package needs {name}, which it refuses")
            self._node_of(name.split("."), "").is_extern = True
        for file in self.zip_reader.get_all_records():
            self._add_file(file)
        # Code in packages gets the package by this name.
        self.modules["torch_package_importer"] = self

    def _read_extern_modules(self) -> list[str]:
        return self.zip_reader.get_record(f"{_DATA}/extern_modules").decode().split()

    def _node_of(self, names: list[str], file: str) -> _Node:
        """The node of a name, with those above it."""
        node = self._root
        for name in names:
            if node.is_extern and file:
                raise ImportError(f"the package has {file}, and says that it is of the process")
            node.is_package = True
            node = node.children.setdefault(name, _Node())
        return node

    def _add_file(self, file: str) -> None:
        *folders, name = file.split("/")
        if folders[:1] == [_DATA]:
            return
        folder = self._node_of(folders, file)
        if name == "__init__.py":
            folder.file, folder.is_package = file, True
        elif name.endswith(".py"):
            node = self._node_of([*folders, name.removesuffix(".py")], file)
            if node.file is None:
                node.file = file
        elif folders:
            folder.is_package = True

    # --- objects and resources

    def import_module(self, name: str, package: str | None = None) -> ModuleType:
        """Return a module of the package, or one of the process that it may take.

        Args:
            name: of the module.
            package: the package to which a relative name belongs.

        Raises:
            ModuleNotFoundError: neither is there.
        """
        if name.startswith("."):
            name = importlib.util.resolve_name(name, package)
        return self._load(name)

    def load_binary(self, package: str, resource: str) -> bytes:
        """Return a resource of a package."""
        return self.zip_reader.get_record(self._path(package, resource))

    def load_text(
        self, package: str, resource: str, encoding: str = "utf-8", errors: str = "strict"
    ) -> str:
        """Return a resource of a package that is text."""
        return self.load_binary(package, resource).decode(encoding, errors)

    def load_pickle(self, package: str, resource: str, map_location: Any = None) -> Any:
        """Return the object in a pickle; its classes come from the package.

        Args:
            package: where the pickle is.
            resource: its name.
            map_location: where its tensors are put; default: where they were, if that is here.
        """
        place = None if map_location is None else Device(str(map_location))
        pickled = self.load_binary(package, resource)
        reader = StorageReader(
            lambda key: self.zip_reader.get_record(f"{_DATA}/{key}.storage"),
            lambda device: device if place is None else place,
            # The whole package is trusted: it holds code.
            1 << 62,
            lambda function, arguments: function(self, *arguments),
        )
        return reader.read(pickled, self)

    def id(self) -> str:
        """Return the prefix of the package's modules."""
        return self._mangler.parent_name()

    def python_version(self) -> str | None:
        """Return the version of Python that wrote the package, if it says so."""
        place = f"{_DATA}/python_version"
        has_version = self.zip_reader.has_record(place)
        return self.zip_reader.get_record(place).decode().strip() if has_version else None

    def file_structure(
        self, *, include: GlobPattern = "**", exclude: GlobPattern = ()
    ) -> Directory:
        """Return the files of the package as a tree.

        Args:
            include: patterns of the files.
            exclude: patterns of files that are left out.
        """
        files = self.zip_reader.get_all_records()
        return _create_directory_from_file_list(self.filename, files, include, exclude)

    def _path(self, package: str, resource: str) -> str:
        return "/".join([*package.split("."), resource])

    # --- how modules are imported

    def _load(self, name: str) -> ModuleType:
        """The module of a full name; importing it imports the packages around it."""
        name = demangle(name)
        if name in self.modules:
            return self.modules[name]
        package, _, last = name.rpartition(".")
        parent = self._load(package) if package else None
        if name in self.modules:  # by the code of its package
            return self.modules[name]
        module = self._make_module(name)
        if parent is not None:
            setattr(parent, last, self.modules.get(name, module))
        return self.modules.get(name, module)

    def _make_module(self, name: str) -> ModuleType:
        node: _Node | None = self._root
        for part in name.split("."):
            node = node.children.get(part) if node is not None else None
            if node is None:
                break
            if node.is_extern:
                module = self.modules[name] = importlib.import_module(name)
                return module
        if node is None or not (node.file or node.is_package):
            return self._import_unlisted(name)
        loader: Any = self
        spec = ModuleSpec(name, loader, is_package=node.is_package)
        module = importlib.util.module_from_spec(spec)
        module.__name__ = self._mangler.mangle(name)
        module.__file__ = self._mangler.mangle(node.file) if node.file else None
        vars(module).update(__builtins__=self.patched_builtins, __torch_package__=True)
        self.modules[name] = _imported_modules[module.__name__] = module
        if node.file:
            self._run(name, node.file, module)
        return module

    def _import_unlisted(self, name: str) -> ModuleType:
        if name in IMPLICIT_IMPORT_ALLOWLIST:
            module = self.modules[name] = importlib.import_module(name)
            return module
        raise ModuleNotFoundError(
            f"the package {self.filename} has no module {name!r}, and does not name it among those "
            f"of the process that it takes: {self.extern_modules}",
            name=name,
        )

    def _run(self, name: str, file: str, module: ModuleType) -> None:
        file_name = str(module.__file__)
        code = compile(self._source(file), file_name, "exec", dont_inherit=True)
        # So that tracebacks and `inspect` find the source.
        linecache.lazycache(file_name, vars(module))
        try:
            exec(code, vars(module))
        except BaseException:
            self.modules.pop(name, None)
            raise

    def _source(self, file: str) -> str:
        return self.zip_reader.get_record(file).decode("utf-8")

    def __import__(
        self,
        name: str,
        globals: dict[str, Any] | None = None,
        locals: dict[str, Any] | None = None,
        fromlist: Any = (),
        level: int = 0,
    ) -> ModuleType:
        """Import a module for code of the package, as Python's own function."""
        if level:
            variables = globals or {}
            spec = variables.get("__spec__")
            package = variables.get("__package__") or (spec.parent if spec else "")
            name = importlib.util.resolve_name("." * level + name, package)
        module = self._load(name)
        if not fromlist:
            return module if level else self._load(name.partition(".")[0])
        names = getattr(module, "__all__", ()) if "*" in fromlist else fromlist
        for item in names:
            if item != "*" and not hasattr(module, item) and hasattr(module, "__path__"):
                self._load_if_there(f"{name}.{item}")
        return module

    def _load_if_there(self, name: str) -> None:
        try:
            self._load(name)
        except ModuleNotFoundError as error:
            if error.name != name:
                raise

    # --- what Python asks a loader

    def get_source(self, module_name: str) -> str:
        """Return the source of a module."""
        node = self._root
        for part in demangle(module_name).split("."):
            node = node.children.get(part) or _Node()
        if node.file is None:
            raise ModuleNotFoundError(f"the package has no source of {demangle(module_name)!r}")
        return self._source(node.file)

    def get_code(self, module_name: str) -> CodeType:
        """Return the code of a module."""
        return compile(self.get_source(module_name), module_name, "exec", dont_inherit=True)

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave it to Python how modules are made."""

    def get_filename(self, module_name: str) -> str:
        """Return the file of a module."""
        return str(self._load(module_name).__file__)

    def is_package(self, module_name: str) -> bool:
        """Return whether a module has others in it."""
        return hasattr(self._load(module_name), "__path__")

    def get_resource_reader(self, package: str) -> PackageResourceReader | None:
        """Return what reads the resources of a package; None if there is no such package."""
        node: _Node | None = self._root
        package = demangle(package)
        for part in package.split("."):
            node = node.children.get(part) if node is not None else None
        if node is None or not node.is_package:
            return None
        return PackageResourceReader(self.zip_reader, package.replace(".", "/"))

    def __repr__(self) -> str:
        return f"PackageImporter({self.filename})"


def _reader_of(file_or_buffer: Any) -> tuple[Any, str]:
    """The reader of a package, and the package's name."""
    if isinstance(file_or_buffer, PyTorchFileReader):
        return file_or_buffer, "<pytorch_file_reader>"
    if isinstance(file_or_buffer, str | os.PathLike):
        path = Path(file_or_buffer)
        reader = DirectoryReader(path) if path.is_dir() else PyTorchFileReader(path)
        return reader, str(path)
    file: IO[bytes] = file_or_buffer
    return PyTorchFileReader(io.BytesIO(file.read())), "<binary>"
