"""Attention of the class token to all tokens."""

from __future__ import annotations

from flowvision.layers.attention.self_attention import merge_heads, split_heads
from oneflow import Tensor, nn


class ClassAttention(nn.Module):
    """Attention of the first token to all of them (https://arxiv.org/abs/2103.17239).

    Input (N, tokens, dim), output (N, 1, dim).

    Args:
        dim: the length of a token, a multiple of `num_heads`.
        num_heads: the number of heads.
        qkv_bias: whether queries, keys and values have biases.
        attn_drop: the probability with which a weight of attention is dropped.
        proj_drop: the probability with which a feature of the output is dropped.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.layers.attention.class_attention import ClassAttention
        >>> ClassAttention(dim=12, num_heads=3)(flow.randn(2, 5, 12)).shape
        oneflow.Size([2, 1, 12])
    """

    def __init__(
        self,
        dim: int,
        num_heads: int = 8,
        qkv_bias: bool = False,
        attn_drop: float = 0.0,
        proj_drop: float = 0.0,
    ) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.attn_drop = attn_drop
        self.q = nn.Linear(dim, dim, bias=qkv_bias)
        self.k = nn.Linear(dim, dim, bias=qkv_bias)
        self.v = nn.Linear(dim, dim, bias=qkv_bias)
        self.proj = nn.Linear(dim, dim)
        self.proj_drop = nn.Dropout(proj_drop)

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = (
            split_heads(part, self.num_heads) for part in (self.q(x[:, :1]), self.k(x), self.v(x))
        )
        heads = nn.functional.scaled_dot_product_attention(
            query, key, value, dropout_p=self.attn_drop if self.training else 0.0
        )
        return self.proj_drop(self.proj(merge_heads(heads)))
