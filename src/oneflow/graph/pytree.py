"""Nested arguments and results as pytrees: a structure and a list of tensors."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict
from collections.abc import Iterator, MappingView
from typing import Any, NamedTuple

from oneflow.module.module import Module
from oneflow.tensor.tensor import Tensor

_PLAIN = (bool, int, float, complex, str, bytes, type(None))


class TensorLeaf:
    """Placeholder of a tensor in a structure."""

    def __repr__(self) -> str:
        return "tensor"


TENSOR = TensorLeaf()


class TreeContainer(NamedTuple):
    """A list, tuple, dict or dataclass.

    Attributes:
        kind: its type.
        keys: the keys of a dict, the names of the fields of a dataclass.
        items: the trees of its items.
        default: the default factory of a `defaultdict`.
    """

    kind: type
    keys: tuple[Any, ...]
    items: tuple[Any, ...]
    default: Any = None


class TreeConstant(NamedTuple):
    """A Python value that is the same in every call with this structure."""

    kind: type
    value: Any


def tree_flatten(value: Any, tensors: list[Tensor], where: str) -> Any:
    """Return the structure of `value`, hashable; its tensors are added to `tensors`.

    Args:
        value: tensors, None, numbers and strings, nested in lists, tuples, dicts and dataclasses.
        tensors: gets the tensors, in order.
        where: a name of `value`, for the error.

    Raises:
        TypeError: there is something else in it.
    """
    if isinstance(value, Tensor):
        tensors.append(value)
        return TENSOR
    if isinstance(value, dict) and not _has_extra_attributes(value):
        items = [tree_flatten(item, tensors, f"{where}[{key!r}]") for key, item in value.items()]
        default = value.default_factory if isinstance(value, defaultdict) else None
        return TreeContainer(type(value), tuple(value), tuple(items), default)
    if isinstance(value, list | tuple):
        items = [tree_flatten(item, tensors, f"{where}[{i}]") for i, item in enumerate(value)]
        return TreeContainer(type(value), (), tuple(items))
    if _has_fields(value) and not isinstance(value, dict) and not _is_constant(value):
        attributes = _attributes(value)
        items = [tree_flatten(x, tensors, f"{where}.{name}") for name, x in attributes.items()]
        return TreeContainer(type(value), tuple(attributes), tuple(items))
    if isinstance(value, _PLAIN) or _is_constant(value):
        return TreeConstant(type(value), value)
    raise TypeError(
        f"{where} is a {type(value).__name__}; a graph takes and returns tensors, None, numbers "
        "and strings, nested in lists, tuples, dicts and dataclasses"
    )


def _has_fields(value: Any) -> bool:
    """Return true for an object of a dataclass."""
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def _attributes(value: Any) -> dict[str, Any]:
    """Return the attributes of an object: those in its dictionary, and fields that have slots."""
    fields = [field.name for field in dataclasses.fields(value)] if _has_fields(value) else []
    values = {name: getattr(value, name) for name in fields if hasattr(value, name)}
    return {**values, **getattr(value, "__dict__", {})}


def _has_extra_attributes(value: dict[Any, Any]) -> bool:
    """Return true if a dict is an object of a dataclass, and its items are not all that it has."""
    if not _has_fields(value):
        return False
    attributes = _attributes(value)
    return any(x is not None and x is not value.get(name) for name, x in attributes.items())


def flatten_call(
    args: tuple[Any, ...], kwargs: dict[str, Any], tensors: list[Tensor], name: str
) -> Any:
    """Return the structure of the arguments of a call of `name`, as `tree_flatten` does."""
    positional = [
        tree_flatten(arg, tensors, f"{name}: argument {index}") for index, arg in enumerate(args)
    ]
    named = [
        tree_flatten(kwarg, tensors, f"{name}: argument `{key}`") for key, kwarg in kwargs.items()
    ]
    args_tree = TreeContainer(tuple, (), tuple(positional))
    kwargs_tree = TreeContainer(dict, tuple(kwargs), tuple(named))
    return TreeContainer(tuple, (), (args_tree, kwargs_tree))


def _is_constant(value: Any) -> bool:
    """Return true if an object is the same in every call: neither an iterator nor with tensors."""
    if isinstance(value, Iterator | MappingView) or not _is_hashable(value):
        return False
    # A module is one whose parameters change by themselves.
    return isinstance(value, Module) or not _contains_tensor(list(_attributes(value).values()))


def _is_hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _contains_tensor(value: Any) -> bool:
    """Return true for a tensor, and for lists, tuples, sets, dicts and dataclasses with one."""
    if isinstance(value, Tensor):
        return True
    if isinstance(value, dict):
        return any(map(_contains_tensor, value.values()))
    if isinstance(value, list | tuple | set | frozenset):
        return any(map(_contains_tensor, value))
    return _has_fields(value) and any(map(_contains_tensor, _attributes(value).values()))


def tree_unflatten(structure: Any, tensors: Iterator[Tensor]) -> Any:
    """Return the value with this structure and these tensors."""
    if structure is TENSOR:
        return next(tensors)
    if isinstance(structure, TreeConstant):
        return structure.value
    items = [tree_unflatten(item, tensors) for item in structure.items]
    if dataclasses.is_dataclass(structure.kind):
        return _new_object(structure, items)
    if issubclass(structure.kind, dict):
        return _new_dict(structure, items)
    if hasattr(structure.kind, "_fields"):  # a named tuple
        return structure.kind(*items)
    return structure.kind(items)


def count_leaves(structure: Any) -> int:
    """The number of tensors in a structure."""
    if structure is TENSOR:
        return 1
    return sum(map(count_leaves, structure.items)) if isinstance(structure, TreeContainer) else 0


def leaf_paths(structure: Any) -> Iterator[tuple[Any, ...]]:
    """The places of the tensors in a structure, in order: indices and keys from the outside in."""
    if structure is TENSOR:
        yield ()
    elif isinstance(structure, TreeContainer):
        keys = structure.keys or range(len(structure.items))
        for key, item in zip(keys, structure.items, strict=True):
            for path in leaf_paths(item):
                yield (key, *path)


def _new_object(structure: TreeContainer, items: list) -> Any:
    """Return an object of a dataclass with the attributes of another.

    Its constructor is not called, which may compute attributes from others.
    """
    kind: Any = structure.kind
    new = kind.__new__(kind)
    attributes = dict(zip(structure.keys, items, strict=True))
    if isinstance(new, dict):  # with fields that are its items, or None
        base: Any = OrderedDict if isinstance(new, OrderedDict) else dict
        for key, item in attributes.items():
            base.__setitem__(new, key, item)
        fields = [field.name for field in dataclasses.fields(kind)]
        attributes = {name: attributes.get(name) for name in fields}
    for name, attribute in attributes.items():
        object.__setattr__(new, name, attribute)
    return new


def _new_dict(structure: TreeContainer, items: list) -> Any:
    pairs = zip(structure.keys, items, strict=True)
    if issubclass(structure.kind, defaultdict):
        return structure.kind(structure.default, pairs)
    return dict(pairs) if structure.kind is dict else structure.kind(pairs)


def describe(value: Any) -> list[str]:
    """The tensors in `value`, each as text, see `describe_tensor`."""
    tensors: list[Tensor] = []
    _collect(value, tensors)
    return [describe_tensor(tensor) for tensor in tensors]


def describe_tensor(tensor: Tensor) -> str:
    """The size, dtype and device, or placement, of a tensor as text."""
    device = f"device={tensor.device}"
    if tensor.is_global:
        device = f"placement={tensor.placement}, sbp={tensor.sbp}"
    return f"tensor(size={tuple(tensor.shape)}, dtype={tensor.dtype}, {device})"


def _collect(value: Any, tensors: list[Tensor]) -> None:
    if isinstance(value, Tensor):
        tensors.append(value)
    elif isinstance(value, dict):
        for item in value.values():
            _collect(item, tensors)
    elif isinstance(value, list | tuple):
        for item in value:
            _collect(item, tensors)
    elif _has_fields(value) and not _is_constant(value):
        for attribute in _attributes(value).values():
            _collect(attribute, tensors)


def plain_key(args: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Return the key of a call with nothing but tensors that need no gradients, else None."""
    key = []
    for arg in args:
        if type(arg) is not Tensor or arg._value.node is not None:
            return None
        key.append(arg._value.spec)
    return tuple(key)
