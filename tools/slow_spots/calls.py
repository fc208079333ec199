"""Calls of functions, as text: a name, and arguments with the shapes of tensors in their place.

The text is the name of a measurement, and what it is made from again.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple


class TensorArgument(NamedTuple):
    """A tensor among the arguments of a call.

    Attributes:
        shape: its shape.
        dtype: the name of its data type.
        requires_grad: whether its gradient is wanted.
    """

    shape: tuple[int, ...]
    dtype: str
    requires_grad: bool

    @property
    def is_floating(self) -> bool:
        """Test if its elements are real numbers."""
        return "float" in self.dtype


class Call(NamedTuple):
    """A call of a function of PyTorch.

    Attributes:
        function: its full name, such as ``torch.nn.functional.linear``.
        args: its positional arguments; a tensor is a `TensorArgument`.
        kwargs: its keyword arguments.
    """

    function: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def to_text(self) -> str:
        """The call as text; two calls that differ only in the values of tensors have the same.

        Raises:
            TypeError: an argument is not plain data.
        """
        return json.dumps([self.function, _encode(self.args), _encode(self.kwargs)])

    @staticmethod
    def of_text(text: str) -> Call:
        """The call that a text says."""
        function, args, kwargs = json.loads(text)
        return Call(function, _decode(args), _decode(kwargs))

    def replace(self, change: Callable[[TensorArgument], Any]) -> Call:
        """The call with something else for each tensor."""
        args, kwargs = (_replace(part, change) for part in (self.args, self.kwargs))
        return Call(self.function, args, kwargs)

    def tensors(self) -> list[TensorArgument]:
        """The tensors among its arguments."""
        found: list[TensorArgument] = []
        self.replace(found.append)
        return found


def _encode(value: Any) -> Any:
    if isinstance(value, TensorArgument):
        return {"tensor": list(value.shape), "dtype": value.dtype, "grad": value.requires_grad}
    if isinstance(value, tuple | list):
        return {type(value).__name__: [_encode(element) for element in value]}
    if isinstance(value, dict):
        return {"dict": {key: _encode(element) for key, element in value.items()}}
    if isinstance(value, slice):
        return {"slice": [_encode(end) for end in (value.start, value.stop, value.step)]}
    if value is Ellipsis:
        return {"ellipsis": True}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"an argument of type {type(value).__name__} is not plain data")


def _decode(value: Any) -> Any:
    match value:
        case {"tensor": shape, "dtype": dtype, "grad": grad}:
            return TensorArgument(tuple(shape), dtype, grad)
        case {"tuple": members}:
            return tuple(map(_decode, members))
        case {"list": members}:
            return list(map(_decode, members))
        case {"dict": members}:
            return {key: _decode(member) for key, member in members.items()}
        case {"slice": members}:
            return slice(*map(_decode, members))
        case {"ellipsis": True}:
            return ...
    return value


def _replace(value: Any, change: Callable[[TensorArgument], Any]) -> Any:
    if isinstance(value, TensorArgument):
        return change(value)
    if isinstance(value, tuple | list):
        return type(value)(_replace(element, change) for element in value)
    if isinstance(value, dict):
        return {key: _replace(element, change) for key, element in value.items()}
    return value
