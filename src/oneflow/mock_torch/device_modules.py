"""``torch.get_device_module``: the modules of types of devices."""

from __future__ import annotations

import contextlib
import importlib
from types import ModuleType
from typing import Any

from oneflow.cuda.accelerator import current_accelerator
from oneflow.mock_torch.switches import enable


def available_device_type() -> str | None:
    """Return the type of the accelerator that this process has; None if it has none."""
    accelerator = current_accelerator()
    return None if accelerator is None else accelerator.type


def get_device_module(device: Any = None) -> ModuleType:
    """Return the module of a type of device, such as ``torch.cuda``.

    Args:
        device: a device or its type; by default that of the accelerator, or else the CPU.

    Raises:
        RuntimeError: there is no such module.
    """
    if device is None:
        device = current_accelerator() or "cpu"
    name = getattr(device, "type", device).partition(":")[0]
    module = None
    with contextlib.suppress(ModuleNotFoundError), enable():
        module = importlib.import_module(f"torch.{name}")
    # Other modules than those of devices count none.
    if module is None or not hasattr(module, "device_count"):
        raise RuntimeError(f"`device`: there is no module of devices torch.{name}, got {device!r}")
    return module
