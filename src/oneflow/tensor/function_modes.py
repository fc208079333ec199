"""Modes: contexts whose ``__torch_function__`` computes the functions that their block calls.

A thread asks the innermost mode that it has entered first, and within that mode's
``__torch_function__`` the next one. Functions ask modes from the first one on that is entered
(`subclasses.py`).
"""

from __future__ import annotations

import inspect
from typing import Any

from oneflow.tensor.dispatch_functions import LOCK, note_mode
from oneflow.tensor.property_overrides import enable_properties
from oneflow.tensor.python_dispatch import enable_dispatch
from oneflow.tensor.subclasses import (
    ENTERED,
    OVERRIDES,
    DisableTorchFunctionSubclass,
)


def push_mode(mode: Any) -> None:
    """Push a mode, which computes the functions that this thread calls."""
    with LOCK:
        enable_dispatch()  # what layers call asks, too
        enable_properties()
        note_mode(ENTERED)
    OVERRIDES.modes = (*OVERRIDES.modes, mode)


def pop_mode() -> Any:
    """Leave the innermost mode of this thread, and return it.

    Raises:
        RuntimeError: there is none.
    """
    if not OVERRIDES.modes:
        raise RuntimeError("this thread has entered no `TorchFunctionMode`")
    mode, OVERRIDES.modes = OVERRIDES.modes[-1], OVERRIDES.modes[:-1]
    ENTERED.pop()
    return mode


class TorchFunctionMode:
    """The base of contexts that compute functions in other ways.

    Within the block a function or method that the program calls becomes a call of
    ``__torch_function__(func, types, args, kwargs)``: creations, too, what layers call, and
    properties, of which `func` is the ``__get__`` or ``__set__``. Calls by functions of this
    package, and of functions under the names of `oneflow`, are not seen.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        >>> class Names(torch.overrides.TorchFunctionMode):
        ...     def __torch_function__(self, func, types, args=(), kwargs=None):
        ...         print(func.__name__)
        ...         return func(*args, **(kwargs or {}))
        >>> with Names():
        ...     x = torch.ones(2) + 1
        ones
        add
    """

    inner: TorchFunctionMode

    def __init__(self) -> None:
        pass

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Compute a function.

        Raises:
            NotImplementedError: the class does not say how.
        """
        raise NotImplementedError

    def __enter__(self) -> Any:
        """Ask this mode from now on.

        Raises:
            RuntimeError: its ``__torch_function__`` is a method of the class.
        """
        if isinstance(inspect.getattr_static(self, "__torch_function__"), classmethod):
            raise RuntimeError(
                "`__torch_function__` of a mode as a classmethod is not supported, please make it "
                "a plain method"
            )
        push_mode(self)
        return self

    def __exit__(self, *exception: object) -> None:
        pop_mode()


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that computes all functions as they are."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call the function."""
        return func(*args, **(kwargs or {}))


class DisableTorchFunction(DisableTorchFunctionSubclass):
    """A context in which neither subclasses nor modes are asked."""

    def __enter__(self) -> None:
        super().__enter__()
        self._modes_were_on, OVERRIDES.modes_are_on = OVERRIDES.modes_are_on, False

    def __exit__(self, *exception: object) -> None:
        OVERRIDES.modes_are_on = self._modes_were_on
        super().__exit__(*exception)


class EnableTorchFunction:
    """A guard that enables overrides of subclasses and modes as long as it lives."""

    def __init__(self) -> None:
        self._before = OVERRIDES.is_on, OVERRIDES.modes_are_on
        OVERRIDES.is_on = OVERRIDES.modes_are_on = True

    def __del__(self) -> None:
        OVERRIDES.is_on, OVERRIDES.modes_are_on = self._before
