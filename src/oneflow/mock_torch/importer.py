"""The importer that finds `oneflow` under the name `torch`."""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.metadata import Distribution
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from oneflow.base.environment import MOCK_TORCH_LAZY, MOCK_TORCH_VERBOSE
from oneflow.base.failed_imports import failed_import
from oneflow.base.process_settings import inherit
from oneflow.base.program_name import ONEFLOW, PYTORCH, program_name, set_program_name
from oneflow.base.suggestions import UnknownAttributeError
from oneflow.mock_torch.dependents import (
    extensions_in,
    home_of,
    modules_on_pytorch,
    package_of,
)
from oneflow.mock_torch.foreign_classes import watch_class_statements
from oneflow.mock_torch.modules import MODULE_IN_PLACE
from oneflow.mock_torch.override_arguments import ARRANGEMENTS
from oneflow.mock_torch.paths import ALIASES
from oneflow.mock_torch.pickle_paths import pickle_by_path, pickle_names
from oneflow.mock_torch.placeholder import PlaceholderModule, is_lookup_by_name, placeholder_for
from oneflow.mock_torch.positional_order import order_functions
from oneflow.mock_torch.pytorch import version
from oneflow.tensor.subclasses import overridable

EXTENSIONS = "oneflow.mock_torch.pytorch"
_FUNCTIONS = ("oneflow.functional", "oneflow.sparse")
# They ask no override in PyTorch: they take objects of any class, and say what those are.
_NEVER_OVERRIDDEN = (
    *("is_tensor", "typename", "broadcast_shapes"),
    *("from_dlpack", "to_dlpack", "from_numpy", "frombuffer"),
)
# They make tensors of objects of any class, and so ask modes alone.
_FACTORY_FUNCTIONS = ("as_tensor", "asarray", "tensor")
# Beginnings of the names that PyTorch's functions in some modules have.
_PREFIXES = {f"torch.{module}": f"{module}_" for module in ("fft", "linalg", "special")}
# The other package that comes with PyTorch, and where it is.
_FUNCTORCH, _FUNCTORCH_HERE = "functorch", "oneflow.mock_torch.functorch"
PYTORCH_PACKAGES = ("torch", _FUNCTORCH)


class MissingNameError(UnknownAttributeError, NotImplementedError):
    """The error for a name of PyTorch's that `oneflow` lacks."""


class ModuleWrapper(ModuleType):
    """A module of `oneflow` under its name in PyTorch.

    Names that PyTorch alone has, or that mean something else there, come from the module of the
    same path in `oneflow.mock_torch.pytorch`. `paths` lists names with further modules in PyTorch.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        ...     isinstance(torch, mock_torch.ModuleWrapper), torch.__package__
        (True, 'oneflow')
    """

    def __init__(self, name: str, module: ModuleType | None, extension: ModuleType | None) -> None:
        self._modules = tuple(source for source in (module, extension) if source is not None)
        self._home = self._modules[0].__name__ if self._modules else _name_here(name)
        super().__init__(name, self._modules[0].__doc__ if self._modules else None)
        self.__package__ = self._modules[0].__package__ if self._modules else "oneflow"
        if name == "torch":
            self.torch = self  # PyTorch finds itself in itself, and some libraries do so, too
        # Also in the module's dictionary: libraries register all classes that they find there.
        for source in (module, extension):
            vars(self).update(_names_in(source))
        order_functions(name, vars(self))
        pickle_names(name, {key: vars(self)[key] for key in _names_in(extension)})
        self.__all__ = [key for key in dir(self) if not key.startswith("_")]
        self._make_overridable()

    def _make_overridable(self) -> None:
        """Replace functions of tensors by copies that call overrides of subclasses."""
        for name, value in vars(self).items():
            if name in _NEVER_OVERRIDDEN or not inspect.isfunction(value):
                continue
            is_method = value.__qualname__ == f"Tensor.{name}"  # as `detach`
            is_derivative = self.__name__ == "torch.autograd" and name in ("backward", "grad")
            if (
                is_method
                or is_derivative
                or inspect.unwrap(value).__module__.startswith(_FUNCTIONS)
            ):
                prefix = _PREFIXES.get(self.__name__)
                vars(self)[name] = function = overridable(
                    value,
                    checks_classes=name not in _FACTORY_FUNCTIONS,
                    name=f"{prefix}{name}" if prefix else None,
                    arrange=ARRANGEMENTS.get(self.__name__, {}).get(name),
                )
                if self.__name__.startswith("torch"):
                    pickle_by_path(function, self.__name__, name)

    def __reduce__(self) -> tuple[Any, ...]:
        # Picklers of code (cloudpickle) keep modules by their names, those of this very type alone.
        return module_in_place, (self.__name__,)

    def __getattr__(self, name: str) -> Any:
        for module in self._modules:
            attribute = getattr(module, name, None)
            if isinstance(attribute, ModuleType) and _is_oneflow(attribute):
                break
            if hasattr(module, name):
                return getattr(module, name)
        else:
            if name.startswith("__") or not _exists(f"{self.__name__}.{name}"):
                is_special = name.startswith("__")
                if IMPORTER.lazy and not is_special and is_lookup_by_name(sys._getframe(1)):
                    return placeholder_for(f"{self.__name__}.{name}", IMPORTER.verbose)
                raise MissingNameError(
                    f"{self._home}.{name} is not implemented", name, lambda: dir(self)
                )
        # Also for those who keep a module longer than the switch.
        return module_in_place(f"{self.__name__}.{name}")

    def __setattr__(self, name: str, value: Any) -> None:
        # A function keeps its name when the module that PyTorch defines it in is imported.
        is_same = isinstance(value, ModuleWrapper) and callable(vars(self).get(name))
        if not (is_same or isinstance(value, PlaceholderModule)):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        names = {name for source in self._modules for name in dir(source)}
        return sorted(names | ALIASES.get(self.__name__, {}).keys())


