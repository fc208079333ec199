"""Names that ``torch.nn.utils`` has beside `oneflow.nn.utils`."""

from __future__ import annotations

import warnings
from typing import Any, TypeVar

from oneflow import Tensor, nn
from oneflow.base.layout import MemoryFormat, require_memory_format
from oneflow.nn.utils import clip_grad_norm_

M = TypeVar("M", bound=nn.Module)


def clip_grad_norm(*args: Any, **kwargs: Any) -> Tensor:
    """Clip gradients: the earlier name of `clip_grad_norm_`."""
    warnings.warn(
        "`clip_grad_norm` is deprecated; use `clip_grad_norm_`", FutureWarning, stacklevel=2
    )
    return clip_grad_norm_(*args, **kwargs)


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
    "clip_grad_norm",
    "convert_conv2d_weight_memory_format",
    "convert_conv3d_weight_memory_format",
]
