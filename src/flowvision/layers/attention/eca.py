"""Efficient channel attention (https://arxiv.org/abs/1910.03151)."""

from __future__ import annotations

import math
from collections.abc import Callable

from oneflow import Tensor, nn


class EcaModule(nn.Module):
    """Channels weighed by a convolution over the means of neighbouring ones.

    Input and output (N, C, H, W).

    Args:
        channels: the number of channels of the input, from which the size of the convolution
            follows: ``(log2(channels) + beta) / gamma`` or the odd number above, at least 3.
        kernel_size: the size of the convolution if there is no `channels`, an odd number.
        gamma: see `channels`.
        beta: see `channels`.
        gate_layer: makes the function from the convolution's output to weights.

    Raises:
        ValueError: if `kernel_size` is even.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.layers import EcaModule
        >>> EcaModule(32)(flow.rand(2, 32, 8, 8)).shape
        oneflow.Size([2, 32, 8, 8])
    """

    def __init__(
        self,
        channels: int | None = None,
        kernel_size: int = 3,
        gamma: float = 2,
        beta: float = 1,
        gate_layer: Callable[[], nn.Module] = nn.Sigmoid,
    ) -> None:
        super().__init__()
        if channels is not None:
            size = int(abs(math.log2(channels) + beta) / gamma)
            kernel_size = max(size | 1, 3)
        if kernel_size % 2 == 0:
            raise ValueError(f"`kernel_size` must be odd, got {kernel_size}")
        self.conv = nn.Conv1d(1, 1, kernel_size, padding=kernel_size // 2, bias=False)
        self.gate = gate_layer()

    def forward(self, x: Tensor) -> Tensor:
        means = x.mean((2, 3))[:, None]
        return x * self.gate(self.conv(means))[:, 0, :, None, None]
