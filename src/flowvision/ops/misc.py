"""Batch normalization with fixed statistics."""

from __future__ import annotations

from typing import Any

import oneflow as flow
from oneflow import Tensor, nn


class FrozenBatchNorm2d(nn.Module):
    """Batch normalization whose statistics, weight and bias are constants.

    Detectors see few images at a time and keep the statistics of their pretrained backbone. Input
    and output (N, num_features, H, W).

    Args:
        num_features: the number of channels.
        eps: added to the variance.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.ops.misc import FrozenBatchNorm2d
        >>> FrozenBatchNorm2d(2, eps=0.0)(flow.ones(1, 2, 1, 1)).flatten().tolist()
        [1.0, 1.0]
    """

    weight: Tensor
    bias: Tensor
    running_mean: Tensor
    running_var: Tensor

    def __init__(self, num_features: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.register_buffer("weight", flow.ones(num_features))
        self.register_buffer("bias", flow.zeros(num_features))
        self.register_buffer("running_mean", flow.zeros(num_features))
        self.register_buffer("running_var", flow.ones(num_features))

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, *rest: Any, **options: Any
    ) -> None:
        # Files of models that were trained with `BatchNorm2d` count their batches.
        state_dict.pop(f"{prefix}num_batches_tracked", None)
        super()._load_from_state_dict(state_dict, prefix, *rest, **options)

    def forward(self, x: Tensor) -> Tensor:
        scale = self.weight * (self.running_var + self.eps).rsqrt()
        shift = self.bias - self.running_mean * scale
        return x * scale.reshape(1, -1, 1, 1) + shift.reshape(1, -1, 1, 1)

    def extra_repr(self) -> str:
        return f"{len(self.weight)}, eps={self.eps}"
