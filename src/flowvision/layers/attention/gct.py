"""Gated channel transformation (https://arxiv.org/abs/1909.11519)."""

from __future__ import annotations

from typing import Literal

import oneflow as flow
from oneflow import Tensor, nn


class GCTModule(nn.Module):
    """Channels weighed by how their norm compares with the norms of the other channels.

    Input and output (N, channels, H, W). The weights begin with 1.

    Args:
        channels: the number of channels of the input.
        epsilon: added before roots and divisions.
        mode: the norm of a channel, "l2" or "l1".
        after_relu: whether the input has no negative elements, so that "l1" needs no absolute
            values.

    Raises:
        ValueError: if there is no such mode.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.layers import GCTModule
        >>> x = flow.rand(2, 4, 3, 3)
        >>> flow.equal(GCTModule(4)(x), x)
        True
    """

    def __init__(
        self,
        channels: int,
        epsilon: float = 1e-5,
        mode: Literal["l1", "l2"] = "l2",
        after_relu: bool = False,
    ) -> None:
        if mode not in ("l1", "l2"):
            raise ValueError(f"`mode` must be 'l1' or 'l2', not {mode!r}")
        super().__init__()
        self.alpha = nn.Parameter(flow.ones(1, channels, 1, 1))
        self.gamma = nn.Parameter(flow.zeros(1, channels, 1, 1))
        self.beta = nn.Parameter(flow.zeros(1, channels, 1, 1))
        self.epsilon = epsilon
        self.mode = mode
        self.after_relu = after_relu

    def forward(self, x: Tensor) -> Tensor:
        if self.mode == "l2":
            norms = (x.square().sum((2, 3), keepdim=True) + self.epsilon).sqrt() * self.alpha
            mean_norm = (norms.square().mean(1, keepdim=True) + self.epsilon).sqrt()
        else:
            positive = x if self.after_relu else x.abs()
            norms = positive.sum((2, 3), keepdim=True) * self.alpha
            mean_norm = norms.abs().mean(1, keepdim=True) + self.epsilon
        return x * (1 + flow.tanh(norms * (self.gamma / mean_norm) + self.beta))
