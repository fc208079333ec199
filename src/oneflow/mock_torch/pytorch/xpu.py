"""Modules of devices that JAX does not know here, such as ``torch.xpu``: there is none."""

from __future__ import annotations


def is_available() -> bool:
    """Return False."""
    return False


def is_initialized() -> bool:
    """Return False."""
    return False


def device_count() -> int:
    """Return 0."""
    return 0


__all__ = ["device_count", "is_available", "is_initialized"]
