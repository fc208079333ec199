"""Fully attentional networks (FAN): attention over tokens, and attention over channels."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import oneflow as flow
from flowvision.layers.attention.class_attention import ClassAttention as ClassAttn
from flowvision.layers.attention.se import SqueezeExcite as SqueezeExcite, sigmoid as sigmoid
from flowvision.layers.blocks.mlp import ConvMlp as ConvMlp
from flowvision.layers.blocks.patch_embed import check_image_size
from flowvision.layers.regularization.droppath import DropPath
from flowvision.layers.regularization.norm import LayerNorm2d as LayerNorm2d, layer_norm
from flowvision.layers.weight_init import (
    init_transformer_,
    learned_tokens,
    trunc_normal_ as trunc_normal_,
)
from flowvision.models.fan_attention import (
    ChannelProcessing as ChannelProcessing,
    TokenMixing as TokenMixing,
)
from flowvision.models.fan_embed import (
    ConvPatchEmbed as ConvPatchEmbed,
    HybridEmbed as HybridEmbed,
    OverlapPatchEmbed as OverlapPatchEmbed,
    PositionalEncodingFourier as PositionalEncodingFourier,
    conv3x3 as conv3x3,
)
from flowvision.models.fan_hybrid import (
    ClassifierHead as ClassifierHead,
    HybridBackbone as HybridBackbone,
    HybridBlock,
    HybridStage,
)
from flowvision.models.fan_mlp import (
    DWConv as DWConv,
    LocalMlp as LocalMlp,
    MlpOri as MlpOri,
    SEMlp as SEMlp,
)
from flowvision.models.image_classifier import ImageClassifier, make_head
from flowvision.models.registry import ModelFamily
from oneflow import Tensor, nn

# Upstream's names.
Mlp = LocalMlp
ConvNeXt, ConvNeXtBlock, ConvNeXtStage = HybridBackbone, HybridBlock, HybridStage


class FANBlock(nn.Module):
    """Attention over tokens and attention over channels, each a residual branch with a factor.

    Input and output (N, H * W, dim).

    Args:
        dim: the length of a token.
        num_heads: the number of heads of both.
        mlp_ratio: the hidden features of the perceptron, as a multiple of `dim`.
        qkv_bias: whether queries, keys and values have biases.
        drop: the probability with which a feature is dropped.
        attn_drop: the probability with which a weight of attention is dropped.
        drop_path: the probability with which a branch is left out.
        norm_layer: makes a normalisation from `dim`.
        eta: what the learned factors begin with.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import FANBlock
        >>> FANBlock(8, num_heads=2)(flow.rand(1, 6, 8), H=2, W=3).shape
        oneflow.Size([1, 6, 8])
    """

    def __init__(
        self,
        dim: int,
        num_heads: int,
        mlp_ratio: float = 4.0,
        qkv_bias: bool = False,
        drop: float = 0.0,
        attn_drop: float = 0.0,
        drop_path: float = 0.0,
        norm_layer: Callable[[int], nn.Module] = layer_norm,
        eta: float = 1.0,
    ) -> None:
        super().__init__()
        self.norm1 = norm_layer(dim)
        self.attn = TokenMixing(dim, num_heads, qkv_bias, None, attn_drop, drop)
        self.drop_path = DropPath(drop_path)
        self.norm2 = norm_layer(dim)
        self.mlp: nn.Module = ChannelProcessing(
            dim, num_heads, qkv_bias, attn_drop, int(dim * mlp_ratio), drop
        )
        self.gamma1 = nn.Parameter(flow.full((dim,), eta))
        self.gamma2 = nn.Parameter(flow.full((dim,), eta))

    def forward(self, x: Tensor, H: int, W: int) -> Tensor:
        x = x + self.drop_path(self.gamma1 * self.attn(self.norm1(x), H, W))
        return x + self.drop_path(self.gamma2 * self.mlp(self.norm2(x), H, W))


class FANBlock_SE(FANBlock):
    """A `FANBlock` with a perceptron whose channels are weighed, instead of their attention.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import FANBlock_SE
        >>> FANBlock_SE(8, num_heads=2, use_se=True)(flow.rand(1, 6, 8), H=2, W=3).shape
        oneflow.Size([1, 6, 8])
    """

    def __init__(
        self,
        dim: int,
        num_heads: int,
        mlp_ratio: float = 4.0,
        qkv_bias: bool = False,
        drop: float = 0.0,
        *,
        use_se: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(dim, num_heads, mlp_ratio, qkv_bias, drop, **options)
        self.mlp = SEMlp(dim, int(dim * mlp_ratio), drop=drop, use_se=use_se)


class ClassAttentionBlock(nn.Module):
    """A block in which the class token reads, and the other tokens are only normalised.

    Source: https://arxiv.org/abs/2106.09681. Input and output (N, 1 + tokens, dim).

    Args:
        dim: the length of a token.
        num_heads: the number of heads.
        mlp_ratio: the hidden features of the perceptron, as a multiple of `dim`.
        qkv_bias: whether queries, keys and values have biases.
        drop: the probability with which a feature is dropped.
        attn_drop: the probability with which a weight of attention is dropped.
        norm_layer: makes a normalisation from `dim`.
        eta: what the learned factors begin with.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import ClassAttentionBlock
        >>> ClassAttentionBlock(8, num_heads=2)(flow.rand(1, 1 + 6, 8)).shape
        oneflow.Size([1, 7, 8])
    """

    def __init__(
        self,
        dim: int,
        num_heads: int,
        mlp_ratio: float = 4.0,
        qkv_bias: bool = False,
        drop: float = 0.0,
        attn_drop: float = 0.0,
        norm_layer: Callable[[int], nn.Module] = layer_norm,
        eta: float = 1.0,
    ) -> None:
        super().__init__()
        self.norm1 = norm_layer(dim)
        self.attn = ClassAttn(dim, num_heads, qkv_bias, attn_drop, drop)
        self.norm2 = norm_layer(dim)
        self.mlp = MlpOri(dim, int(dim * mlp_ratio), drop=drop)
        self.gamma1 = nn.Parameter(flow.full((dim,), eta))
        self.gamma2 = nn.Parameter(flow.full((dim,), eta))

    def forward(self, x: Tensor) -> Tensor:
        normalized = self.norm1(x)
        out = flow.cat([self.attn(normalized), normalized[:, 1:]], dim=1)
        x = self.norm2(x + self.gamma1 * out)
        read = self.gamma2 * self.mlp(x[:, :1])
        return x + flow.cat([read, x[:, 1:]], dim=1)


class FAN(ImageClassifier):
    """Fully attentional network (https://arxiv.org/abs/2204.12451).

    Input (N, in_chans, img_size, img_size); output (N, num_classes).

    Args:
        img_size: height and width of the images, a multiple of 16.
        in_chans: the number of channels of the images.
        num_classes: the number of classes; 0 gives features.
        embed_dim: the length of a token.
        depth: the number of blocks.
        num_heads: the number of heads.
        mlp_ratio: the hidden features of a perceptron, as a multiple of `embed_dim`.
        qkv_bias: whether queries, keys and values have biases.
        drop_rate: the probability with which a feature is dropped.
        attn_drop_rate: the probability with which a weight of attention is dropped.
        drop_path_rate: the probability with which a branch is left out, in each block.
        hybrid_depths: the blocks of two stages of ConvNeXt that take the place of the first
            convolutions; by default there are none.
        norm_layer: makes a normalisation from `embed_dim`.
        se_mlp: whether blocks are of the class `FANBlock_SE`.
        cls_attn_layers: the number of blocks with the class token.
        eta: what the learned factors begin with.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models.fan import FAN
        >>> model = FAN(64, num_classes=5, embed_dim=16, depth=1, num_heads=2)
        >>> model(flow.randn(2, 3, 64, 64)).shape
        oneflow.Size([2, 5])
    """

    def __init__(
        self,
        img_size: int = 224,
        in_chans: int = 3,
        num_classes: int = 1000,
        embed_dim: int = 768,
        depth: int = 12,
        num_heads: int = 12,
        mlp_ratio: float = 4.0,
        qkv_bias: bool = True,
        drop_rate: float = 0.0,
        attn_drop_rate: float = 0.0,
        drop_path_rate: float = 0.0,
        hybrid_depths: tuple[int, int] | None = None,
        norm_layer: Callable[[int], nn.Module] = layer_norm,
        se_mlp: bool = False,
        cls_attn_layers: int = 2,
        eta: float = 1.0,
    ) -> None:
        super().__init__()
        self.img_size = img_size
        self.num_features = embed_dim
        if hybrid_depths is None:
            self.patch_embed: nn.Module = ConvPatchEmbed(in_chans, embed_dim)
        else:
            backbone = HybridBackbone(
                in_chans, depths=hybrid_depths, dims=(128, 256), use_head=False
            )
            self.patch_embed = HybridEmbed(backbone, 256, 2, embed_dim)
        self.cls_token = learned_tokens(1, embed_dim)
        self.pos_embed = PositionalEncodingFourier(dim=embed_dim)
        self.pos_drop = nn.Dropout(drop_rate)
        options: dict[str, Any] = {"mlp_ratio": mlp_ratio, "qkv_bias": qkv_bias, "drop": drop_rate}
        options |= {"attn_drop": attn_drop_rate, "norm_layer": norm_layer, "eta": eta}
        block = FANBlock_SE if se_mlp else FANBlock
        self.blocks = nn.ModuleList(
            block(embed_dim, num_heads, drop_path=drop_path_rate, **options) for _ in range(depth)
        )
        self.cls_attn_blocks = nn.Sequential(
            *[ClassAttentionBlock(embed_dim, num_heads, **options) for _ in range(cls_attn_layers)]
        )
        self.norm = norm_layer(embed_dim)
        self.head = make_head(embed_dim, num_classes)
        init_transformer_(self)

    def forward_features(self, x: Tensor) -> Tensor:
        check_image_size(x, (self.img_size, self.img_size))
        x = self.patch_embed(x)
        height, width = x.shape[2:]
        x = self.pos_drop(x.flatten(2).transpose(1, 2) + self.pos_embed(height, width))
        for block in self.blocks:
            x = block(x, height, width)
        x = flow.cat([self.cls_token.expand(x.shape[0], -1, -1), x], dim=1)
        return self.norm(self.cls_attn_blocks(x))[:, 0]


def checkpoint_filter_fn(state_dict: Mapping[str, Any], model: nn.Module) -> dict[str, Tensor]:
    """Return the state dict of a published file under the names of a `FAN`.

    Class attention may have queries, keys and values in one map, positions an older name, and the
    whole may be below "model".

    Args:
        state_dict: what is in the file.
        model: the model to load it into.

    Example:
        >>> from flowvision.models import FAN, checkpoint_filter_fn
        >>> model = FAN(32, num_classes=5, embed_dim=16, depth=1, num_heads=2)
        >>> file = {"model": {"pos_embeder.token_projection.bias": model.cls_token}}
        >>> list(checkpoint_filter_fn(file, model))
        ['pos_embed.token_projection.bias']
    """
    state = model.state_dict()
    filtered: dict[str, Tensor] = {}
    for key, value in state_dict.get("model", state_dict).items():
        name = key.replace("pos_embeder.", "pos_embed.")
        if ".attn.qkv." in name and name not in state:
            for part, rows in zip("qkv", value.chunk(3), strict=True):
                filtered[name.replace(".qkv.", f".{part}.")] = rows
        elif name in state or not name.startswith("pos_embed."):
            filtered[name] = value
    return filtered


_BASE_HYBRID: dict[str, Any] = {
    "embed_dim": 448,
    "depth": 16,
    "num_heads": 8,
    "hybrid_depths": (3, 3),
}
_LARGE_HYBRID: dict[str, Any] = {
    "embed_dim": 480,
    "depth": 22,
    "num_heads": 10,
    "hybrid_depths": (3, 5),
}

_fan = ModelFamily(__name__, FAN, paper="2204.12451")

# fmt: off
fan_tiny_12_p16_224 = _fan("fan_tiny_12_p16_224", "FAN-T-ViT.",
    embed_dim=192, depth=12, num_heads=4)
fan_small_12_p16_224 = _fan("fan_small_12_p16_224", "FAN-S-ViT.",
    embed_dim=384, depth=12, num_heads=8)
fan_base_18_p16_224 = _fan("fan_base_18_p16_224", "FAN-B-ViT.",
    embed_dim=448, depth=18, num_heads=8)
fan_large_24_p16_224 = _fan("fan_large_24_p16_224", "FAN-L-ViT.",
    embed_dim=480, depth=24, num_heads=10)
fan_tiny_8_p4_hybrid = _fan("fan_tiny_8_p4_hybrid", "FAN-T-Hybrid.",
    embed_dim=192, depth=8, num_heads=8, hybrid_depths=(3, 3))
fan_small_12_p4_hybrid = _fan("fan_small_12_p4_hybrid", "FAN-S-Hybrid.",
    embed_dim=384, depth=10, num_heads=8, hybrid_depths=(3, 3))
fan_base_16_p4_hybrid = _fan("fan_base_16_p4_hybrid", "FAN-B-Hybrid.", **_BASE_HYBRID)
fan_base_16_p4_hybrid_in22k_1k = _fan("fan_base_16_p4_hybrid_in22k_1k",
    "FAN-B-Hybrid, pretrained on ImageNet-22k.", **_BASE_HYBRID)
fan_base_16_p4_hybrid_in22k_1k_384 = _fan("fan_base_16_p4_hybrid_in22k_1k_384",
    "FAN-B-Hybrid for images of 384 x 384 pixels, pretrained on ImageNet-22k.",
    **_BASE_HYBRID, img_size=384)
fan_large_16_p4_hybrid = _fan("fan_large_16_p4_hybrid", "FAN-L-Hybrid.", **_LARGE_HYBRID)
fan_large_16_p4_hybrid_in22k_1k = _fan("fan_large_16_p4_hybrid_in22k_1k",
    "FAN-L-Hybrid, pretrained on ImageNet-22k.", **_LARGE_HYBRID)
fan_large_16_p4_hybrid_in22k_1k_384 = _fan("fan_large_16_p4_hybrid_in22k_1k_384",
    "FAN-L-Hybrid for images of 384 x 384 pixels, pretrained on ImageNet-22k.",
    **_LARGE_HYBRID, img_size=384)
