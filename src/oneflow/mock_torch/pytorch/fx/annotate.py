"""Types of symbolic values: ``torch.fx.annotate``."""

from __future__ import annotations

from typing import Any

from oneflow.mock_torch.pytorch.fx.proxy import Proxy


def annotate(val: Any, type: Any) -> Any:
    """Say of what type a symbolic value is.

    Args:
        val: the value; others are returned as they are.
        type: the type of its node.

    Returns:
        The value.

    Raises:
        RuntimeError: it has a type.
    """
    if not isinstance(val, Proxy):
        return val
    if val.node.type:
        raise RuntimeError(
            "Tried to annotate a value that already had a type on it! Existing type is "
            f"{val.node.type} and new type is {type}. A parameter of a function gets its type in "
            "the signature, and another value once"
        )
    val.node.type = type
    return val
