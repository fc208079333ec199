"""Structures of pytrees as JSON data."""

from __future__ import annotations

from typing import Any

from oneflow.graph.pytree import TENSOR, TreeConstant, TreeContainer

_KINDS = {"list": list, "tuple": tuple, "dict": dict}
_PLAIN = {"bool": bool, "int": int, "float": float, "str": str, "NoneType": type(None)}


def tree_to_json(structure: Any) -> Any:
    """Return the structure as lists and plain values.

    Named tuples become tuples, and dataclasses dicts: a file names no code.

    Raises:
        RuntimeError: it has values that are not plain.
    """
    if structure is TENSOR:
        return "tensor"
    if isinstance(structure, TreeConstant):
        if structure.kind.__name__ not in _PLAIN:
            raise RuntimeError(f"a {structure.kind.__name__} cannot be saved in a graph")
        return ["value", structure.kind.__name__, structure.value]
    kind = _kind_of(structure)
    keys = [tree_to_json(TreeConstant(type(key), key)) for key in structure.keys]
    return [kind, keys, [tree_to_json(item) for item in structure.items]]


def _kind_of(structure: TreeContainer) -> str:
    kinds = (name for name, base in _KINDS.items() if issubclass(structure.kind, base))
    return next(kinds, "dict")  # that of a dataclass


def plain_tree(structure: Any) -> Any:
    """Return the structure with the kinds of containers that a file has."""
    if not isinstance(structure, TreeContainer):
        return structure
    items = tuple(plain_tree(item) for item in structure.items)
    return TreeContainer(_KINDS[_kind_of(structure)], structure.keys, items)


def tree_from_json(data: Any) -> Any:
    """Return the structure that `tree_to_json` described.

    Raises:
        ValueError: the data are not those of a structure.
    """
    if data == "tensor":
        return TENSOR
    kind, keys_or_type, content = data
    if kind == "value":
        if type(content) is not _PLAIN[keys_or_type]:
            raise ValueError(f"{content!r} is not of the type {keys_or_type}")
        return TreeConstant(_PLAIN[keys_or_type], content)
    keys = tuple(tree_from_json(key).value for key in keys_or_type)
    items = tuple(tree_from_json(item) for item in content)
    if len(keys) != (len(items) if kind == "dict" else 0):
        raise ValueError(f"a {kind} has {len(keys)} keys and {len(items)} values")
    return TreeContainer(_KINDS[kind], keys, items)
