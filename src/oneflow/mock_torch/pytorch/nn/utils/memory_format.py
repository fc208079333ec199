"""Names of ``torch.nn.utils.memory_format``."""

from __future__ import annotations

from typing import TypeVar

from oneflow import nn
from oneflow.base.layout import MemoryFormat, require_memory_format

M = TypeVar("M", bound=nn.Module)


def convert_conv2d_weight_memory_format(module: M, memory_format: MemoryFormat) -> M:
    """Return a module as it is: XLA chooses how the weights of convolutions lie in memory.

    Raises:
        TypeError: `memory_format` is none.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        ...     layer = torch.nn.Conv2d(2, 3, 2)
        ...     convert = torch.nn.utils.convert_conv2d_weight_memory_format
        ...     convert(layer, torch.channels_last) is layer
        True
    """
    require_memory_format(memory_format, "convert_conv2d_weight_memory_format")
    return module


def convert_conv3d_weight_memory_format(module: M, memory_format: MemoryFormat) -> M:
    """Return a module as it is; see `convert_conv2d_weight_memory_format`."""
    require_memory_format(memory_format, "convert_conv3d_weight_memory_format")
    return module


__all__ = [
    "convert_conv2d_weight_memory_format",
    "convert_conv3d_weight_memory_format",
]