def _is_oneflow(module: ModuleType) -> bool:
    return module.__name__.startswith("oneflow.")


def is_of_pytorch(name: str) -> bool:
    """True for the names of PyTorch's modules."""
    return package_of(name) in PYTORCH_PACKAGES


def _is_pytorch(is_mock: bool) -> Callable[[Any], bool]:
    """Return a test if an object is PyTorch's, by its module or that of its class.

    Args:
        is_mock: True: what `oneflow` stands for; False: what is PyTorch's own.
    """

    def test(value: Any) -> bool:
        if issubclass(type(value), ModuleType):
            is_wrapper = issubclass(type(value), ModuleWrapper)
            return is_of_pytorch(value.__name__) and is_wrapper == is_mock
        home = package_of(home_of(value))
        return home == "oneflow" if is_mock else home in PYTORCH_PACKAGES

    return test


class ImportState(NamedTuple):
    """The meaning of ``import torch`` in a process.

    Attributes:
        enabled: whether it finds `oneflow`.
        users: the modules that were imported while it did.
        packages: the packages that change with it, see `OneflowImporter.exchange`.
        lazy: whether placeholders stand for missing names.
        verbose: whether they are printed.
    """

    enabled: bool
    users: frozenset[str]
    packages: frozenset[str]
    lazy: bool
    verbose: bool


