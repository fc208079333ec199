"""Functions of the standard that are rows: arguments of a kind, a function and a summary."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])


def documented(standard: _Function, name: str, summary: str, path: str) -> _Function:
    """Return the function `standard`, named and documented.

    Args:
        standard: takes the arguments of the standard.
        name: its name in the namespace.
        summary: the first line of its documentation.
        path: the function below `oneflow` that it calls; its documentation has the example.
    """
    standard.__name__ = standard.__qualname__ = name
    standard.__doc__ = f"{summary}\n\nFor an example see `oneflow.{path}`.\n"
    return standard
