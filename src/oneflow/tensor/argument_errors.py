"""Errors of calls with something else where a function takes tensors."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from oneflow.base.parameters import parameters_of
from oneflow.tensor.operands import not_a_tensor
from oneflow.tensor.tensor import Tensor

_NUMBERS = bool | int | float | complex
# Annotations of a tensor, or a number perhaps, and of tensors.
_TENSOR = re.compile(r"(?:(?:Tensor|float|int|None)(?: \| |$))+")
_TENSORS = re.compile(r"Sequence\[Tensor( \| None)?\]")
_MISSING = object()


def argument_error(
    error: Exception, name: str, body: Callable, args: tuple, kwargs: dict[str, Any]
) -> TypeError | None:
    """The error that names the argument of a call that should be a tensor and is not.

    A function asks its arguments for what tensors have; where one has not, the error speaks of an
    attribute that the user never wrote. It is told here, after the call, for all functions, so that
    correct calls pay nothing.

    Args:
        error: what the call raised.
        name: what users call the function.
        body: the function as it is defined, with its annotations.
        args: the arguments by position.
        kwargs: the arguments by their declared names.

    Returns:
        None if the error is not about such an argument, or says so by itself.
    """
    if not isinstance(error, AttributeError | TypeError) or str(error).startswith(f"{name}(): "):
        return None
    parameters = parameters_of(body)
    values = {**dict(zip(parameters.positional, args, strict=False)), **kwargs}
    asked = getattr(error, "obj", _MISSING)
    invalid = [*_invalid(body.__annotations__, parameters.names, values, asked)]
    if isinstance(error, TypeError):
        # Arrays and numbers are operands of many functions: the error may be about another.
        invalid = [
            entry for entry in invalid if not hasattr(entry[2], "dtype") and not _is_number(entry)
        ]
        if any(f"`{argument}`" in str(error) for argument, *_ in invalid):
            return None
    invalid.sort(key=lambda entry: (entry[2] is not asked, _is_number(entry)))
    return not_a_tensor(name, *invalid[0]) if invalid else None


def raise_argument_error(
    error: Exception, forward: Callable, args: tuple, kwargs: dict[str, Any]
) -> None:
    """Raise the `argument_error` of a layer of this package, if there is one.

    A layer of the user may mean the attribute that is missing: its errors are left alone.

    Args:
        error: what the call raised.
        forward: the layer's method.
        args: the arguments by position.
        kwargs: the arguments by name.
    """
    package = str(getattr(forward, "__module__", "")).partition(".")[0]
    if not isinstance(error, AttributeError) or package not in ("oneflow", "flowvision"):
        return
    name = type(getattr(forward, "__self__", forward)).__name__
    clear = argument_error(error, name, forward, args, kwargs)
    if clear is not None:
        raise clear from None


def _is_number(entry: tuple[str, int, Any, str]) -> bool:
    return isinstance(entry[2], _NUMBERS)


def _invalid(
    annotations: dict[str, Any], names: Sequence[str], values: dict[str, Any], asked: Any
) -> Iterator[tuple[str, int, Any, str]]:
    """Name, position and value of each argument of a wrong kind, and the kind that is expected.

    `asked` is the object without an attribute that the function asked it for.
    """
    for position, argument in enumerate(names, 1):
        if argument not in values:
            continue
        annotation, value = str(annotations.get(argument)), values[argument]
        if _TENSORS.fullmatch(annotation) and isinstance(value, list | tuple):
            of_element = annotation.removeprefix("Sequence[").removesuffix("]")
            for index, element in enumerate(value):
                if expected := _expected(of_element, element, asked):
                    yield f"{argument}[{index}]", position, element, expected
        elif expected := _expected(annotation, value, asked):
            yield argument, position, value, expected


def _expected(annotation: str, value: Any, asked: Any) -> str:
    """The kind that is expected of an argument; empty if the argument is of that kind."""
    if value is None and "None" in annotation:
        return ""
    if _TENSOR.fullmatch(annotation):
        has_numbers = "float" in annotation or "int" in annotation
        if isinstance(value, Tensor) or (has_numbers and isinstance(value, _NUMBERS)):
            return ""
        return "Tensor or a number" if has_numbers else "Tensor"
    if _TENSORS.fullmatch(annotation):
        is_iterable = isinstance(value, Iterable) and not isinstance(value, str)
        return "" if is_iterable else "a sequence of Tensors"
    is_known = annotation not in ("Any", "None") and type(value).__name__ not in annotation
    return annotation if value is asked and is_known else ""
