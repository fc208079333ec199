"""Nested arguments and results: taken apart into a structure and tensors, and put together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, MappingView
from typing import Any, NamedTuple

from oneflow.tensor.tensor import Tensor

_PLAIN = (bool, int, float, complex, str, bytes, type(None))


class Leaf:
    """Stands for a tensor in a structure."""

    def __repr__(self) -> str:
        return "tensor"


TENSOR = Leaf()


class Nest(NamedTuple):
    """A list, tuple or dict: its type, its keys if it is a dict, what is in it.

    `default` is what a `defaultdict` makes missing values with.
    """

    kind: type
    keys: tuple
    items: tuple
    default: Any = None


class Plain(NamedTuple):
    """A Python value that is the same in every call with this structure."""

    kind: type
    value: Any


def take_apart(value: Any, tensors: list[Tensor], where: str) -> Any:
    """The structure of `value`, hashable; its tensors are added to `tensors`.

    Args:
        value: tensors, None, numbers and strings, nested in lists, tuples and dicts.
        tensors: gets the tensors, in order.
        where: what `value` is, for the error.

    Raises:
        TypeError: there is something else in it.
    """
    if isinstance(value, Tensor):
        tensors.append(value)
        return TENSOR
    if isinstance(value, dict):
        items = [take_apart(each, tensors, f"{where}[{key!r}]") for key, each in value.items()]
        default = value.default_factory if isinstance(value, defaultdict) else None
        return Nest(type(value), tuple(value), tuple(items), default)
    if isinstance(value, list | tuple):
        items = [take_apart(each, tensors, f"{where}[{i}]") for i, each in enumerate(value)]
        return Nest(type(value), (), tuple(items))
    if isinstance(value, _PLAIN) or _is_constant(value):
        return Plain(type(value), value)
    raise TypeError(
        f"{where} is a {type(value).__name__}; a graph takes and returns tensors, None, numbers "
        "and strings, nested in lists, tuples and dicts"
    )


def take_call_apart(args: tuple, kwargs: dict[str, Any], tensors: list[Tensor], name: str) -> Any:
    """The structure of the arguments of a call of `name`; as `take_apart` does."""
    positional = [
        take_apart(each, tensors, f"{name}: argument {place}") for place, each in enumerate(args)
    ]
    named = [take_apart(each, tensors, f"{name}: argument `{key}`") for key, each in kwargs.items()]
    return Nest(
        tuple, (), (Nest(tuple, (), tuple(positional)), Nest(dict, tuple(kwargs), tuple(named)))
    )


def _is_constant(value: Any) -> bool:
    """Whether an object may stand for itself in every call: it neither runs out nor has tensors."""
    if getattr(type(value), "__hash__", None) is None or isinstance(value, Iterator | MappingView):
        return False
    return not any(isinstance(each, Tensor) for each in getattr(value, "__dict__", {}).values())


def put_together(structure: Any, tensors: Iterator[Tensor]) -> Any:
    """The value with this structure and these tensors."""
    if structure is TENSOR:
        return next(tensors)
    if isinstance(structure, Plain):
        return structure.value
    items = [put_together(each, tensors) for each in structure.items]
    if issubclass(structure.kind, dict):
        return _new_dict(structure, items)
    if hasattr(structure.kind, "_fields"):  # a named tuple
        return structure.kind(*items)
    return structure.kind(items)


def count_tensors(structure: Any) -> int:
    """How many tensors a structure has places for."""
    if structure is TENSOR:
        return 1
    return sum(map(count_tensors, structure.items)) if isinstance(structure, Nest) else 0


def _new_dict(structure: Nest, items: list) -> Any:
    pairs = zip(structure.keys, items, strict=True)
    if issubclass(structure.kind, defaultdict):
        return structure.kind(structure.default, pairs)
    return dict(pairs) if structure.kind is dict else structure.kind(pairs)


def describe(value: Any) -> list[str]:
    """The tensors in `value`, each as text, see `describe_tensor`."""
    tensors: list[Tensor] = []
    _collect(value, tensors)
    return [describe_tensor(each) for each in tensors]


def describe_tensor(tensor: Tensor) -> str:
    """Size, dtype and place of a tensor as text."""
    place = f"device={tensor.device}"
    if tensor.is_global:
        place = f"placement={tensor.placement}, sbp={tensor.sbp}"
    return f"tensor(size={tuple(tensor.shape)}, dtype={tensor.dtype}, {place})"


def _collect(value: Any, tensors: list[Tensor]) -> None:
    if isinstance(value, Tensor):
        tensors.append(value)
    elif isinstance(value, dict):
        for each in value.values():
            _collect(each, tensors)
    elif isinstance(value, list | tuple):
        for each in value:
            _collect(each, tensors)