class OneflowImporter(MetaPathFinder, Loader):
    """Finds `oneflow.x` under the name ``torch.x`` while it is enabled.

    Example:
        >>> import sys
        >>> from oneflow import mock_torch
        >>> (importer,) = (x for x in sys.meta_path if isinstance(x, mock_torch.OneflowImporter))
        >>> with mock_torch.enable():
        ...     importer.find_spec("torch.nn").name
        'torch.nn'
        >>> importer.find_spec("torch.nn") is None
        True
    """

    def __init__(self) -> None:
        # The modules called torch, and those that refer to them, that are not in use now.
        self._others: dict[str, ModuleType] = {}
        self._packages: set[str] = set()  # the packages whose modules change with the meaning
        # Other modules that were imported while it was enabled, here or in the parent process.
        self._users: set[str] = set()
        self._lock = threading.RLock()  # of what is in use, and of what is not
        self.recent: list[str] = []  # those since it was enabled last
        self.lazy = MOCK_TORCH_LAZY.read_bool()
        self.verbose = MOCK_TORCH_VERBOSE.read_bool()

    @property
    def enabled(self) -> bool:
        """True if ``import torch`` finds `oneflow`."""
        return program_name() == PYTORCH

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a module of `oneflow` under its name in PyTorch.

        Raises:
            ModuleNotFoundError: `oneflow` has no such module.
        """
        if not is_of_pytorch(fullname):
            return self._find_user(fullname, path, target)
        return self._spec_of(fullname) if self.enabled else None

    def _spec_of(self, fullname: str) -> ModuleSpec:
        if not _exists(fullname) and not self.lazy:
            raise failed_import(fullname) or ModuleNotFoundError(
                f"no module named '{fullname}': {_name_here(fullname)} is not implemented",
                name=fullname,
            )
        return ModuleSpec(fullname, self, is_package=True)

    def _find_user(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None
    ) -> ModuleSpec | None:
        """Find a module that another finder finds, too, and that needs something around it.

        Extension modules of a package that is held twice stay when it is imported again. A worker
        process may import late, while the importer is disabled, what a block of its parent did.
        """
        if self.enabled:
            self._users.add(fullname)
            self.recent.append(fullname)
        if package_of(fullname) in self._packages:
            extensions = extensions_in(fullname)
            wrap = functools.partial(_LoaderOfParent, extensions=extensions)
            return self._delegate(fullname, path, target, wrap) if extensions else None
        if self.enabled or fullname not in self._users:
            return None
        return self._delegate(fullname, path, target, _EnabledLoader)

    def _delegate(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None,
        wrap: Callable[[Any], Loader],
    ) -> ModuleSpec | None:
        """Find a module by the other finders; `wrap` gets its loader and returns another."""
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = None if finder is self or find is None else find(fullname, path, target)
            if spec is not None:
                spec.loader = spec.loader and wrap(spec.loader)
                return spec
        return None

    def setting(self) -> ImportState:
        """Return what another process takes over."""
        users, packages = frozenset(self._users), frozenset(self._packages)
        return ImportState(self.enabled, users, packages, self.lazy, self.verbose)

    def take_over(self, setting: ImportState) -> None:
        """Take over the meaning of ``import torch`` from another process."""
        self._users |= setting.users
        self.exchange(setting.packages)
        self.choose(setting.lazy, setting.verbose)
        self.switch(setting.enabled)

    def choose(self, lazy: bool | None, verbose: bool | None) -> None:
        """Choose what missing names are from now on; None: as before."""
        self.lazy = self.lazy if lazy is None else lazy
        self.verbose = self.verbose if verbose is None else verbose
        if not self.lazy:
            for modules in (sys.modules, self._others):
                for name in [
                    n for n, module in modules.items() if isinstance(module, PlaceholderModule)
                ]:
                    del modules[name]

    def find_distributions(self, context: Any = None) -> Iterator[Distribution]:
        """Give the version under which libraries find PyTorch: the one whose interface this is."""
        if self.enabled and getattr(context, "name", None) in (None, "torch"):
            yield PyTorchDistribution()

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the wrapper of a module, or what stands for a missing one."""
        if not _exists(spec.name):
            return placeholder_for(spec.name, self.verbose)
        return ModuleWrapper(spec.name, *_modules_of(spec.name))

    def exec_module(self, module: ModuleType) -> None:
        """Take the names that are found elsewhere; the module of `oneflow` has been imported."""
        for name, (home, home_name) in ALIASES.get(module.__name__, {}).items():
            source = module_in_place if is_of_pytorch(home) else importlib.import_module
            vars(module)[name] = getattr(source(home), home_name)

    def import_wrapper(self, name: str) -> ModuleType:
        """Return a module of `oneflow` under its name in PyTorch; nothing is switched for it.

        Other threads may import modules meanwhile, PyTorch's among them.

        Raises:
            ModuleNotFoundError: `oneflow` has no such module.
        """
        spec = None if name in self._others else self._spec_of(name)  # imports what it stands for
        package, _, last = name.rpartition(".")
        parent = self.import_wrapper(package) if package else None
        with self._lock:
            modules = sys.modules if self.enabled else self._others
            if name in modules:
                return modules[name]
            module = modules[name] = module_from_spec(spec or self._spec_of(name))
            try:
                self.exec_module(module)
            except BaseException:
                modules.pop(name, None)
                raise
            if parent is not None:
                setattr(parent, last, module)
            return module

    def exchange(self, packages: frozenset[str]) -> None:
        """Let the modules of packages change with the meaning of ``import torch`` from now on.

        Modules that refer to PyTorch are imported once for each meaning. Others, and extension
        modules, are the same for both.
        """
        with self._lock:
            new = packages - self._packages
            self._packages |= new
            is_mock = not self.enabled
            for name in modules_on_pytorch(new, _is_pytorch(is_mock)):
                if (name in self._users) == is_mock and name in sys.modules:
                    self._others[name] = sys.modules.pop(name)

    def is_exchanged(self, name: str) -> bool:
        """True if a module changes with the meaning of ``import torch``."""
        return is_of_pytorch(name) or package_of(name) in self._packages

    def switch(self, enabled: bool) -> bool:
        """Choose what ``import torch`` means from now on; returns what it meant before."""
        with self._lock:
            before = self.enabled
            if enabled != before:
                # A copy: other threads and finalizers import modules at any time.
                names = [name for name in sys.modules.copy() if is_of_pytorch(name)]
                names += modules_on_pytorch(self._packages, _is_pytorch(before))
                modules = {name: sys.modules.pop(name) for name in names if name in sys.modules}
                sys.modules.update(self._others)
                self._others = modules
                self.recent = [] if enabled else self.recent
                set_program_name(PYTORCH if enabled else ONEFLOW)
                watch_class_statements(enabled)
        return before


