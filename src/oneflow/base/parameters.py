"""The parameters of a function, read from its code object.

`inspect.signature` makes an object per parameter: with a thousand functions and rules to register
it took a fifth of the package's import.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any, NamedTuple

REQUIRED = inspect.Parameter.empty


class Parameters(NamedTuple):
    """Names of a function's parameters.

    Attributes:
        positional: the parameters that can be given by position, in order.
        keyword_only: those after the star, with their defaults (`REQUIRED` where there is none).
        variadic: the name after the single star, if any.
    """

    positional: tuple[str, ...]
    keyword_only: dict[str, Any]
    variadic: str | None

    @property
    def names(self) -> list[str]:
        """All parameter names in order, except ``**kwargs``."""
        star = [] if self.variadic is None else [self.variadic]
        return [*self.positional, *star, *self.keyword_only]


def parameters_of(function: Callable[..., Any]) -> Parameters:
    """The parameters of a function, or of anything else that `inspect.signature` understands."""
    if type(function) is not FunctionType or "__wrapped__" in function.__dict__:
        return _from_signature(function)
    code = function.__code__
    names = code.co_varnames
    first, last = code.co_argcount, code.co_argcount + code.co_kwonlyargcount
    defaults = function.__kwdefaults__ or {}
    keyword_only = {name: defaults.get(name, REQUIRED) for name in names[first:last]}
    has_star = code.co_flags & inspect.CO_VARARGS
    return Parameters(names[:first], keyword_only, names[last] if has_star else None)


def _from_signature(function: Callable) -> Parameters:
    parameters = inspect.signature(function).parameters.values()
    return Parameters(
        tuple(p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)),
        {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY},
        next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), None),
    )
