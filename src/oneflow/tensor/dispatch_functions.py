"""Functions whose code asks modes and classes, and is their own again when nobody is to be asked.

A program that has left its last mode pays nothing for it: after a number of calls without any,
functions get their own code back, and the next mode gives them the other again. A program that
enters modes again and again changes no code between them.
"""

from __future__ import annotations

import threading
from types import CodeType, FunctionType
from typing import Any

from oneflow.tensor.override_state import ENTERED as FUNCTION_MODES

#: An entry for each mode with ``__torch_dispatch__`` that a thread is in.
DISPATCH_MODES: list[None] = []
#: An entry for each class with ``__torch_dispatch__`` of which there was a tensor.
DISPATCH_CLASSES: list[type] = []
#: Calls without modes and such classes, after which functions get their own code again.
IDLE_CALLS = 2000
LOCK = threading.RLock()
#: The code of functions that ask modes and classes with ``__torch_dispatch__``.
DISPATCH_CODE = """
def of_cells({cells}):
    def dispatch(*args, _parts, **kwargs):
        function, public, plain, asked, state, call, note_idle, hide = _parts
        modes, function_modes, classes = asked
        try:
            if not modes and not function_modes and not classes:
                note_idle()
                return function(*args, **kwargs)
            if not state.is_on or (
                not kwargs
                and not modes
                and not function_modes
                and plain.issuperset(map(type, args))
            ):
                return function(*args, **kwargs)
            return call(public, function, args, kwargs)
        except Exception as error:
            hide(error)
            raise
        ({cells})
    return dispatch
"""


class DispatchFunctions:
    """Functions with two codes: their own, and one that asks.

    Attributes:
        is_on: they have the one that asks.
    """

    def __init__(self) -> None:
        self.is_on = False
        self._codes: dict[FunctionType, tuple[tuple[CodeType, Any], tuple[CodeType, Any]]] = {}

    def __contains__(self, function: Any) -> bool:
        return function in self._codes

    def __len__(self) -> int:
        return len(self._codes)

    def add(self, function: FunctionType, code: CodeType, parts: tuple[Any, ...]) -> None:
        """Give a function code that asks, which finds `parts` under the name ``_parts``."""
        own = function.__code__, function.__kwdefaults__
        dispatch = code, {**(function.__kwdefaults__ or {}), "_parts": parts}
        self._codes[function] = own, dispatch
        _give(function, *dispatch)
        self._note_on()

    def enable(self) -> None:
        """Give the functions the code that asks again."""
        if not self.is_on:
            self._note_on()
            for function, (_, dispatch) in self._codes.items():
                _give(function, *dispatch)

    def _note_on(self) -> None:
        if not self.is_on:
            self.is_on = True
            _ENABLED.append(self)

    def disable(self) -> None:
        """Give the functions their own code."""
        if self.is_on:
            for function, ((code, defaults), _) in self._codes.items():
                function.__code__ = code
                function.__kwdefaults__ = defaults
            self.is_on = False
            _ENABLED.remove(self)

    def clear(self) -> None:
        """Forget the functions, which have their own code again."""
        self.disable()
        self._codes.clear()


#: The ways of asking that are on, the last on top: a function's own code there may ask for others.
_ENABLED: list[DispatchFunctions] = []


def _give(function: FunctionType, code: CodeType, defaults: Any) -> None:
    # First the default: another thread may call the function between the two lines.
    function.__kwdefaults__ = defaults
    function.__code__ = code


class _IdleCalls:
    """The number of calls since a mode was entered last that nobody had to be asked for."""

    calls = 0


def note_idle_call() -> None:
    """Count a call for which nobody is to be asked; after many, functions ask no more."""
    _IdleCalls.calls += 1
    # A thread that has the lock may import modules, and wait for this one.
    if _IdleCalls.calls >= IDLE_CALLS and LOCK.acquire(blocking=False):
        try:
            if not (DISPATCH_MODES or FUNCTION_MODES or DISPATCH_CLASSES):
                while _ENABLED:
                    _ENABLED[-1].disable()
        finally:
            LOCK.release()


def note_mode(entered: list[None]) -> None:
    """Note that a thread enters a mode; under the lock, after functions were made to ask."""
    entered.append(None)
    _IdleCalls.calls = 0
