"""Names of ``torch.utils._mode_utils``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def all_same_mode(modes: Sequence[Any]) -> bool:
    """Return whether the items of a sequence are equal."""
    return all(mode == modes[0] for mode in modes)
