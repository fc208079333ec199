"""Data classes as containers of ``torch.utils._pytree``."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from oneflow.mock_torch.pytorch.utils._pytree import GetAttrKey, register_pytree_node


def register_dataclass(
    cls: type,
    *,
    field_names: list[str] | None = None,
    drop_field_names: list[str] | None = None,
    serialized_type_name: str | None = None,
) -> None:
    """Register a data class as a type of containers; fields that are None are no children.

    Args:
        cls: the class, which takes its fields by name.
        field_names: the children, by default all fields that it is made with.
        drop_field_names: the fields that are not.
        serialized_type_name: accepted.

    Raises:
        ValueError: the class is registered already, is no data class and has no `field_names`, or
            these are not its fields.
    """
    if dataclasses.is_dataclass(cls):
        fields = [field.name for field in dataclasses.fields(cls) if field.init]
        names = fields if field_names is None else list(field_names)
        differing = set(names) ^ (set(fields) - set(drop_field_names or ()))
        if field_names is not None and differing:
            raise ValueError(f"`field_names` must be the fields of {cls}, differs in {differing}")
    elif field_names is None:
        raise ValueError(f"`field_names` must be given: {cls} is no data class")
    else:
        names = list(field_names)

    def flatten(value: Any) -> tuple[list[Any], Any]:
        pairs = [(name, getattr(value, name)) for name in names]
        present = [name for name, child in pairs if child is not None]
        absent = [name for name, child in pairs if child is None]
        return [child for _, child in pairs if child is not None], [present, absent]

    def unflatten(values: Iterable[Any], context: Any) -> Any:
        present, absent = context
        return cls(**dict(zip(present, values, strict=True)), **dict.fromkeys(absent))

    def flatten_with_keys(value: Any) -> tuple[list[tuple[GetAttrKey, Any]], Any]:
        values, context = flatten(value)
        return list(zip(map(GetAttrKey, context[0]), values, strict=True)), context

    register_pytree_node(cls, flatten, unflatten, flatten_with_keys_fn=flatten_with_keys)
