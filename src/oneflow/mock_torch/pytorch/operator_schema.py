"""Schemas of operators in PyTorch's language: ``blur(Tensor x, float k=2., *, int m=1) -> Tensor``.

Only names, order and defaults of the parameters matter here; kernels are Python functions, which
take what they are given.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from typing import Any

_VALUES = {"True": True, "False": False, "None": None}


def signature_of_schema(schema: str) -> inspect.Signature:
    """Return the signature that a schema describes.

    Example:
        >>> signature_of_schema("blur(Tensor x, float k=2., *, int[2] m=[1, 2]) -> Tensor")
        <Signature (x, k=2.0, *, m=[1, 2])>
    """
    arguments = schema.partition("->")[0].partition("(")[2].rpartition(")")[0]
    kind: Any = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = []
    for argument in _split(arguments):
        if argument == "*":
            kind = inspect.Parameter.KEYWORD_ONLY
            continue
        declaration, has_default, default = argument.partition("=")
        parameters.append(
            inspect.Parameter(
                declaration.split()[-1],
                kind,
                default=_value(default.strip()) if has_default else inspect.Parameter.empty,
            )
        )
    return inspect.Signature(parameters)


def _split(arguments: str) -> Iterator[str]:
    """The parts of a list between commas that are in no brackets."""
    depth, begin = 0, 0
    for position, character in enumerate(arguments):
        depth += (character in "([") - (character in ")]")
        if character == "," and not depth:
            yield arguments[begin:position].strip()
            begin = position + 1
    if rest := arguments[begin:].strip():
        yield rest


def _value(default: str) -> Any:
    """A default value; names of enumerations stay text."""
    if default in _VALUES:
        return _VALUES[default]
    try:
        return ast.literal_eval(default)
    except (SyntaxError, ValueError):
        return default
