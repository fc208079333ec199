"""Tables of functions by name, filled by decorators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


class FunctionTable(dict[str, F]):
    """Functions by name; no name can be registered twice.

    Args:
        kind: the kind of the functions, for the error: "a rule for JAX's primitive".

    Example:
        >>> from oneflow.base.function_table import FunctionTable
        >>> rules = FunctionTable("a rule for primitive")
        >>> @rules.register("neg", "negative")
        ... def negate(x):
        ...     return -x
        >>> rules["negative"](3)
        -3
    """

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def register(self, *names: str) -> Callable[[F], F]:
        """Decorator: put a function into the table by these names.

        Raises:
            ValueError: the table has one of the names.
        """

        def decorate(function: F) -> F:
            for name in names:
                if name in self:
                    raise ValueError(f"there already is {self._kind} `{name}`")
                self[name] = function
            return function

        return decorate
