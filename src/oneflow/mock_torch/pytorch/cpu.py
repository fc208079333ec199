"""``torch.cpu``: the processor by the functions that modules of devices have."""

from __future__ import annotations

from typing import Any

from oneflow.functional.recording import synchronize as _synchronize


def is_available() -> bool:
    """Return True."""
    return True


def is_initialized() -> bool:
    """Return True."""
    return True


def device_count() -> int:
    """Return 1: a process has one."""
    return 1


def current_device() -> str:
    """Return ``"cpu"``."""
    return "cpu"


def set_device(device: Any) -> None:
    """Choose the only one."""


def synchronize(device: Any = None) -> None:
    """Wait until everything that was called is computed."""
    _synchronize()


__all__ = [
    "current_device",
    "device_count",
    "is_available",
    "is_initialized",
    "set_device",
    "synchronize",
]
