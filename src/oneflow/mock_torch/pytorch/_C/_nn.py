"""``torch._C._nn``: what `Module.to` of libraries asks."""

from __future__ import annotations

from typing import Any

import oneflow as flow
from oneflow.module.conversion import parse_to


def _parse_to(
    *args: Any, non_blocking: bool = False, memory_format: Any = None, **kwargs: Any
) -> tuple[flow.device | None, flow.dtype | None, bool, Any]:
    """Return the device, the dtype and further options that the arguments of `Module.to` mean.

    Args:
        args: a device, a dtype or a tensor, and whether not to wait.
        non_blocking: whether not to wait.
        memory_format: the order of dimensions in memory.
        kwargs: the same by name.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        ...     torch._C._nn._parse_to("cpu", torch.float64)
        (device(type='cpu'), torch.float64, False, None)
    """
    device, dtype = parse_to(*args, **kwargs)
    waits = next((arg for arg in args if isinstance(arg, bool)), non_blocking)
    return device, dtype, waits, memory_format


__all__ = ["_parse_to"]
