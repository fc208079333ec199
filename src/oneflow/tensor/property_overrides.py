"""Properties of tensors that ask modes: ``x.shape`` is a call of the getter's ``__get__``.

Properties of classes with an override ask these (`prepare`); `Tensor`'s own ask modes from the
first on that a thread enters. Code of this package reads properties for itself, and asks nobody.
"""

from __future__ import annotations

from types import FunctionType

from oneflow.tensor.dispatch_functions import LOCK, DispatchFunctions
from oneflow.tensor.subclasses import (
    ENTERED,
    OVERRIDES,
    call_torch_function,
    code_with_cells,
    copy_of_function,
    types_of,
)
from oneflow.tensor.tensor import Tensor

#: The functions of properties that ask.
DISPATCH_FUNCTIONS = DispatchFunctions()
_DISPATCH_CODE = """
def of_cells({cells}):
    def ask(*args, _parts):
        function, read, entered, overrides, types_of, call = _parts
        if not entered or not overrides.are_asked_by(2, ()):
            return function(*args)
        return call(read(), types_of(args), args, dict())
        ({cells})
    return ask
"""


def enable_properties() -> None:
    """Make the properties of tensors ask the modes of a thread, until a while after the last."""
    with LOCK:
        if DISPATCH_FUNCTIONS:
            DISPATCH_FUNCTIONS.enable()
            return
        _enable_all()


def _enable_all() -> None:
    properties = [
        member
        for name, member in vars(Tensor).items()
        if isinstance(member, property) and not name.startswith("__")
    ]
    for member in properties:
        for function, access in ((member.fget, "__get__"), (member.fset, "__set__")):
            if isinstance(function, FunctionType) and function not in DISPATCH_FUNCTIONS:
                _add_dispatch(function, member, access)


def disable_properties() -> None:
    """Give the functions of properties the code of before again."""
    DISPATCH_FUNCTIONS.clear()


def _add_dispatch(function: FunctionType, member: property, access: str) -> None:
    copy = copy_of_function(function)
    asked = (ENTERED, OVERRIDES, types_of, call_torch_function)
    parts = (copy, lambda: getattr(member, access), *asked)
    DISPATCH_FUNCTIONS.add(
        function,
        code_with_cells(_DISPATCH_CODE, len(function.__code__.co_freevars), __file__),
        parts,
    )
