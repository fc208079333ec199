"""Tensors to and from PyTorch."""

from __future__ import annotations

import importlib
from typing import Any

from oneflow.functional.creation.from_data import from_dlpack
from oneflow.functional.registry import function
from oneflow.tensor.tensor import Tensor


@function(method=False, namespace="utils.tensor")
def from_torch(torch_tensor: Any) -> Tensor:
    """A tensor with a copy of a PyTorch tensor's values, without its history.

    Raises:
        TypeError: not a PyTorch tensor.

    Example:
        >>> import oneflow as flow
        >>> import torch
        >>> flow.utils.tensor.from_torch(torch.tensor([1.5, 2.5]))
        tensor([1.5000, 2.5000], dtype=oneflow.float32)
    """
    torch = _torch("from_torch")
    if not isinstance(torch_tensor, torch.Tensor):
        raise TypeError(
            f"from_torch() takes a torch.Tensor, got {type(torch_tensor).__name__}; "
            "oneflow.tensor() takes arrays, numbers and lists"
        )
    return from_dlpack(torch_tensor.detach().resolve_conj().resolve_neg().contiguous())


@function(method=False, namespace="utils.tensor")
def to_torch(flow_tensor: Tensor) -> Any:
    """A PyTorch tensor with a copy of a tensor's values, without its history.

    Raises:
        TypeError: not a tensor.
        RuntimeError: a global tensor.

    Example:
        >>> import oneflow as flow
        >>> flow.utils.tensor.to_torch(flow.tensor([1.5, 2.5]))
        tensor([1.5000, 2.5000])
    """
    torch = _torch("to_torch")
    if not isinstance(flow_tensor, Tensor):
        raise TypeError(f"to_torch() takes a oneflow.Tensor, got {type(flow_tensor).__name__}")
    if flow_tensor.is_global:
        raise RuntimeError("to_torch() takes a local tensor; call to_local() first")
    # A copy: PyTorch may write into its tensors, XLA's arrays must not change.
    return torch.from_dlpack(flow_tensor.detach()).clone()


def _torch(name: str) -> Any:
    try:
        return importlib.import_module("torch")
    except ImportError as error:
        raise ImportError(f"{name}() needs PyTorch: pip install torch") from error
