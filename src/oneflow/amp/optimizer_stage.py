"""The stage of an optimizer's gradients in PyTorch's scaler, whose files name the function."""

from __future__ import annotations

import enum
from typing import Any


class OptState(enum.Enum):
    """The last action on the gradients of an optimizer since `update`."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


def _refresh_per_optimizer_state() -> dict[str, Any]:
    return {"stage": OptState.READY, "found_inf_per_device": {}}
