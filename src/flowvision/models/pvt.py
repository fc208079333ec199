"""Pyramid Vision Transformer (PVT): stages of shrinking grids, and attention to reduced ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import oneflow as flow
from flowvision.layers.attention.sr_attention import SR_Attention
from flowvision.layers.blocks.patch_embed import PatchEmbed
from flowvision.layers.blocks.transformer import TransformerBlock
from flowvision.layers.regularization.droppath import drop_path_rates
from flowvision.layers.regularization.norm import layer_norm
from flowvision.layers.weight_init import init_transformer_, learned_tokens
from flowvision.models.image_classifier import ImageClassifier, make_head
from flowvision.models.registry import ModelFamily
from oneflow import Tensor, nn


class PyramidBlock(TransformerBlock):
    """A transformer block with spatial-reduction attention on a grid of a fixed size.

    Input and output (N, height * width, dim).

    Args:
        dim: the length of a token.
        grid_size: height and width of the grid.
        attn: the attention.
        **options: see `TransformerBlock`.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.layers import SR_Attention
        >>> from flowvision.models import PyramidBlock
        >>> block = PyramidBlock(8, (4, 4), SR_Attention(8, 2, sr_ratio=2))
        >>> block(flow.rand(1, 16, 8)).shape
        oneflow.Size([1, 16, 8])
    """

    def __init__(
        self, dim: int, grid_size: tuple[int, int], attn: SR_Attention, **options: Any
    ) -> None:
        super().__init__(dim, attn, **options)
        self.grid_size = grid_size

    def attend(self, x: Tensor) -> Tensor:
        assert self.attn is not None
        return self.attn(self.norm1(x), *self.grid_size)


class PyramidVisionTransformer(ImageClassifier):
    """Pyramid Vision Transformer (https://arxiv.org/abs/2102.12122).

    Input (N, in_chans, img_size, img_size); output (N, num_classes). The grid of the first stage is
    `patch_size` times smaller than the image, and that of each further stage half as high and wide.

    Args:
        img_size: height and width of the images.
        patch_size: height and width of a patch of the first stage.
        in_chans: the number of channels of the images.
        num_classes: the number of classes; 0 gives features.
        embed_dims: the length of a token, in each stage.
        num_heads: the number of heads of each stage.
        mlp_ratios: the hidden features of a perceptron, as multiples of the length of a token.
        qkv_bias: whether queries, keys and values have biases.
        qk_scale: the factor of the scores; None for ``1 / sqrt(dim / num_heads)``.
        drop_rate: the probability with which a feature is dropped.
        attn_drop_rate: the probability with which a weight of attention is dropped.
        drop_path_rate: the probability with which a branch of the last block is left out; it grows
            linearly from 0 in the first.
        norm_layer: makes a normalisation from the length of a token.
        depths: the number of blocks of each stage.
        sr_ratios: the factor by which keys and values are fewer, vertically and horizontally, in
            each stage; 1 in the last, which has a class token.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models.pvt import PyramidVisionTransformer
        >>> model = PyramidVisionTransformer(32, 4, embed_dims=[8, 16], num_heads=[1, 2],
        ...                                  mlp_ratios=[4, 4], depths=[1, 1], sr_ratios=[2, 1])
        >>> model(flow.randn(1, 3, 32, 32)).shape
        oneflow.Size([1, 1000])
    """

    def __init__(
        self,
        img_size: int = 224,
        patch_size: int = 16,
        in_chans: int = 3,
        num_classes: int = 1000,
        embed_dims: Sequence[int] = (64, 128, 256, 512),
        num_heads: Sequence[int] = (1, 2, 4, 8),
        mlp_ratios: Sequence[float] = (4, 4, 4, 4),
        qkv_bias: bool = False,
        qk_scale: float | None = None,
        drop_rate: float = 0.0,
        attn_drop_rate: float = 0.0,
        drop_path_rate: float = 0.0,
        norm_layer: Callable[[int], nn.Module] = nn.LayerNorm,
        depths: Sequence[int] = (3, 4, 6, 3),
        sr_ratios: Sequence[int] = (8, 4, 2, 1),
    ) -> None:
        super().__init__()
        self.num_features = embed_dims[-1]
        self.num_stages = len(depths)
        self.cls_token = learned_tokens(1, embed_dims[-1])
        rates = iter(drop_path_rates(drop_path_rate, sum(depths)))
        channels = (in_chans, *embed_dims)
        options: dict[str, Any] = {"drop": drop_rate, "norm_layer": norm_layer}
        for stage in range(1, self.num_stages + 1):
            dim = channels[stage]
            embedding = PatchEmbed(
                img_size if stage == 1 else img_size // (patch_size << (stage - 2)),
                patch_size if stage == 1 else 2,
                channels[stage - 1],
                dim,
                norm_layer=nn.LayerNorm,
            )
            positions = embedding.num_patches + (stage == self.num_stages)
            heads = (num_heads[stage - 1], qkv_bias, qk_scale, attn_drop_rate, drop_rate)
            options["mlp_ratio"] = mlp_ratios[stage - 1]
            blocks = []
            for _ in range(depths[stage - 1]):
                attention = SR_Attention(dim, *heads, sr_ratio=sr_ratios[stage - 1])
                options["drop_path"] = next(rates)
                blocks.append(PyramidBlock(dim, embedding.grid_size, attention, **options))
            setattr(self, f"patch_embed{stage}", embedding)
            setattr(self, f"pos_embed{stage}", learned_tokens(positions, dim))
            setattr(self, f"block{stage}", nn.ModuleList(blocks))
        self.pos_drop = nn.Dropout(drop_rate)
        self.norm = norm_layer(self.num_features)
        self.head = make_head(self.num_features, num_classes)
        init_transformer_(self)

    def forward_features(self, x: Tensor) -> Tensor:
        tokens = x
        for stage in range(1, self.num_stages + 1):
            embedding = getattr(self, f"patch_embed{stage}")
            tokens = embedding(x)
            if stage == self.num_stages:
                cls_token = self.cls_token.expand(x.shape[0], -1, -1)
                tokens = flow.cat([cls_token, tokens], dim=1)
            tokens = self.pos_drop(tokens + getattr(self, f"pos_embed{stage}"))
            for block in getattr(self, f"block{stage}"):
                tokens = block(tokens)
            if stage < self.num_stages:
                x = tokens.transpose(1, 2).unflatten(2, embedding.grid_size)
        return self.norm(tokens)[:, 0]


_PYRAMID: dict[str, Any] = {
    "patch_size": 4,
    "embed_dims": (64, 128, 320, 512),
    "num_heads": (1, 2, 5, 8),
    "mlp_ratios": (8, 8, 4, 4),
    "qkv_bias": True,
    "norm_layer": layer_norm,
}

_pvt = ModelFamily(__name__, PyramidVisionTransformer, paper="2102.12122")

# fmt: off
pvt_tiny = _pvt("pvt_tiny", "PVT-Tiny.", **_PYRAMID, depths=(2, 2, 2, 2))
pvt_small = _pvt("pvt_small", "PVT-Small.", **_PYRAMID, depths=(3, 4, 6, 3))
pvt_medium = _pvt("pvt_medium", "PVT-Medium.", **_PYRAMID, depths=(3, 4, 18, 3))
pvt_large = _pvt("pvt_large", "PVT-Large.", **_PYRAMID, depths=(3, 8, 27, 3))
