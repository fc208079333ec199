"""Placeholders for names of PyTorch that are missing here, so that a program can go on."""

from __future__ import annotations

import dis
import sys
from types import FrameType, ModuleType
from typing import Any

_NAME_OPS = frozenset({"LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM", "IMPORT_NAME"})


class PlaceholderModule(ModuleType):
    """A placeholder for a missing name; its attributes and results are placeholders, too.

    It is false, nothing is an object of it, and a class derived from it is derived from nothing.

    Args:
        name: which name is missing.
        verbose: whether to print what is asked of it.

    Example:
        >>> from oneflow import mock_torch
        >>> missing = mock_torch.Placeholder("torch.fx.Tracer")
        >>> bool(missing), missing.trace("forward")
        (False, <placeholder for torch.fx.Tracer.trace()>)
    """

    def __init__(self, name: str, verbose: bool = False) -> None:
        super().__init__(name)
        self._verbose = verbose

    def _part(self, suffix: str) -> PlaceholderModule:
        return placeholder_for(self.__name__ + suffix, self._verbose)

    def __getattr__(self, name: str) -> PlaceholderModule:
        if name.startswith("__"):
            raise AttributeError(f"a placeholder has no `{name}`")
        return self._part(f".{name}")

    def __getitem__(self, key: Any) -> PlaceholderModule:
        if isinstance(key, int):
            raise IndexError(f"<{self.__name__}> is empty: it is a placeholder")
        return self._part(f"[{key!r}]")

    def __call__(self, *args: Any, **kwargs: Any) -> PlaceholderModule:
        """Return what stands for the result."""
        return self._part("()")

    def __bool__(self) -> bool:
        return False

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[()]:
        return ()

    def __instancecheck__(self, instance: Any) -> bool:
        return False

    def __subclasscheck__(self, subclass: type) -> bool:
        return False

    def __repr__(self) -> str:
        return f"<placeholder for {self.__name__}>"


def placeholder_for(name: str, verbose: bool) -> PlaceholderModule:
    """Return what stands for a missing name, and print that if it should be."""
    if verbose:
        sys.stdout.write(f"{name} is not implemented, a placeholder stands for it\n")
    return PlaceholderModule(name, verbose)


def is_lookup_by_name(frame: FrameType) -> bool:
    """Test if a frame reads an attribute, in place of calling `hasattr` or `getattr`.

    Example:
        >>> import sys
        >>> from oneflow.mock_torch.placeholder import is_lookup_by_name
        >>> class Asked:
        ...     def __getattr__(self, name):
        ...         if not is_lookup_by_name(sys._getframe(1)):
        ...             raise AttributeError(name)
        ...         return name
        >>> Asked().grad, hasattr(Asked(), "grad")
        ('grad', False)
    """
    return dis.opname[frame.f_code.co_code[frame.f_lasti]] in _NAME_OPS
