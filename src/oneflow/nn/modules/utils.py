"""Settings given as one number or as one per dimension."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from oneflow.base.shape import is_sequence


def _ntuple(count: int) -> Callable[[Any], tuple]:
    """A function that makes a tuple of `count` of a single value and keeps several as they are."""

    def expand(x: Any) -> tuple:
        return tuple(x) if is_sequence(x) else (x,) * count

    return expand


_single = _ntuple(1)
_pair = _ntuple(2)
_triple = _ntuple(3)
_quadruple = _ntuple(4)


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Take a prefix off the names in a state dict that begin with it.

    Args:
        state_dict: the state dict, which is changed.
        prefix: such as ``"module."``, of a module around the one that is to load it.

    Example:
        >>> from oneflow.nn.modules.utils import consume_prefix_in_state_dict_if_present
        >>> state = {"module.weight": 1, "bias": 2}
        >>> consume_prefix_in_state_dict_if_present(state, "module.")
        >>> state
        {'bias': 2, 'weight': 1}
    """
    for key in [name for name in state_dict if name.startswith(prefix)]:
        state_dict[key.removeprefix(prefix)] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", {})
    for key in [name for name in metadata if f"{name}.".startswith(prefix)]:
        metadata[key[len(prefix) :]] = metadata.pop(key)
