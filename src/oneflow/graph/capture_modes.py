"""The modes around a call that decide, besides graph and arguments, what capture records."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import repeat
from typing import Any

from oneflow.amp.autocast import autocast_state
from oneflow.base.change_count import CHANGES
from oneflow.base.dtype import get_default_dtype
from oneflow.differentiation.grad_mode import MODE
from oneflow.functional.creation.options import MODE as NEW_TENSORS
from oneflow.module.module import Module


class TrainingModes:
    """Training modes of a graph's modules, looked at again only after a change somewhere.

    Args:
        modules: the graph's modules, by path.

    Attributes:
        seen: the number of changes when it was last read, and what was read.
    """

    def __init__(self, modules: Iterable[tuple[str, Module]] = ()) -> None:
        self._attributes = [vars(module) for _, top in modules for module in top.modules()]
        self.seen: tuple[int, tuple[Any, ...]] = (-1, ())

    def read(self) -> tuple[Any, ...]:
        """The attribute `training` of these modules and of all below them."""
        changes = CHANGES.value
        training = tuple(map(dict.get, self._attributes, repeat("training")))
        self.seen = changes, training
        return training


def capture_modes(training: bool, modules: TrainingModes) -> tuple[Any, ...]:
    """All modes that eager code in `build` would obey and that can change from call to call.

    A step is used again only where this is as it was.

    Args:
        training: the graph has optimizers, and so records for backward in any grad mode.
        modules: whether its modules train.
    """
    changes, modes = modules.seen
    return (
        MODE.enabled or training,
        MODE.inference,
        MODE.anomaly,
        MODE.saved_hooks,
        NEW_TENSORS.sharding,
        get_default_dtype(),
        autocast_state(),
        modes if changes == CHANGES.value else modules.read(),
    )
