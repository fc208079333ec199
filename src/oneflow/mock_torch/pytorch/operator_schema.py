"""Schemas of operators in PyTorch's language: ``blur(Tensor x, float k=2., *, int m=1) -> Tensor``.

Only names, order and defaults of the parameters matter here; kernels are Python functions, which
take what they are given.
"""

from __future__ import annotations

import ast
import functools
import inspect
import numbers
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import or_
from typing import Any, Union

from oneflow.base.device import Device
from oneflow.base.dtype import DType
from oneflow.mock_torch.pytorch.devices import device
from oneflow.tensor.tensor import Tensor

_VALUES = {"True": True, "False": False, "None": None}
#: The names of annotations in schemas.
_TYPES: dict[Any, str] = {
    Tensor: "Tensor",
    int: "SymInt",
    float: "float",
    bool: "bool",
    str: "str",
    DType: "ScalarType",
    Device: "Device",
    device: "Device",
    int | float | bool: "Scalar",
    numbers.Number: "Scalar",
}
#: The types of which arguments may be sequences.
_ITEMS = ("Tensor", "Tensor?", "SymInt", "float", "bool", "Scalar")


def signature_of_schema(schema: str) -> inspect.Signature:
    """Return the signature that a schema describes.

    Example:
        >>> from oneflow.mock_torch.pytorch.operator_schema import signature_of_schema
        >>> signature_of_schema("blur(Tensor x, float k=2., *, int[2] m=[1, 2]) -> Tensor")
        <Signature (x, k=2.0, *, m=[1, 2])>
    """
    arguments = schema.partition("->")[0].partition("(")[2].rpartition(")")[0]
    kind: Any = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = []
    for argument in split_arguments(arguments):
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


def mutated_by_schema(schema: str) -> list[str]:
    """Return the names of the arguments that a schema says are changed.

    Example:
        >>> from oneflow.mock_torch.pytorch.operator_schema import mutated_by_schema
        >>> mutated_by_schema("fill(Tensor(a!) x, Tensor y) -> ()")
        ['x']
    """
    arguments = schema.partition("->")[0].partition("(")[2].rpartition(")")[0]
    typed_names = (argument.partition("=")[0] for argument in split_arguments(arguments))
    return [words.split()[-1] for words in typed_names if "!" in words]


def split_arguments(arguments: str) -> Iterator[str]:
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


def infer_schema(
    prototype_function: Callable[..., Any],
    /,
    *,
    mutates_args: str | Iterable[str],
    op_name: str | None = None,
) -> str:
    """Return the schema of an operator, from the annotations of the function that computes it.

    Args:
        prototype_function: the function; each parameter and the result are annotated.
        mutates_args: names of the arguments that it changes, or ``"unknown"``.
        op_name: the name of the operator, which begins the schema.

    Raises:
        ValueError: an annotation is missing, or is none that operators take.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.mock_torch.pytorch.operator_schema import infer_schema
        >>> def blur(x: flow.Tensor, k: float = 2.0) -> flow.Tensor: ...
        >>> infer_schema(blur, mutates_args=(), op_name="blur")
        'blur(Tensor x, float k=2.0) -> Tensor'
    """
    signature = inspect.signature(prototype_function)
    hints = typing.get_type_hints(prototype_function)
    mutated = mutates_args if mutates_args == "unknown" else set(mutates_args)
    if isinstance(mutated, set) and (unknown := mutated - signature.parameters.keys()):
        raise ValueError(
            f"infer_schema(func): {unknown} in mutates_args were not found in the custom op's "
            f"signature {signature}; name arguments that the operator changes, or 'unknown'"
        )
    words: list[str] = []
    keyword_only = False
    for position, (name, parameter) in enumerate(signature.parameters.items()):
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            words.append("*")
        kind = _type_in_schema(hints.get(name), f"parameter `{name}`", signature)
        if kind.startswith("Tensor") and (mutated == "unknown" or name in mutated):
            kind = f"Tensor(a{position}!){kind.removeprefix('Tensor')}"
        words.append(f"{kind} {name}{_default_in_schema(parameter.default)}")
    result = _result_in_schema(hints.get("return", inspect.Parameter.empty), signature)
    return f"{op_name or ''}({', '.join(words)}) -> {result}"


def _type_in_schema(annotation: Any, place: str, signature: inspect.Signature) -> str:
    """The name of an annotation in schemas.

    Raises:
        ValueError: operators take nothing of the kind.
    """
    if annotation is not None:
        members = typing.get_args(annotation)
        if type(None) in members and typing.get_origin(annotation) in (Union, types.UnionType):
            rest = functools.reduce(or_, (x for x in members if x is not type(None)))
            return f"{_type_in_schema(rest, place, signature)}?"
        if annotation in _TYPES:
            return _TYPES[annotation]
        if typing.get_origin(annotation) in (list, Sequence):
            item = _type_in_schema(members[0], place, signature)
            if item in _ITEMS:
                return f"{item}[]"
    raise ValueError(
        f"infer_schema(func): the {place} of {signature} is annotated as {annotation}; annotate it "
        f"as one of {', '.join(dict.fromkeys(_TYPES.values()))}, Optional or Sequence of these"
    )


def _default_in_schema(default: Any) -> str:
    if default is inspect.Parameter.empty:
        return ""
    if isinstance(default, str):
        return f'="{default}"'
    if isinstance(default, DType):
        return f"={str(default).rpartition('.')[2]}"
    return f'="{default}"' if isinstance(default, Device) else f"={default}"


def _result_in_schema(annotation: Any, signature: inspect.Signature) -> str:
    if annotation in (None, type(None)):
        return "()"
    if annotation is inspect.Parameter.empty:
        annotation = None
    if typing.get_origin(annotation) is not tuple:
        return _type_in_schema(annotation, "result", signature)
    members = [_type_in_schema(x, "result", signature) for x in typing.get_args(annotation)]
    return f"({', '.join(members)})"
