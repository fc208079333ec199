"""The importer that finds `oneflow` under the name `torch`, and the switch for it."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from oneflow.mock_torch import pytorch_defaults


class MissingNameError(AttributeError, NotImplementedError):
    """Nothing in `oneflow` has a name that PyTorch has."""


class ModuleWrapper(ModuleType):
    """A module of `oneflow` under its name in PyTorch.

    Where defaults of the two differ, names mean PyTorch's (`pytorch_defaults`).

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        >>> isinstance(torch, mock_torch.ModuleWrapper), torch.module.__name__
        (True, 'oneflow')
    """

    def __init__(self, module: ModuleType, name: str) -> None:
        super().__init__(name, module.__doc__)
        self.module = module
        self.__package__ = module.__package__
        self.__all__ = [each for each in dir(module) if not each.startswith("_")]
        vars(self).update(pytorch_defaults.NAMES.get(name, {}))

    def __getattr__(self, name: str) -> Any:
        if name not in self.__all__ and not hasattr(self.module, name):
            raise MissingNameError(f"{self.module.__name__}.{name} is not implemented")
        found = getattr(self.module, name)
        if isinstance(found, ModuleType) and _is_oneflow(found):
            return importlib.import_module(f"{self.__name__}.{name}")
        return found

    def __dir__(self) -> list[str]:
        return dir(self.module)


def _is_oneflow(module: ModuleType) -> bool:
    return module.__name__.startswith("oneflow.")


def _is_torch(name: str) -> bool:
    return name == "torch" or name.startswith("torch.")


class OneflowImporter(MetaPathFinder, Loader):
    """Finds `oneflow.x` under the name ``torch.x`` while it is enabled.

    Attributes:
        enabled: which of the two ``import torch`` means.

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
        self.enabled = False
        # The modules called torch that are not in use now.
        self._others: dict[str, ModuleType] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a module of `oneflow` under its name in PyTorch.

        Raises:
            ModuleNotFoundError: `oneflow` has no such module.
        """
        if not (self.enabled and _is_torch(fullname)):
            return None
        name = _name_here(fullname)
        if name not in sys.modules and find_spec(name) is None and _attribute_of(name) is None:
            raise ModuleNotFoundError(
                f"no module named '{fullname}': {name} is not implemented", name=fullname
            )
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Return the wrapper of a module."""
        name = _name_here(spec.name)
        return ModuleWrapper(_attribute_of(name) or importlib.import_module(name), spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is left to run: the module of `oneflow` has been imported."""

    def switch(self, enabled: bool) -> bool:
        """Choose what ``import torch`` means from now on; returns what it meant before."""
        before = self.enabled
        if enabled != before:
            names = [name for name in sys.modules if _is_torch(name)]
            modules = {name: sys.modules.pop(name) for name in names}
            sys.modules.update(self._others)
            self._others = modules
            self.enabled = enabled
        return before


def _name_here(name: str) -> str:
    return "oneflow" + name.removeprefix("torch")


def _attribute_of(name: str) -> ModuleType | None:
    """Return the module that a package has under a name which is not its path, or None."""
    package, _, attribute = name.rpartition(".")
    found = getattr(importlib.import_module(package), attribute, None) if package else None
    return found if isinstance(found, ModuleType) else None


_IMPORTER = OneflowImporter()
# Before all others: an installed PyTorch would be found first.
sys.meta_path.insert(0, _IMPORTER)


class _Switch:
    """A change of what ``import torch`` means, taken back at the end of a ``with`` block."""

    _enabled: bool

    def __init__(self) -> None:
        self._before = _IMPORTER.switch(self._enabled)

    def __enter__(self) -> None:
        """The change was made when this was called."""

    def __exit__(self, *exception: object) -> None:
        _IMPORTER.switch(self._before)


class enable(_Switch):
    """From now on, or in a ``with`` block, ``import torch`` finds `oneflow`.

    Modules of PyTorch that were imported before stay with those who have them. A name or module
    that `oneflow` lacks raises AttributeError or ModuleNotFoundError, which say "not implemented".

    Example:
        >>> import oneflow as flow
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        ...     import torch.nn.functional as F
        ...     torch.nn.Linear is flow.nn.Linear, F.relu(torch.tensor([-1.0, 2.0])).tolist()
        (True, [0.0, 2.0])
    """

    _enabled = True


class disable(_Switch):
    """From now on, or in a ``with`` block, ``import torch`` finds PyTorch.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     with mock_torch.disable():
        ...         pass
    """

    _enabled = False
