"""Names of ``torch.utils._mode_utils``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oneflow.tensor.python_dispatch import DisableTorchDispatch as no_dispatch


def all_same_mode(modes: Sequence[Any]) -> bool:
    """Return whether the items of a sequence are equal."""
    return all(mode == modes[0] for mode in modes)


__all__ = ["all_same_mode", "no_dispatch"]