class _EnabledLoader(Loader):
    """Runs a module while ``import torch`` finds `oneflow`."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        before = IMPORTER.switch(True)
        try:
            self._loader.exec_module(module)
        finally:
            IMPORTER.switch(before)


class _LoaderOfParent(_EnabledLoader):
    """Runs a package some of whose modules are there already."""

    def __init__(self, loader: Any, extensions: dict[str, ModuleType]) -> None:
        super().__init__(loader)
        self._extensions = extensions

    def exec_module(self, module: ModuleType) -> None:
        vars(module).update(self._extensions)
        self._loader.exec_module(module)


class PyTorchDistribution(Distribution):
    """PyTorch's metadata for `importlib.metadata`, while ``import torch`` finds `oneflow`."""

    def read_text(self, filename: str) -> str | None:
        """Return one of the texts that describe an installed distribution; None for others."""
        return {
            "METADATA": f"Metadata-Version: 2.1\nName: torch\nVersion: {version.__version__}\n",
            "top_level.txt": "torch\n",
        }.get(filename)

    def locate_file(self, path: Any) -> Path:
        """Return where a file of the distribution would be: beside this package."""
        return Path(__file__).parent / str(path)


def _name_here(name: str) -> str:
    if name.startswith(_FUNCTORCH):
        return _FUNCTORCH_HERE + name.removeprefix(_FUNCTORCH)
    return "oneflow" + name.removeprefix("torch")


def _name_of_extension(name: str) -> str:
    return EXTENSIONS + name.removeprefix("torch")


def _modules_of(name: str) -> tuple[ModuleType | None, ModuleType | None]:
    """Return the module of `oneflow` for one of PyTorch, and the one that adds to it."""
    here = _module(_name_here(name))
    return here, None if name.startswith(_FUNCTORCH) else _module(_name_of_extension(name))


def _exists(name: str) -> bool:
    return name in ALIASES or any(module is not None for module in _modules_of(name))


def _module(name: str) -> ModuleType | None:
    """Return the module of a name, or the one that its package has as an attribute, or None."""
    if name in sys.modules:
        return sys.modules[name]
    package, _, attribute = name.rpartition(".")
    parent = _module(package) if package else None
    if package and parent is None:
        return None
    if (parent is None or hasattr(parent, "__path__")) and find_spec(name) is not None:
        return importlib.import_module(name)
    submodule = getattr(parent, attribute, None)
    return submodule if isinstance(submodule, ModuleType) else None


def _names_in(module: ModuleType | None) -> dict[str, Any]:
    """Return what a module offers: `__all__`, or what is defined or imported there by its name.

    Modules within it have names of their own, see `ModuleWrapper.__getattr__`.
    """
    if module is None:
        return {}
    names = getattr(module, "__all__", None) or [
        key for key in vars(module) if not key.startswith("__")
    ]
    contents = {name: getattr(module, name) for name in names}
    return {n: value for n, value in contents.items() if not isinstance(value, ModuleType)}


@MODULE_IN_PLACE.fill
def module_in_place(name: str) -> ModuleType:
    """Return the module that is found under one of PyTorch's names while this is enabled."""
    if IMPORTER.enabled:
        module = importlib.import_module(name)
        # Another thread may disable it meanwhile.
        if isinstance(module, ModuleWrapper | PlaceholderModule):
            return module
    return IMPORTER.import_wrapper(name)


IMPORTER = OneflowImporter()
# Before all others: an installed PyTorch would be found first.
sys.meta_path.insert(0, IMPORTER)


def _take_over(setting: ImportState) -> None:
    IMPORTER.take_over(setting)


inherit(IMPORTER.setting, _take_over)
