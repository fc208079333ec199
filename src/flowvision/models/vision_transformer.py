"""Vision Transformer (ViT): an image as a sequence of patches, read by a transformer."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import oneflow as flow
from flowvision.layers.attention.self_attention import SelfAttention
from flowvision.layers.blocks.patch_embed import PatchEmbed
from flowvision.layers.blocks.transformer import TransformerBlock
from flowvision.layers.regularization.droppath import drop_path_rates
from flowvision.layers.regularization.norm import layer_norm
from flowvision.layers.weight_init import init_transformer_, learned_tokens
from flowvision.models.image_classifier import ImageClassifier, make_head
from flowvision.models.registry import ModelFamily
from oneflow import Tensor, nn


class VisionTransformer(ImageClassifier):
    """Vision Transformer (https://arxiv.org/abs/2010.11929).

    With `distilled`, DeiT (https://arxiv.org/abs/2012.12877): a second token learns from a teacher.

    Input (N, in_chans, img_size, img_size); output (N, num_classes). A distilled model gives the
    scores of both tokens while it is trained, and their mean otherwise.

    Args:
        img_size: height and width of the images.
        patch_size: height and width of a patch.
        in_chans: the number of channels of the images.
        num_classes: the number of classes; 0 gives features.
        embed_dim: the length of a token.
        depth: the number of blocks.
        num_heads: the number of heads.
        mlp_ratio: the hidden features of a perceptron, as a multiple of `embed_dim`.
        qkv_bias: whether queries, keys and values have biases.
        representation_size: the features of a hidden layer before the head; by default there is
            none.
        distilled: whether there is a token for distillation.
        drop_rate: the probability with which a feature is dropped.
        attn_drop_rate: the probability with which a weight of attention is dropped.
        drop_path_rate: the probability with which a branch of the last block is left out; it grows
            linearly from 0 in the first.
        embed_layer: makes the embedding; see `PatchEmbed`.
        norm_layer: makes a normalisation from `embed_dim`; default layer normalisation with
            ``eps=1e-6``.
        act_layer: makes the activation of a perceptron; default GELU.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models.vision_transformer import VisionTransformer
        >>> model = VisionTransformer(32, 8, num_classes=5, embed_dim=12, depth=1, num_heads=3)
        >>> model(flow.randn(2, 3, 32, 32)).shape
        oneflow.Size([2, 5])
    """

    def __init__(
        self,
        img_size: int = 224,
        patch_size: int = 16,
        in_chans: int = 3,
        num_classes: int = 1000,
        embed_dim: int = 768,
        depth: int = 12,
        num_heads: int = 12,
        mlp_ratio: float = 4.0,
        qkv_bias: bool = True,
        representation_size: int | None = None,
        distilled: bool = False,
        drop_rate: float = 0.0,
        attn_drop_rate: float = 0.0,
        drop_path_rate: float = 0.0,
        embed_layer: Callable[..., PatchEmbed] = PatchEmbed,
        norm_layer: Callable[[int], nn.Module] | None = None,
        act_layer: Callable[[], nn.Module] | None = None,
    ) -> None:
        super().__init__()
        norm_layer = norm_layer or layer_norm
        self.num_features = representation_size or embed_dim
        self.patch_embed = embed_layer(img_size, patch_size, in_chans, embed_dim)
        self.cls_token = learned_tokens(1, embed_dim)
        self.dist_token = learned_tokens(1, embed_dim) if distilled else None
        tokens = self.patch_embed.num_patches + (2 if distilled else 1)
        self.pos_embed = learned_tokens(tokens, embed_dim)
        self.pos_drop = nn.Dropout(drop_rate)
        self.blocks = nn.Sequential(
            *[
                TransformerBlock(
                    embed_dim,
                    SelfAttention(embed_dim, num_heads, qkv_bias, attn_drop_rate, drop_rate),
                    mlp_ratio=mlp_ratio,
                    drop=drop_rate,
                    drop_path=rate,
                    norm_layer=norm_layer,
                    act_layer=act_layer or nn.GELU,
                )
                for rate in drop_path_rates(drop_path_rate, depth)
            ]
        )
        self.norm = norm_layer(embed_dim)
        self.pre_logits: nn.Module = nn.Identity()
        if representation_size:
            self.pre_logits = _PreLogits(embed_dim, representation_size)
        self.head = make_head(self.num_features, num_classes)
        self.head_dist = make_head(self.num_features, num_classes) if distilled else None
        init_transformer_(self)

    def reset_classifier(self, num_classes: int, global_pool: str = "") -> None:
        super().reset_classifier(num_classes, global_pool)
        if self.head_dist is not None:
            self.head_dist = make_head(self.num_features, num_classes)

    def _tokens(self, x: Tensor) -> Tensor:
        x = self.patch_embed(x)
        first = [token for token in (self.cls_token, self.dist_token) if token is not None]
        x = flow.cat([*[token.expand(x.shape[0], -1, -1) for token in first], x], dim=1)
        return self.norm(self.blocks(self.pos_drop(x + self.pos_embed)))

    def forward_features(self, x: Tensor) -> Tensor:
        return self.pre_logits(self._tokens(x)[:, 0])

    def forward(self, x: Tensor) -> Any:
        if self.head_dist is None:
            return super().forward(x)
        tokens = self._tokens(x)
        scores, distilled = (
            head(self.pre_logits(tokens[:, index]))
            for index, head in enumerate((self.head, self.head_dist))
        )
        return (scores, distilled) if self.training else (scores + distilled) / 2


class _PreLogits(nn.Module):
    """The hidden layer between a ViT and its head in pretraining."""

    def __init__(self, features: int, representation_size: int) -> None:
        super().__init__()
        self.fc = nn.Linear(features, representation_size)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(x).tanh()


def resize_pos_embed(
    posemb: Tensor, posemb_new: Tensor, num_tokens: int = 1, gs_new: tuple[int, ...] = ()
) -> Tensor:
    """Stretch learned embeddings of positions to the grid of another image size.

    Args:
        posemb: the embeddings of a square grid, of shape (1, tokens, C).
        posemb_new: the embeddings of the new model, whose shape the result gets.
        num_tokens: how many of the tokens of the new model are no patches.
        gs_new: height and width of the new grid; by default it is square.

    Returns:
        Tensor of the shape of `posemb_new`.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models.vision_transformer import resize_pos_embed
        >>> resize_pos_embed(flow.randn(1, 5, 8), flow.randn(1, 10, 8)).shape
        oneflow.Size([1, 10, 8])
    """
    first = posemb[:, :num_tokens]
    size = math.isqrt(posemb.shape[1] - num_tokens)
    new = gs_new or (math.isqrt(posemb_new.shape[1] - num_tokens),) * 2
    grid = posemb[:, num_tokens:].reshape(1, size, size, -1).permute(0, 3, 1, 2)
    grid = nn.functional.interpolate(grid, size=new, mode="bicubic", align_corners=False)
    return flow.cat([first, grid.flatten(2).transpose(1, 2)], dim=1)


_TINY: dict[str, Any] = {"embed_dim": 192, "depth": 12, "num_heads": 3}
_SMALL: dict[str, Any] = {"embed_dim": 384, "depth": 12, "num_heads": 6}
_BASE: dict[str, Any] = {"embed_dim": 768, "depth": 12, "num_heads": 12}
_LARGE: dict[str, Any] = {"embed_dim": 1024, "depth": 24, "num_heads": 16}
_HUGE: dict[str, Any] = {"patch_size": 14, "embed_dim": 1280, "depth": 32, "num_heads": 16}
_GIANT: dict[str, Any] = {
    "patch_size": 14,
    "embed_dim": 1408,
    "depth": 40,
    "num_heads": 16,
    "mlp_ratio": 48 / 11,
}
_GIGANTIC: dict[str, Any] = {
    "patch_size": 14,
    "embed_dim": 1664,
    "depth": 48,
    "num_heads": 16,
    "mlp_ratio": 64 / 13,
}

_vit = ModelFamily(
    __name__,
    VisionTransformer,
    paper="2010.11929",
    weights="https://huggingface.co/timm/{}/resolve/main/model.safetensors",
)
_vit_miil = dataclasses.replace(
    _vit,
    weights="https://github.com/rwightman/pytorch-image-models/releases/download/v0.1-tresnet/{}.pth",
)

# fmt: off
vit_tiny_patch16_224 = _vit("vit_tiny_patch16_224", "ViT-Ti/16 for images of 224 x 224 pixels.",
    **_TINY, patch_size=16, weights="vit_tiny_patch16_224.augreg_in21k_ft_in1k")
vit_tiny_patch16_224_in21k = _vit("vit_tiny_patch16_224_in21k",
    "ViT-Ti/16 for images of 224 x 224 pixels, trained on ImageNet-21k.",
    **_TINY, patch_size=16, num_classes=21843, weights="vit_tiny_patch16_224.augreg_in21k")
vit_tiny_patch16_384 = _vit("vit_tiny_patch16_384", "ViT-Ti/16 for images of 384 x 384 pixels.",
    **_TINY, patch_size=16, img_size=384, weights="vit_tiny_patch16_384.augreg_in21k_ft_in1k")
vit_small_patch16_224 = _vit("vit_small_patch16_224", "ViT-S/16 for images of 224 x 224 pixels.",
    **_SMALL, patch_size=16, weights="vit_small_patch16_224.augreg_in21k_ft_in1k")
vit_small_patch16_224_in21k = _vit("vit_small_patch16_224_in21k",
    "ViT-S/16 for images of 224 x 224 pixels, trained on ImageNet-21k.",
    **_SMALL, patch_size=16, num_classes=21843, weights="vit_small_patch16_224.augreg_in21k")
vit_small_patch16_384 = _vit("vit_small_patch16_384", "ViT-S/16 for images of 384 x 384 pixels.",
    **_SMALL, patch_size=16, img_size=384, weights="vit_small_patch16_384.augreg_in21k_ft_in1k")
vit_small_patch32_224 = _vit("vit_small_patch32_224", "ViT-S/32 for images of 224 x 224 pixels.",
    **_SMALL, patch_size=32, weights="vit_small_patch32_224.augreg_in21k_ft_in1k")
vit_small_patch32_224_in21k = _vit("vit_small_patch32_224_in21k",
    "ViT-S/32 for images of 224 x 224 pixels, trained on ImageNet-21k.",
    **_SMALL, patch_size=32, num_classes=21843, weights="vit_small_patch32_224.augreg_in21k")
vit_small_patch32_384 = _vit("vit_small_patch32_384", "ViT-S/32 for images of 384 x 384 pixels.",
    **_SMALL, patch_size=32, img_size=384, weights="vit_small_patch32_384.augreg_in21k_ft_in1k")
vit_base_patch8_224 = _vit("vit_base_patch8_224", "ViT-B/8 for images of 224 x 224 pixels.",
    **_BASE, patch_size=8, weights="vit_base_patch8_224.augreg2_in21k_ft_in1k")
vit_base_patch8_224_in21k = _vit("vit_base_patch8_224_in21k",
    "ViT-B/8 for images of 224 x 224 pixels, trained on ImageNet-21k.",
    **_BASE, patch_size=8, num_classes=21843, weights="vit_base_patch8_224.augreg_in21k")
vit_base_patch16_224 = _vit("vit_base_patch16_224", "ViT-B/16 for images of 224 x 224 pixels.",
    **_BASE, patch_size=16, weights="vit_base_patch16_224.augreg2_in21k_ft_in1k",
    aliases=("vit_b_16_224",))
vit_base_patch16_224_in21k = _vit("vit_base_patch16_224_in21k",
    "ViT-B/16 for images of 224 x 224 pixels, trained on ImageNet-21k.",
    **_BASE, patch_size=16, num_classes=21843, weights="vit_base_patch16_224.augreg_in21k")
vit_base_patch16_384 = _vit("vit_base_patch16_384", "ViT-B/16 for images of 384 x 384 pixels.",
    **_BASE, patch_size=16, img_size=384, weights="vit_base_patch16_384.augreg_in21k_ft_in1k",
    aliases=("vit_b_16_384",))
vit_base_patch16_224_sam = _vit("vit_base_patch16_224_sam",
    "ViT-B/16 for images of 224 x 224 pixels, trained by sharpness-aware minimisation.",
    **_BASE, patch_size=16, weights="vit_base_patch16_224.sam_in1k")
vit_base_patch16_224_miil = _vit_miil("vit_base_patch16_224_miil",
    "ViT-B/16 for images of 224 x 224 pixels, trained by Alibaba MIIL.",
    **_BASE, patch_size=16, qkv_bias=False, weights="vit_base_patch16_224_1k_miil_84_4-2deb18e3")
vit_base_patch16_224_miil_in21k = _vit_miil("vit_base_patch16_224_miil_in21k",
    "ViT-B/16 for images of 224 x 224 pixels, trained by Alibaba MIIL on ImageNet-21k.",
    **_BASE, patch_size=16, qkv_bias=False, num_classes=11221,
    weights="vit_base_patch16_224_in21k_miil-887286df")
vit_base_patch32_224 = _vit("vit_base_patch32_224", "ViT-B/32 for images of 224 x 224 pixels.",
    **_BASE, patch_size=32, weights="vit_base_patch32_224.augreg_in21k_ft_in1k",
    aliases=("vit_b_32_224",))
vit_base_patch32_224_in21k = _vit("vit_base_patch32_224_in21k",
    "ViT-B/32 for images of 224 x 224 pixels, trained on ImageNet-21k.",
    **_BASE, patch_size=32, num_classes=21843, weights="vit_base_patch32_224.augreg_in21k")
vit_base_patch32_384 = _vit("vit_base_patch32_384", "ViT-B/32 for images of 384 x 384 pixels.",
    **_BASE, patch_size=32, img_size=384, weights="vit_base_patch32_384.augreg_in21k_ft_in1k",
    aliases=("vit_b_32_384",))
vit_base_patch32_224_sam = _vit("vit_base_patch32_224_sam",
    "ViT-B/32 for images of 224 x 224 pixels, trained by sharpness-aware minimisation.",
    **_BASE, patch_size=32, weights="vit_base_patch32_224.sam_in1k")
vit_large_patch16_224 = _vit("vit_large_patch16_224", "ViT-L/16 for images of 224 x 224 pixels.",
    **_LARGE, patch_size=16, weights="vit_large_patch16_224.augreg_in21k_ft_in1k")
vit_large_patch16_224_in21k = _vit("vit_large_patch16_224_in21k",
    "ViT-L/16 for images of 224 x 224 pixels, trained on ImageNet-21k.",
    **_LARGE, patch_size=16, num_classes=21843, weights="vit_large_patch16_224.augreg_in21k")
vit_large_patch16_384 = _vit("vit_large_patch16_384", "ViT-L/16 for images of 384 x 384 pixels.",
    **_LARGE, patch_size=16, img_size=384, weights="vit_large_patch16_384.augreg_in21k_ft_in1k",
    aliases=("vit_l_16_384",))
vit_large_patch32_224 = _vit("vit_large_patch32_224", "ViT-L/32 for images of 224 x 224 pixels.",
    **_LARGE, patch_size=32)
vit_large_patch32_224_in21k = _vit("vit_large_patch32_224_in21k",
    "ViT-L/32 for images of 224 x 224 pixels, trained on ImageNet-21k.",
    **_LARGE, patch_size=32, num_classes=21843, representation_size=1024)
vit_large_patch32_384 = _vit("vit_large_patch32_384", "ViT-L/32 for images of 384 x 384 pixels.",
    **_LARGE, patch_size=32, img_size=384, weights="vit_large_patch32_384.orig_in21k_ft_in1k",
    aliases=("vit_l_32_384",))
vit_huge_patch14_224 = _vit("vit_huge_patch14_224", "ViT-H/14 for images of 384 x 384 pixels.",
    **_HUGE, img_size=384)
vit_huge_patch14_224_in21k = _vit("vit_huge_patch14_224_in21k",
    "ViT-H/14 for images of 224 x 224 pixels, trained on ImageNet-21k.",
    **_HUGE, num_classes=21843, representation_size=1280)
vit_giant_patch14_224 = _vit("vit_giant_patch14_224", "ViT-g/14 for images of 224 x 224 pixels.",
    **_GIANT)
vit_gigantic_patch14_224 = _vit("vit_gigantic_patch14_224",
    "ViT-G/14 for images of 384 x 384 pixels.", **_GIGANTIC, img_size=384)
