"""Tensors as text, as PyTorch prints them; the dtype is always shown."""

from __future__ import annotations

import numpy as np

from oneflow.tensor.methods import attach
from oneflow.tensor.tensor import Tensor


def format_tensor(tensor: Tensor) -> str:
    """`tensor` as text."""
    body = np.array2string(tensor.numpy(), separator=", ", prefix="tensor(")
    suffix = f", dtype={tensor.dtype!r}"
    if tensor.grad_fn is not None:
        suffix += f", grad_fn=<{tensor.grad_fn.name()}>"
    elif tensor.requires_grad:
        suffix += ", requires_grad=True"
    return f"tensor({body}{suffix})"


attach("__repr__", format_tensor)
