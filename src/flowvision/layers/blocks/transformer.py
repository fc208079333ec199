"""The block that vision transformers repeat."""

from __future__ import annotations

from collections.abc import Callable

import oneflow as flow
from flowvision.layers.blocks.mlp import Mlp
from flowvision.layers.regularization.droppath import DropPath
from oneflow import Tensor, nn


class TransformerBlock(nn.Module):
    """Attention and a perceptron, each a residual branch that begins with a normalisation.

    Source: https://arxiv.org/abs/2010.11929; layer scale: https://arxiv.org/abs/2103.17239.
    Input and output (N, tokens, dim).

    Args:
        dim: the length of a token.
        attn: what mixes tokens; its input and output are those of the block. None if a subclass
            has an `attend` of its own.
        mlp_ratio: the hidden features of the perceptron, as a multiple of `dim`.
        drop: the probability with which a feature is dropped in the perceptron.
        drop_path: the probability with which a branch is left out.
        norm_layer: makes a normalisation from `dim`.
        act_layer: makes the activation of the perceptron.
        layer_scale: what the learned factors of the branches begin with; by default there are none.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.layers.attention.self_attention import SelfAttention
        >>> from flowvision.layers.blocks.transformer import TransformerBlock
        >>> TransformerBlock(12, SelfAttention(12, num_heads=3))(flow.randn(2, 5, 12)).shape
        oneflow.Size([2, 5, 12])
    """

    def __init__(
        self,
        dim: int,
        attn: nn.Module | None,
        *,
        mlp_ratio: float = 4.0,
        drop: float = 0.0,
        drop_path: float = 0.0,
        norm_layer: Callable[[int], nn.Module] = nn.LayerNorm,
        act_layer: Callable[[], nn.Module] = nn.GELU,
        layer_scale: float | None = None,
    ) -> None:
        super().__init__()
        self.norm1 = norm_layer(dim)
        self.attn = attn
        self.drop_path = DropPath(drop_path)
        self.norm2 = norm_layer(dim)
        self.mlp = Mlp(dim, int(dim * mlp_ratio), act_layer=act_layer, drop=drop)
        self.gamma_1 = self.gamma_2 = None
        if layer_scale is not None:
            self.gamma_1 = nn.Parameter(flow.full((dim,), layer_scale))
            self.gamma_2 = nn.Parameter(flow.full((dim,), layer_scale))

    def attend(self, x: Tensor) -> Tensor:
        """Return the branch of attention, before its factor."""
        assert self.attn is not None
        return self.attn(self.norm1(x))

    def add(self, x: Tensor, branch: Tensor, factors: Tensor | None) -> Tensor:
        """Return `x` and a branch, which may be left out, together."""
        return x + self.drop_path(branch if factors is None else branch * factors)

    def forward(self, x: Tensor) -> Tensor:
        x = self.add(x, self.attend(x), self.gamma_1)
        return self.add(x, self.mlp(self.norm2(x)), self.gamma_2)
