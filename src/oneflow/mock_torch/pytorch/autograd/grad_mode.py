"""Names that ``torch.autograd.grad_mode`` has beside `oneflow.autograd.grad_mode`."""

from __future__ import annotations

import contextlib
from typing import Self


class set_multithreading_enabled(contextlib.ContextDecorator):
    """Context manager, decorator or function that says whether backward passes have threads.

    The thread that asks for a backward pass runs it in any case, as PyTorch's does with False.

    Args:
        mode: whether they may have threads of their own.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        >>> x = torch.ones(2, requires_grad=True)
        >>> with torch.autograd.set_multithreading_enabled(False):
        ...     x.sum().backward()
        >>> x.grad.tolist()
        [1.0, 1.0]
    """

    def __init__(self, mode: bool) -> None:
        self.mode = mode

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        pass

    def clone(self) -> Self:
        """Return another one with the same mode."""
        return type(self)(self.mode)


class enforce_grad_layout_policy(set_multithreading_enabled):
    """Context manager, decorator or function that says whether gradients have parameters' strides.

    A tensor has strides of its own only as a view, and gradients are no views: they are as
    parameters are in either case.

    Args:
        enable: whether they must.
    """

    def __init__(self, enable: bool = True) -> None:
        super().__init__(enable)
