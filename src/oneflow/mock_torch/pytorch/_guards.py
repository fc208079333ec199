"""Names of ``torch._guards``, which PyTorch's compiler keeps for its traces."""

from __future__ import annotations


def active_fake_mode() -> None:
    """Return None: tensors without values are those on ``meta``, in no mode."""


__all__ = ["active_fake_mode"]
