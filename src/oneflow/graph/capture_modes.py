"""The modes around a call that decide, besides graph and arguments, what capture records."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat
from typing import Any

from oneflow.amp.autocast import autocast_state
from oneflow.base.dtype import get_default_dtype
from oneflow.differentiation.grad_mode import MODE
from oneflow.functional.creation.options import MODE as NEW_TENSORS
from oneflow.module.module import Module


def capture_modes(training: bool, attributes: Iterable[dict[str, Any]]) -> tuple[Any, ...]:
    """All modes that eager code in `build` would obey and that can change from call to call.

    A step is used again only where this is as it was.

    Args:
        training: the graph has optimizers, and so records for backward in any grad mode.
        attributes: the attributes of all its modules, see `attributes_of`.
    """
    return (
        MODE.enabled or training,
        MODE.inference,
        MODE.anomaly,
        MODE.saved_hooks,
        NEW_TENSORS.sharding,
        get_default_dtype(),
        autocast_state(),
        # Read in each call: a module may be written to past `Module.__setattr__`.
        tuple(map(dict.get, attributes, repeat("training"))),
    )


def attributes_of(modules: Iterable[tuple[str, Module]]) -> list[dict[str, Any]]:
    """The dicts with the attributes of these modules and of all below them."""
    return [vars(module) for _, top in modules for module in top.modules()]
