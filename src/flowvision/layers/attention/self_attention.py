"""Attention of tokens to one another, by several heads."""

from __future__ import annotations

from oneflow import Tensor, nn


def split_heads(x: Tensor, num_heads: int) -> Tensor:
    """Return (N, tokens, heads * C) as (N, heads, tokens, C)."""
    return x.reshape(*x.shape[:2], num_heads, -1).transpose(1, 2)


def merge_heads(x: Tensor) -> Tensor:
    """Return (N, heads, tokens, C) as (N, tokens, heads * C)."""
    return x.transpose(1, 2).flatten(2)


class SelfAttention(nn.Module):
    """Attention of tokens to one another (https://arxiv.org/abs/1706.03762).

    Input and output (N, tokens, dim).

    Args:
        dim: the length of a token, a multiple of `num_heads`.
        num_heads: the number of heads.
        qkv_bias: whether queries, keys and values have biases.
        attn_drop: the probability with which a weight of attention is dropped.
        proj_drop: the probability with which a feature of the output is dropped.
        qk_scale: the factor of the scores; None for ``1 / sqrt(dim / num_heads)``.

    Raises:
        ValueError: if the heads do not share the features evenly.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.layers.attention.self_attention import SelfAttention
        >>> SelfAttention(dim=12, num_heads=3)(flow.randn(2, 5, 12)).shape
        oneflow.Size([2, 5, 12])
    """

    def __init__(
        self,
        dim: int,
        num_heads: int = 8,
        qkv_bias: bool = False,
        attn_drop: float = 0.0,
        proj_drop: float = 0.0,
        qk_scale: float | None = None,
    ) -> None:
        super().__init__()
        if dim % num_heads:
            raise ValueError(f"{num_heads} heads cannot share {dim} features evenly")
        self.num_heads = num_heads
        self.attn_drop = attn_drop
        self.qkv = nn.Linear(dim, 3 * dim, bias=qkv_bias)
        self.proj = nn.Linear(dim, dim)
        self.proj_drop = nn.Dropout(proj_drop)
        self.scale = qk_scale

    def queries_keys_values(self, x: Tensor) -> list[Tensor]:
        """Return three tensors of shape (N, heads, tokens, dim / heads)."""
        return [split_heads(part, self.num_heads) for part in self.qkv(x).chunk(3, dim=-1)]

    def attend(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        """Return what each head gives, of shape (N, heads, tokens, dim / heads).

        `mask` is added to the scores.
        """
        return nn.functional.scaled_dot_product_attention(
            query,
            key,
            value,
            mask,
            dropout_p=self.attn_drop if self.training else 0.0,
            scale=self.scale,
        )

    def forward(self, x: Tensor) -> Tensor:
        heads = self.attend(*self.queries_keys_values(x), mask=None)
        return self.proj_drop(self.proj(merge_heads(heads)))
