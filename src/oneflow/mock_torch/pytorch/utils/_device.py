"""Names of ``torch.utils._device``: a block, or a function, with a default device."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from oneflow.base.device import Device


class DeviceContext:
    """A context in which new tensors live on a device unless they are given another one.

    Args:
        device: the device, or its name.
    """

    def __init__(self, device: Any) -> None:
        self.device = Device(device)

    def __enter__(self) -> None:
        self.device.__enter__()

    def __exit__(self, *exception: object) -> None:
        self.device.__exit__(*exception)


def device_decorator(device: Any, func: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that runs another one with a default device."""

    @functools.wraps(func)
    def run(*args: Any, **kwargs: Any) -> Any:
        with Device(device):
            return func(*args, **kwargs)

    return run


def set_device(device: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that lets a function run with a default device."""
    return functools.partial(device_decorator, Device(device))
