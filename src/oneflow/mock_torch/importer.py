"""The importer that finds `oneflow` under the name `torch`, and the switch for it."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.metadata import Distribution
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from oneflow.base.environment import MOCK_TORCH_DISABLED, MOCK_TORCH_LAZY, MOCK_TORCH_VERBOSE
from oneflow.base.failed_imports import failed_import
from oneflow.base.process_settings import inherit
from oneflow.base.program_name import ONEFLOW, PYTORCH, program_name, set_program_name
from oneflow.base.suggestions import UnknownAttributeError
from oneflow.mock_torch.foreign_classes import watch_class_statements
from oneflow.mock_torch.modules import MODULE_IN_PLACE
from oneflow.mock_torch.paths import ALIASES
from oneflow.mock_torch.pickle_paths import pickle_by_path, pickle_names
from oneflow.mock_torch.placeholder import Placeholder, is_lookup_by_name, placeholder_for
from oneflow.mock_torch.positional_order import order_functions
from oneflow.mock_torch.pytorch import version
from oneflow.tensor.subclasses import overridable

EXTENSIONS = "oneflow.mock_torch.pytorch"
_FUNCTIONS = "oneflow.functional"
# They ask no override in PyTorch: they take objects of any class, and say or make what those are.
_NEVER_OVERRIDDEN = (
    *("is_tensor", "as_tensor", "asarray", "tensor", "typename", "broadcast_shapes"),
    *("from_dlpack", "to_dlpack", "from_numpy", "frombuffer"),
)
# The other package that comes with PyTorch, and where it is.
_FUNCTORCH, _FUNCTORCH_HERE = "functorch", "oneflow.mock_torch.functorch"


class MissingNameError(UnknownAttributeError, NotImplementedError):
    """Nothing in `oneflow` has a name that PyTorch has."""


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
            if inspect.unwrap(value).__module__.startswith(_FUNCTIONS):
                vars(self)[name] = function = overridable(value)
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
                if _IMPORTER.lazy and not is_special and is_lookup_by_name(sys._getframe(1)):
                    return placeholder_for(f"{self.__name__}.{name}", _IMPORTER.verbose)
                raise MissingNameError(
                    f"{self._home}.{name} is not implemented", name, lambda: dir(self)
                )
        with enable():  # also for those who keep a module longer than the switch
            return importlib.import_module(f"{self.__name__}.{name}")

    def __setattr__(self, name: str, value: Any) -> None:
        # A function keeps its name when the module that PyTorch defines it in is imported.
        is_unchanged = isinstance(value, ModuleWrapper) and callable(vars(self).get(name))
        if not (is_unchanged or isinstance(value, Placeholder)):
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        names = {name for source in self._modules for name in dir(source)}
        return sorted(names | ALIASES.get(self.__name__, {}).keys())


def _is_oneflow(module: ModuleType) -> bool:
    return module.__name__.startswith("oneflow.")


def _is_torch(name: str) -> bool:
    return name.partition(".")[0] in ("torch", _FUNCTORCH)


class Setting(NamedTuple):
    """The meaning of ``import torch`` in a process.

    Attributes:
        enabled: whether it finds `oneflow`.
        users: the modules that were imported while it did.
        lazy: whether placeholders stand for missing names.
        verbose: whether they are printed.
    """

    enabled: bool
    users: frozenset[str]
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
        # The modules called torch that are not in use now.
        self._others: dict[str, ModuleType] = {}
        # Other modules that were imported while it was enabled, here or in the parent process.
        self._users: set[str] = set()
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
        if not _is_torch(fullname):
            return self._find_user(fullname, path, target)
        if not self.enabled:
            return None
        if not _exists(fullname) and not self.lazy:
            raise failed_import(fullname) or ModuleNotFoundError(
                f"no module named '{fullname}': {_name_here(fullname)} is not implemented",
                name=fullname,
            )
        return ModuleSpec(fullname, self, is_package=True)

    def _find_user(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None
    ) -> ModuleSpec | None:
        """Find a module that is imported while the importer is disabled, but in the parent was not.

        A worker process may import late what a block of its parent imported.
        """
        if self.enabled:
            self._users.add(fullname)
            return None
        if fullname not in self._users:
            return None
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = None if finder is self or find is None else find(fullname, path, target)
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = _EnabledLoader(spec.loader)
                return spec
        return None

    def setting(self) -> Setting:
        """Return what another process takes over."""
        return Setting(self.enabled, frozenset(self._users), self.lazy, self.verbose)

    def take_over(self, setting: Setting) -> None:
        """Let ``import torch`` mean what it does in another process."""
        self._users |= setting.users
        self.choose(setting.lazy, setting.verbose)
        self.switch(setting.enabled)

    def choose(self, lazy: bool | None, verbose: bool | None) -> None:
        """Choose what missing names are from now on; None: as before."""
        self.lazy = self.lazy if lazy is None else lazy
        self.verbose = self.verbose if verbose is None else verbose
        if not self.lazy:
            for modules in (sys.modules, self._others):
                for name in [n for n, module in modules.items() if isinstance(module, Placeholder)]:
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
            vars(module)[name] = getattr(importlib.import_module(home), home_name)

    def switch(self, enabled: bool) -> bool:
        """Choose what ``import torch`` means from now on; returns what it meant before."""
        before = self.enabled
        if enabled != before:
            names = [name for name in sys.modules if _is_torch(name)]
            modules = {name: sys.modules.pop(name) for name in names}
            sys.modules.update(self._others)
            self._others = modules
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
        before = _IMPORTER.switch(True)
        try:
            self._loader.exec_module(module)
        finally:
            _IMPORTER.switch(before)


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
    before = _IMPORTER.switch(True)
    try:
        return importlib.import_module(name)
    finally:
        _IMPORTER.switch(before)


_IMPORTER = OneflowImporter()
# Before all others: an installed PyTorch would be found first.
sys.meta_path.insert(0, _IMPORTER)


def _take_over(setting: Setting) -> None:
    _IMPORTER.take_over(setting)


inherit(_IMPORTER.setting, _take_over)


def _replace_modules(names: dict[str, Any]) -> dict[str, tuple[ModuleType, ModuleType]]:
    """Let those of a module's names that are modules of PyTorch mean what an import finds now.

    Returns:
        What the names meant before, and what they mean now.
    """
    changes = {}
    for name, module in list(names.items()):
        if isinstance(module, ModuleType) and _is_torch(module.__name__):
            with contextlib.suppress(ImportError):
                names[name] = importlib.import_module(module.__name__)
                changes[name] = module, names[name]
    return changes


def _exchange(modules: Mapping[str, str], before: dict[str, ModuleType | None]) -> None:
    """Let imports of modules find others; `before` gets what was imported by those names."""
    for name, other in modules.items():
        parts = [submodule for submodule in sys.modules if submodule.startswith(f"{name}.")]
        for part in parts:
            before.setdefault(part, sys.modules.pop(part))
        before.setdefault(name, sys.modules.get(name))
        sys.modules[name] = importlib.import_module(other)


class _Switch:
    """A change of what ``import torch`` means, taken back at the end of a ``with`` block."""

    _enabled: bool

    def __init__(self) -> None:
        self._change(sys._getframe(1).f_globals)

    def _change(self, names: dict[str, Any]) -> None:
        """Make the change, also for global names of the caller."""
        self._before = _IMPORTER.switch(self._enabled)
        self._names = names
        self._changes = _replace_modules(names)

    def __enter__(self) -> None:
        """The change was made when this was called."""

    def __exit__(self, *exception: object) -> None:
        _IMPORTER.switch(self._before)
        for name, (before, current) in self._changes.items():
            if self._names.get(name) is current:
                self._names[name] = before


class enable(_Switch):
    """From now on, or in a ``with`` block, ``import torch`` finds `oneflow`.

    Global names of the caller that are modules of PyTorch, imported before, change with it, and
    back at the end of the block; what is imported in the block stays. Other modules keep theirs.
    A name or module that `oneflow` lacks raises AttributeError or ModuleNotFoundError, which say
    "not implemented". Devices, dtypes and shapes print as PyTorch's. Where the environment variable
    ``ONEFLOW_DISABLE_MOCK_TORCH`` is 1, ``import torch`` finds PyTorch all the same.

    Args:
        lazy: in place of these errors a `Placeholder` stands for a missing name that is read or
            imported, so that a program runs which needs it only elsewhere; `hasattr` is false.
            Default: as before, at first the environment variable ``ONEFLOW_MOCK_TORCH_LAZY``.
        verbose: print the missing names; at first ``ONEFLOW_MOCK_TORCH_VERBOSE``.
        extra_dict: modules to import in place of others, by the others' names.

    Raises:
        ImportError: one of those modules cannot be imported; then nothing changes.

    Example:
        >>> import oneflow as flow
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        ...     import torch.nn.functional as F
        ...     torch.nn.Linear is flow.nn.Linear, F.relu(torch.tensor([-1.0, 2.0])).tolist()
        (True, [0.0, 2.0])
        >>> with mock_torch.enable(lazy=True, extra_dict={"numerics": "math"}):
        ...     import numerics
        ...     torch.no_such_name, numerics.floor(1.5)
        (<placeholder for torch.no_such_name>, 1)
    """

    def __init__(
        self,
        lazy: bool | None = None,
        verbose: bool | None = None,
        extra_dict: Mapping[str, str] | None = None,
    ) -> None:
        self._options = _IMPORTER.lazy, _IMPORTER.verbose
        self._enabled = not MOCK_TORCH_DISABLED.read_bool()
        _IMPORTER.choose(lazy, verbose)
        self._change(sys._getframe(1).f_globals)
        self._exchanged: dict[str, ModuleType | None] = {}
        try:
            _exchange(extra_dict or {} if self._enabled else {}, self._exchanged)
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *exception: object) -> None:
        super().__exit__(*exception)
        _IMPORTER.choose(*self._options)
        for name, module in self._exchanged.items():
            sys.modules.pop(name, None)
            if module is not None:
                sys.modules[name] = module


class disable(_Switch):
    """From now on, or in a ``with`` block, ``import torch`` finds PyTorch.

    Global names of the caller that are modules of PyTorch change with it, if PyTorch is installed.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     with mock_torch.disable():
        ...         pass
    """

    _enabled = False
