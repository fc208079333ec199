"""PyTorch's earlier names of `interpolate`."""

from __future__ import annotations

from typing import Any

from oneflow.functional.nn.interpolate import interpolate
from oneflow.functional.registry import function
from oneflow.tensor.tensor import Tensor


@function(method=False, namespace="nn.functional")
def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """Resize by the nearest element; see `nn.functional.interpolate`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.upsample_nearest(flow.tensor([[[1.0, 2.0]]]), scale_factor=2)
        tensor([[[1., 1., 2., 2.]]], dtype=oneflow.float32)
    """
    return interpolate(input, size, scale_factor)


@function(method=False, namespace="nn.functional")
def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """Resize images linearly, corners on corners; see `nn.functional.interpolate`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.upsample_bilinear(flow.tensor([[[[1.0, 3.0]]]]), size=(1, 3))
        tensor([[[[1., 2., 3.]]]], dtype=oneflow.float32)
    """
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)
