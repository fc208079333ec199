"""Names of ``torch.onnx.operators``: shapes as tensors."""

from __future__ import annotations

from oneflow import Tensor
from oneflow.mock_torch.pytorch.top_level import _shape_as_tensor as shape_as_tensor


def reshape_from_tensor_shape(x: Tensor, shape: Tensor) -> Tensor:
    """Return a tensor in the shape that another one holds.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        ...     from torch.onnx import operators
        ...     x = torch.ones(4)
        ...     operators.reshape_from_tensor_shape(x, torch.tensor([2, -1])).shape
        oneflow.Size([2, 2])
    """
    return x.reshape(shape.tolist())


__all__ = ["reshape_from_tensor_shape", "shape_as_tensor"]
