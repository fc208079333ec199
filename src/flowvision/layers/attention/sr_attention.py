"""Spatial-reduction attention: keys and values from a smaller grid."""

from __future__ import annotations

from flowvision.layers.attention.self_attention import merge_heads, split_heads
from oneflow import Tensor, nn


class SR_Attention(nn.Module):
    """Attention of tokens to a grid that a convolution has made smaller.

    Source: https://arxiv.org/abs/2102.12122. Input and output (N, H * W, dim); without reduction
    there may be further tokens.

    Args:
        dim: the length of a token, a multiple of `num_heads`.
        num_heads: the number of heads.
        qkv_bias: whether queries, keys and values have biases.
        qk_scale: the factor of the scores; None for ``1 / sqrt(dim / num_heads)``.
        attn_drop: the probability with which a weight of attention is dropped.
        proj_drop: the probability with which a feature of the output is dropped.
        sr_ratio: the factor by which keys and values are fewer, vertically and horizontally.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.layers.attention import SR_Attention
        >>> SR_Attention(dim=12, num_heads=3, sr_ratio=2)(flow.randn(2, 24, 12), 4, 6).shape
        oneflow.Size([2, 24, 12])
    """

    def __init__(
        self,
        dim: int,
        num_heads: int = 8,
        qkv_bias: bool = False,
        qk_scale: float | None = None,
        attn_drop: float = 0.0,
        proj_drop: float = 0.0,
        sr_ratio: int = 1,
    ) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.attn_drop = attn_drop
        self.sr_ratio = sr_ratio
        self.scale = qk_scale
        self.q = nn.Linear(dim, dim, bias=qkv_bias)
        self.kv = nn.Linear(dim, 2 * dim, bias=qkv_bias)
        self.proj = nn.Linear(dim, dim)
        self.proj_drop = nn.Dropout(proj_drop)
        if sr_ratio > 1:
            self.sr = nn.Conv2d(dim, dim, sr_ratio, stride=sr_ratio)
            self.norm = nn.LayerNorm(dim)

    def reduce(self, x: Tensor, H: int, W: int) -> Tensor:
        """Return the tokens (N, reduced tokens, dim) that keys and values are made of."""
        if self.sr_ratio == 1:
            return x
        grid = self.sr(x.transpose(1, 2).unflatten(2, (H, W)))
        return self.norm(grid.flatten(2).transpose(1, 2))

    def forward(self, x: Tensor, H: int, W: int) -> Tensor:
        reduced = self.reduce(x, H, W)
        query, key, value = (
            split_heads(part, self.num_heads)
            for part in (self.q(x), *self.kv(reduced).chunk(2, dim=-1))
        )
        heads = nn.functional.scaled_dot_product_attention(
            query,
            key,
            value,
            dropout_p=self.attn_drop if self.training else 0.0,
            scale=self.scale,
        )
        return self.proj_drop(self.proj(merge_heads(heads)))
