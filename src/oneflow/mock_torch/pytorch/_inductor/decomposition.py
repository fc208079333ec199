"""``torch._inductor.decomposition``: functions that compute operators by others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: The functions that libraries gave, by operator: a table for `make_fx`. XLA asks for none.
decompositions: dict[Any, Callable[..., Any]] = {}


def register_decomposition(ops: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that enters a function into `decompositions`.

    Args:
        ops: the operator that it computes, or several.
    """

    def enter(function: Callable[..., Any]) -> Callable[..., Any]:
        for op in ops if isinstance(ops, list) else [ops]:
            decompositions[op] = function
        return function

    return enter


__all__ = ["decompositions", "register_decomposition"]
