"""The check that `build` of a graph, which runs only once, leaves optimizers alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from oneflow.runtime.eager import is_capturing


def has_gradients(groups: Iterable[Mapping[str, Any]]) -> bool:
    """Return True if a parameter has a gradient."""
    return any(parameter.grad is not None for group in groups for parameter in group["params"])


def check_not_in_build(name: str, groups: Iterable[Mapping[str, Any]]) -> None:
    """Check that an optimizer may step or clear gradients here.

    Raises:
        RuntimeError: this is inside `build`, where gradients have been computed.
    """
    if is_capturing() and has_gradients(groups):
        raise RuntimeError(
            f"{name} is stepped, or clears gradients, inside `build`; give it to `add_optimizer` "
            "instead: the graph does both, after `build`"
        )
