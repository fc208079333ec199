"""Names that ``torch.utils.checkpoint`` has beside `oneflow.utils.checkpoint`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def get_device_states(*args: Any) -> tuple[list[int], list[Any]]:
    """Return the devices of tensors whose random numbers have a state of their own: none.

    All draws come from one generator, whose state ``torch.get_rng_state`` gives.
    """
    return [], []


def set_device_states(devices: Sequence[int], states: Sequence[Any], **options: Any) -> None:
    """Set the states that `get_device_states` gave: none."""


__all__ = ["get_device_states", "set_device_states"]
