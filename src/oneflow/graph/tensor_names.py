"""Names of the tensors that a step takes and returns, for callers that send them by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from oneflow.graph.pytree import leaf_paths

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def parameter_names(function: Callable[..., Any]) -> list[str]:
    """Return the names of the parameters of a function that take a positional argument each."""
    parameters = inspect.signature(function).parameters.values()
    return [parameter.name for parameter in parameters if parameter.kind in _POSITIONAL]


def argument_names(called: Any, parameters: Sequence[str]) -> list[str]:
    """Return the names of the tensors of a call: of their parameters, then their places in it.

    Args:
        called: the structure of the arguments, as `flatten_call` returns it.
        parameters: the names of the positional parameters.
    """
    return _unique([_argument_name(path, parameters) for path in leaf_paths(called)])


def _argument_name(path: tuple[Any, ...], parameters: Sequence[str]) -> str:
    is_named, key, *inner = path
    if not is_named:
        key = parameters[key] if key < len(parameters) else f"input_{key}"
    return ".".join(map(str, (key, *inner)))


def result_names(structure: Any) -> list[str]:
    """Return the names of the tensors of a result: `output`, `output_0`, or the keys of a dict."""
    names = []
    for path in leaf_paths(structure):
        first, *inner = path or ("output",)
        first = f"output_{first}" if isinstance(first, int) else str(first)
        names.append(".".join(map(str, (first, *inner))))
    return _unique(names)


def _unique(names: list[str]) -> list[str]:
    """Return the names with numbers at repeated ones, as of ``{"a.b": x, "a": {"b": y}}``."""
    unique_names: dict[str, None] = {}
    for name in names:
        number, unique = 0, name
        while unique in unique_names:
            number += 1
            unique = f"{name}_{number}"
        unique_names[unique] = None
    return list(unique_names)
