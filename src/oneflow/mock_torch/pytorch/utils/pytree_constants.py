"""``torch.utils._pytree.register_constant``: types whose objects are no leaves of trees."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from oneflow.mock_torch.pytorch.utils._pytree import register_pytree_node

_CONSTANTS: set[type] = set()


@dataclasses.dataclass(frozen=True)
class ConstantNode:
    """The part of a tree's structure that holds a constant.

    Attributes:
        value: the constant; structures with equal ones are equal.
    """

    value: Any


def register_constant(cls: type) -> None:
    """Register a type whose objects have no leaves, and stay as they are.

    Args:
        cls: the type.

    Raises:
        TypeError: its objects cannot be compared by value, or have no hash.
        ValueError: the type is registered already.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     from torch.utils import _pytree
        ...     _pytree.register_constant(range)
        ...     _pytree.tree_leaves([1, range(3)])
        [1]
    """
    for method, missing in (("__eq__", object.__eq__), ("__hash__", None)):
        if getattr(cls, method) is missing:
            raise TypeError(
                "register_constant(cls) expects `cls` to have a non-default "
                f"`{method}` implementation."
            )
    register_pytree_node(cls, _flattened, _unflattened, flatten_with_keys_fn=_flattened)
    _CONSTANTS.add(cls)


def is_constant_class(cls: type) -> bool:
    """Return whether a type was registered by `register_constant`."""
    return cls in _CONSTANTS


def _flattened(x: Any) -> tuple[list[Any], ConstantNode]:
    return [], ConstantNode(x)


def _unflattened(leaves: Iterable[Any], context: ConstantNode) -> Any:
    return context.value
