"""Names that ``torch.func`` has beside `oneflow.func`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from oneflow.mock_torch.pytorch.rearrange import rearrange as rearrange
from oneflow.module.module import Module
from oneflow.nn.modules.batchnorm import _BatchNorm
from oneflow.tensor.tensor import Tensor

_REMOVED = ("mutations", "mutations_and_views")


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """Return a function of the same results, recorded without writes and without shared memory.

    Every program is recorded so: values never change, an operation in place gives its tensor a new
    one, and a view is an operation like others. So `func` runs as it is. Arguments that it writes
    to change, as in PyTorch.

    Args:
        func: the function.
        remove: ``"mutations"`` or ``"mutations_and_views"``.

    Raises:
        RuntimeError: `remove` is something else.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        >>> torch.func.functionalize(lambda x: x.view(-1).add_(1))(torch.ones(1, 1)).tolist()
        [2.0]
    """
    if remove not in _REMOVED:
        raise RuntimeError(f"`remove` must be one of {_REMOVED}, got {remove!r}")

    @functools.wraps(func)
    def call(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **kwargs)

    return call


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Remove the running statistics of all batch normalization in a module, as `vmap` needs it.

    Args:
        root: the module; it is changed.

    Returns:
        The module.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        >>> model = torch.nn.Sequential(torch.nn.BatchNorm1d(2))
        >>> len(list(torch.func.replace_all_batch_norm_modules_(model).buffers()))
        0
    """
    for module in root.modules():
        if isinstance(module, _BatchNorm):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """Return the tensor behind those that transforms make, which is the tensor itself.

    Args:
        tensor: a tensor within a transformed function.
        recurse: whether to look behind all transforms.
    """
    return tensor


__all__ = ["debug_unwrap", "functionalize", "rearrange", "replace_all_batch_norm_modules_"]
