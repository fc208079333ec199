"""The switches that choose the meaning of ``import torch``: `enable` and `disable`."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any

import oneflow.tensor.python_dispatch  # noqa: F401 - tensors get what makes wrappers
from oneflow.base.environment import MOCK_TORCH_DISABLED
from oneflow.mock_torch.dependents import dependents
from oneflow.mock_torch.importer import IMPORTER


def _replace_modules(
    names: dict[str, Any], changes: dict[str, tuple[ModuleType, ModuleType]]
) -> None:
    """Bind a module's names of exchanged modules to the modules that an import finds now.

    Args:
        names: the names of the module.
        changes: gets what the names meant before, and what they mean now.
    """
    for name, module in list(names.items()):
        if isinstance(module, ModuleType) and IMPORTER.is_exchanged(module.__name__):
            with contextlib.suppress(ImportError):
                names[name] = importlib.import_module(module.__name__)
                changes[name] = module, names[name]


def _exchange(modules: Mapping[str, str], before: dict[str, ModuleType | None]) -> None:
    """Exchange the modules that imports find; `before` gets the modules of before."""
    for name, other in modules.items():
        parts = [submodule for submodule in sys.modules if submodule.startswith(f"{name}.")]
        for part in parts:
            before.setdefault(part, sys.modules.pop(part))
        before.setdefault(name, sys.modules.get(name))
        sys.modules[name] = importlib.import_module(other)


class _Switch:
    """A change of the meaning of ``import torch``, taken back at the end of a ``with`` block."""

    _enabled: bool

    def __init__(self) -> None:
        with self._rollback_on_error():
            self._change(sys._getframe(1).f_globals)

    @contextlib.contextmanager
    def _rollback_on_error(self) -> Iterator[None]:
        """Take the change back if the code of a package that is imported raises an error."""
        try:
            yield
        except BaseException:
            self.__exit__()
            raise

    def _change(self, names: dict[str, Any]) -> None:
        """Make the change, also for global names of the caller."""
        self._before = IMPORTER.switch(self._enabled)
        self._names = names
        self._changes: dict[str, tuple[ModuleType, ModuleType]] = {}
        _replace_modules(names, self._changes)

    def __enter__(self) -> None:
        """The change was made when this was called."""

    def __exit__(self, *exception: object) -> None:
        IMPORTER.switch(self._before)
        for name, (before, current) in self._changes.items():
            if self._names.get(name) is current:
                self._names[name] = before


class enable(_Switch):
    """From now on, or in a ``with`` block, ``import torch`` finds `oneflow`.

    Global names of the caller that are modules of PyTorch, imported before, change with it, and
    back at the end of the block; what is imported in the block stays. Other modules keep theirs.
    A name or module that `oneflow` lacks raises AttributeError or ModuleNotFoundError, which say
    "not implemented". Devices, dtypes and shapes print as PyTorch's. ``import torch`` finds PyTorch
    all the same if the environment variable ``ONEFLOW_DISABLE_MOCK_TORCH`` is 1.

    Args:
        lazy: in place of these errors a `Placeholder` stands for a missing name that is read or
            imported, so that a program runs which needs it only elsewhere; `hasattr` is false.
            Default: as before, at first the environment variable ``ONEFLOW_MOCK_TORCH_LAZY``.
        verbose: print the missing names; at first ``ONEFLOW_MOCK_TORCH_VERBOSE``.
        extra_dict: modules to import in place of others, by the others' names.
        main_pkg: a package that is held twice from now on, once for each meaning: while this is
            enabled, an import finds one that computes by `oneflow`, and else the one that computes
            by PyTorch. So are those of the packages it requires that require PyTorch, too. What
            such a package imports within its functions is found as the meaning is when they run.
        mock_version: accepted; has no effect: libraries find PyTorch's version in any case.
        required_dependencies: further distributions whose dependents are held twice.

    Raises:
        ValueError: `main_pkg` is no name of a package.
        TypeError: it is no text, or `required_dependencies` is one.
        ImportError: one of those modules cannot be imported; then nothing changes, as when a
            package raises another error.

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
        *,
        main_pkg: str | None = None,
        mock_version: bool | None = None,
        required_dependencies: Sequence[str] = (),
    ) -> None:
        self._enabled = not MOCK_TORCH_DISABLED.read_bool()
        if not isinstance(main_pkg, str | None) or isinstance(required_dependencies, str):
            raise TypeError(
                "`main_pkg` must be the name of a package and `required_dependencies` a list of "
                f"names, got {main_pkg!r} and {required_dependencies!r}"
            )
        if main_pkg is not None and self._enabled:
            libraries = ("torch", *(extra_dict or {}), *required_dependencies)
            IMPORTER.exchange(dependents(main_pkg, libraries))
        self._options = IMPORTER.lazy, IMPORTER.verbose
        self._exchanged: dict[str, ModuleType | None] = {}
        IMPORTER.choose(lazy, verbose)
        with self._rollback_on_error():
            self._change(sys._getframe(1).f_globals)
            _exchange(extra_dict or {} if self._enabled else {}, self._exchanged)

    def __exit__(self, *exception: object) -> None:
        super().__exit__(*exception)
        IMPORTER.choose(*self._options)
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
