"""The two kinds of attention of FAN: over tokens, and over channels."""

from __future__ import annotations

import oneflow as flow
from flowvision.layers.attention.self_attention import merge_heads, split_heads
from flowvision.layers.attention.sr_attention import SR_Attention
from flowvision.models.fan_mlp import LocalMlp
from oneflow import Tensor, nn


class TokenMixing(SR_Attention):
    """Attention of tokens to one another, or to fewer of them.

    Input and output (N, H * W, dim).

    Args:
        dim: the length of a token, a multiple of `num_heads`.
        num_heads: the number of heads.
        qkv_bias: whether queries, keys and values have biases.
        qk_scale: the factor of the scores; by default ``1 / sqrt(dim / num_heads)``.
        attn_drop: the probability with which a weight of attention is dropped.
        proj_drop: the probability with which a feature of the output is dropped.
        sr_ratio: the factor by which keys and values are fewer, vertically and horizontally.
        linear: whether keys and values come from a grid of 7 x 7 means instead
            (https://arxiv.org/abs/2106.13797), so that the work grows linearly with the tokens.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import TokenMixing
        >>> TokenMixing(8, num_heads=2, linear=True)(flow.rand(1, 64, 8), H=8, W=8).shape
        oneflow.Size([1, 64, 8])
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
        linear: bool = False,
    ) -> None:
        ratio = 1 if linear else sr_ratio
        super().__init__(dim, num_heads, qkv_bias, qk_scale, attn_drop, proj_drop, ratio)
        self.linear = linear
        if linear:
            self.pool = nn.AdaptiveAvgPool2d(7)
            self.sr = nn.Conv2d(dim, dim, 1)
            self.norm = nn.LayerNorm(dim)
            self.act = nn.GELU()

    def reduce(self, x: Tensor, H: int, W: int) -> Tensor:
        if not self.linear:
            return super().reduce(x, H, W)
        grid = self.sr(self.pool(x.transpose(1, 2).unflatten(2, (H, W))))
        return self.act(self.norm(grid.flatten(2).transpose(1, 2)))


class ChannelProcessing(nn.Module):
    """Attention over channels: a gate for each, from how the channels agree over all tokens.

    Input and output (N, H * W, dim).

    Args:
        dim: the length of a token, a multiple of `num_heads`.
        num_heads: the number of heads.
        qkv_bias: whether queries have biases.
        attn_drop: the probability with which a gate is dropped.
        mlp_hidden_dim: the hidden features of the perceptron that makes the values.
        drop: the probability with which a feature is dropped in it.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import ChannelProcessing
        >>> ChannelProcessing(8, num_heads=2)(flow.rand(1, 6, 8), H=2, W=3).shape
        oneflow.Size([1, 6, 8])
    """

    def __init__(
        self,
        dim: int,
        num_heads: int = 8,
        qkv_bias: bool = False,
        attn_drop: float = 0.0,
        mlp_hidden_dim: int | None = None,
        drop: float = 0.0,
    ) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.temperature = nn.Parameter(flow.ones(num_heads, 1, 1))
        self.mlp_v = LocalMlp(dim, mlp_hidden_dim, drop=drop)
        self.norm_v = nn.LayerNorm(dim)
        self.q = nn.Linear(dim, dim, bias=qkv_bias)
        self.attn_drop = nn.Dropout(attn_drop)

    def forward(self, x: Tensor, H: int, W: int) -> Tensor:
        query, key = (split_heads(tokens, self.num_heads).softmax(-2) for tokens in (self.q(x), x))
        gate = (query.transpose(-1, -2) @ key.mean(-1, keepdim=True)).sigmoid()
        gate = self.attn_drop(gate * self.temperature)
        values = split_heads(self.norm_v(self.mlp_v(x, H, W)), self.num_heads)
        return merge_heads(values * gate.transpose(-1, -2))
