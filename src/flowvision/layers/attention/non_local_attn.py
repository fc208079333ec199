"""Non-local attention (https://arxiv.org/abs/1711.07971)."""

from __future__ import annotations

from typing import Any

from flowvision.layers.helpers import make_divisible as make_divisible
from oneflow import Tensor, nn


class NonLocalAttn(nn.Module):
    """Attention between all positions of an image, beside a shortcut.

    Input and output (N, in_channels, H, W). The branch begins with zero.

    Args:
        in_channels: the number of channels of the input.
        use_scale: whether attention's logits are divided by the root of `in_channels`.
        rd_ratio: channels of queries, keys and values, as a share of `in_channels`.
        rd_channels: channels of queries, keys and values, instead of `rd_ratio`.
        rd_divisor: a divisor of the number of these channels.
        **kwargs: accepted, as upstream does, where other attention modules take more.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.layers import NonLocalAttn
        >>> NonLocalAttn(32)(flow.rand(2, 32, 8, 8)).shape
        oneflow.Size([2, 32, 8, 8])
    """

    def __init__(
        self,
        in_channels: int,
        use_scale: bool = True,
        rd_ratio: float = 1 / 8,
        rd_channels: int | None = None,
        rd_divisor: int = 8,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        rd_channels = rd_channels or make_divisible(in_channels * rd_ratio, rd_divisor)
        self.scale = in_channels**-0.5 if use_scale else 1.0
        self.t = nn.Conv2d(in_channels, rd_channels, 1)
        self.p = nn.Conv2d(in_channels, rd_channels, 1)
        self.g = nn.Conv2d(in_channels, rd_channels, 1)
        self.z = nn.Conv2d(rd_channels, in_channels, 1)
        self.norm = nn.BatchNorm2d(in_channels)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weights; the weights of the normalization become zero."""
        for module in (self.t, self.p, self.g, self.z):
            nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
            nn.init.zeros_(module.bias)
        nn.init.zeros_(self.norm.weight)

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = (
            projection(x).flatten(2).transpose(1, 2) for projection in (self.t, self.p, self.g)
        )
        out = nn.functional.scaled_dot_product_attention(query, key, value, scale=self.scale)
        out = out.transpose(1, 2).reshape(x.shape[0], -1, *x.shape[2:])
        return self.norm(self.z(out)) + x
