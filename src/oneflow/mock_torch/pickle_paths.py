"""Names under which functions of modules in PyTorch's place are pickled.

Such a function is not the one that its module here has: its arguments have another order, or it
asks subclasses of tensors. The path `oneflow.mock_torch.torch.nn.functional` leads to the module
``torch.nn.functional`` in PyTorch's place, whether ``import torch`` finds it or not.
"""

from __future__ import annotations

import importlib
import inspect
import operator
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from oneflow.mock_torch.modules import MODULE_IN_PLACE

_PACKAGE = "oneflow.mock_torch."


class _PathFinder(MetaPathFinder, Loader):
    """Makes the modules of these paths."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a module that leads to one in PyTorch's place."""
        if not f"{fullname}.".startswith(f"{_PACKAGE}torch."):
            return None
        return ModuleSpec(fullname, self, is_package=True)

    def exec_module(self, module: ModuleType) -> None:
        """Let a new module look names up."""
        place = module.__name__.removeprefix(_PACKAGE)
        module.__doc__ = f"A path to the names of `{place}` in PyTorch's place."

        def find(name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(f"module `{module.__name__}` has no attribute `{name}`")
            return getattr(MODULE_IN_PLACE.value(place), name)

        vars(module)["__getattr__"] = find


def pickle_by_path(function: Callable[..., Any], module: str, name: str) -> None:
    """Pickle a function by the name that a module in PyTorch's place has for it.

    Example:
        >>> import pickle
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        >>> softmax = torch.nn.functional.softmax
        >>> softmax.__module__
        'oneflow.mock_torch.torch.nn.functional'
        >>> pickle.loads(pickle.dumps(softmax)) is softmax
        True
    """
    function.__module__ = importlib.import_module(_PACKAGE + module).__name__
    function.__qualname__ = name


def pickle_names(module: str, names: Mapping[str, Any]) -> None:
    """Pickle functions that are not where `__module__` says by their names in a module.

    Functions that add to functions of `oneflow` give themselves out as these.
    """
    if module.split(".")[0] != "torch":
        return
    for name, function in names.items():
        if inspect.isfunction(function) and not _is_imported_by_name(function):
            pickle_by_path(function, module, name)


def _is_imported_by_name(function: Callable[..., Any]) -> bool:
    if f"{function.__module__}.".startswith(f"{_PACKAGE}torch."):
        return True
    try:
        target = operator.attrgetter(function.__qualname__)(sys.modules[function.__module__])
    except (AttributeError, KeyError):
        return False
    return target is function


sys.meta_path.append(_PathFinder())
