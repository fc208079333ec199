"""``torch._C._functorch``: what libraries ask of tensors that PyTorch wraps for its transforms.

Transformed functions run here as Python with tensors of their own: nothing is wrapped.
"""

from __future__ import annotations

from typing import Any, NoReturn

from oneflow.mock_torch.missing import raise_missing
from oneflow.tensor.tensor import Tensor

_REASON = "`torch.vmap` calls functions with the elements of a batch, which are plain tensors"


def is_batchedtensor(tensor: Tensor) -> bool:
    """Return False: a mapped function gets the elements of a batch one by one.

    Args:
        tensor: any tensor.

    Example:
        >>> import oneflow as flow
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     from torch._C._functorch import is_batchedtensor
        >>> flow.vmap(lambda x: x + is_batchedtensor(x))(flow.ones(2)).tolist()
        [1.0, 1.0]
    """
    return False


is_legacy_batchedtensor = is_batchedtensor


def is_gradtrackingtensor(tensor: Tensor) -> bool:
    """Return False: derivatives of functions are taken with plain tensors, too.

    Args:
        tensor: any tensor.
    """
    return False


is_functorch_wrapped_tensor = is_gradtrackingtensor


def get_unwrapped(tensor: Tensor) -> NoReturn:
    """Refuse to take the value out of a wrapped tensor: there is none.

    Args:
        tensor: any tensor.

    Raises:
        RuntimeError: always, as PyTorch does for plain tensors.
    """
    raise RuntimeError("`tensor` has no wrapper: `is_functorch_wrapped_tensor` is False")


def _add_batch_dim(tensor: Tensor, batch_dim: int, level: int) -> NoReturn:
    """Refuse to wrap a batch.

    Raises:
        NotImplementedError: always.
    """
    raise_missing("torch._C._functorch._add_batch_dim", _REASON)


def _remove_batch_dim(tensor: Tensor, level: int, batch_size: Any, out_dim: int) -> NoReturn:
    """Refuse to take a batch out of a wrapper.

    Raises:
        NotImplementedError: always.
    """
    raise_missing("torch._C._functorch._remove_batch_dim", _REASON)


__all__ = [
    "_add_batch_dim",
    "_remove_batch_dim",
    "get_unwrapped",
    "is_batchedtensor",
    "is_functorch_wrapped_tensor",
    "is_gradtrackingtensor",
    "is_legacy_batchedtensor",
]
