"""Structures of arguments and results as plain data, for JSON."""

from __future__ import annotations

from typing import Any

from oneflow.graph.structure import TENSOR, Nest, Plain

_KINDS = {"list": list, "tuple": tuple, "dict": dict}
_PLAIN = {"bool": bool, "int": int, "float": float, "str": str, "NoneType": type(None)}


def structure_to_data(structure: Any) -> Any:
    """The structure as lists and plain values; named tuples become tuples.

    Raises:
        RuntimeError: it has values that are not plain.
    """
    if structure is TENSOR:
        return "tensor"
    if isinstance(structure, Plain):
        if structure.kind.__name__ not in _PLAIN:
            raise RuntimeError(f"a {structure.kind.__name__} cannot be saved in a graph")
        return ["value", structure.kind.__name__, structure.value]
    kind = next(name for name, each in _KINDS.items() if issubclass(structure.kind, each))
    keys = [structure_to_data(Plain(type(key), key)) for key in structure.keys]
    return [kind, keys, [structure_to_data(each) for each in structure.items]]


def structure_from_data(data: Any) -> Any:
    """The structure again.

    Raises:
        ValueError: the data are not those of a structure.
    """
    if data == "tensor":
        return TENSOR
    kind, about, content = data
    if kind == "value":
        if type(content) is not _PLAIN[about]:
            raise ValueError(f"{content!r} is not of the type {about}")
        return Plain(_PLAIN[about], content)
    keys = tuple(structure_from_data(key).value for key in about)
    items = tuple(structure_from_data(each) for each in content)
    if len(keys) != (len(items) if kind == "dict" else 0):
        raise ValueError(f"a {kind} has {len(keys)} keys and {len(items)} values")
    return Nest(_KINDS[kind], keys, items)
