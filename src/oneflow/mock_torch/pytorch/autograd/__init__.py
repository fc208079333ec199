"""Names that ``torch.autograd`` has beside `oneflow.autograd`."""

import contextlib

from oneflow.mock_torch.variable import Variable as Variable
from oneflow.profiler.profile import kineto_available as kineto_available


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
