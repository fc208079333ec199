"""Layers of earlier versions of PyTorch."""

from __future__ import annotations

import warnings
from typing import Any

from oneflow import nn


class NLLLoss2d(nn.NLLLoss):
    """`NLLLoss`, by its name for images; it warns.

    Args:
        args: the arguments of `NLLLoss`.
        kwargs: the same by name.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            "NLLLoss2d has been deprecated. Please use NLLLoss instead as a drop-in replacement "
            "and see https://pytorch.org/docs/main/nn.html#torch.nn.NLLLoss for more details.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__(*args, **kwargs)


class Container(nn.Module):
    """A module of modules by name; it warns.

    Args:
        kwargs: the modules.
    """

    def __init__(self, **kwargs: nn.Module) -> None:
        super().__init__()
        warnings.warn(
            "nn.Container is deprecated. All of it's functionality is now implemented in "
            "nn.Module. Subclass that instead.",
            FutureWarning,
            stacklevel=2,
        )
        for name, module in kwargs.items():
            self.add_module(name, module)
