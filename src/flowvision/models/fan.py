"""Fully attentional networks (FAN): attention over tokens, and attention over channels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import oneflow as flow
from flowvision.layers.attention.class_attention import ClassAttention as ClassAttn
from flowvision.layers.attention.self_attention import merge_heads, split_heads
from flowvision.layers.attention.sr_attention import SR_Attention
from flowvision.layers.blocks.mlp import Mlp
from flowvision.layers.blocks.patch_embed import check_image_size
from flowvision.layers.regularization.droppath import DropPath
from flowvision.layers.regularization.norm import layer_norm
from flowvision.layers.weight_init import init_transformer_, learned_tokens
from flowvision.models.fan_embed import (
    ConvPatchEmbed,
    HybridEmbed,
    PositionalEncodingFourier,
    conv3x3 as conv3x3,
)
from flowvision.models.fan_hybrid import HybridBackbone
from flowvision.models.image_classifier import ImageClassifier, configure, make_head
from flowvision.models.registry import register_model
from oneflow import Tensor, nn


class DWConv(nn.Module):
    """Two depthwise 3 x 3 convolutions of a grid of tokens.

    Input and output (N, H * W, features).

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import DWConv
        >>> DWConv(8)(flow.rand(1, 6, 8), H=2, W=3).shape
        oneflow.Size([1, 6, 8])
    """

    def __init__(self, features: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(features, features, 3, padding=1, groups=features)
        self.act = nn.GELU()
        self.bn = nn.BatchNorm2d(features)
        self.conv2 = nn.Conv2d(features, features, 3, padding=1, groups=features)

    def forward(self, x: Tensor, H: int, W: int) -> Tensor:
        grid = x.transpose(1, 2).unflatten(2, (H, W))
        grid = self.conv2(self.bn(self.act(self.conv1(grid))))
        return grid.flatten(2).transpose(1, 2)


class LocalMlp(nn.Module):
    """A perceptron whose hidden layer also sees the neighbours of a token.

    Input and output (N, H * W, features).

    Args:
        features: the length of a token.
        hidden_features: of the hidden layer.
        drop: the probability with which a feature is dropped.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import LocalMlp
        >>> LocalMlp(8, 16)(flow.rand(1, 6, 8), H=2, W=3).shape
        oneflow.Size([1, 6, 8])
    """

    def __init__(self, features: int, hidden_features: int, drop: float = 0.0) -> None:
        super().__init__()
        self.fc1 = nn.Linear(features, hidden_features)
        self.dwconv = DWConv(hidden_features)
        self.gamma = nn.Parameter(flow.ones(hidden_features))
        self.fc2 = nn.Linear(hidden_features, features)
        self.drop = nn.Dropout(drop)

    def forward(self, x: Tensor, H: int, W: int) -> Tensor:
        x = self.fc1(x)
        x = x + self.drop(self.gamma * self.dwconv(x, H, W))
        return self.drop(self.fc2(x))


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
        self.mlp_v = LocalMlp(dim, mlp_hidden_dim or dim, drop)
        self.norm_v = nn.LayerNorm(dim)
        self.q = nn.Linear(dim, dim, bias=qkv_bias)
        self.attn_drop = nn.Dropout(attn_drop)

    def forward(self, x: Tensor, H: int, W: int) -> Tensor:
        query, key = (split_heads(each, self.num_heads).softmax(-2) for each in (self.q(x), x))
        gate = (query.transpose(-1, -2) @ key.mean(-1, keepdim=True)).sigmoid()
        gate = self.attn_drop(gate * self.temperature)
        values = split_heads(self.norm_v(self.mlp_v(x, H, W)), self.num_heads)
        return merge_heads(values * gate.transpose(-1, -2))


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
        self.attn = SR_Attention(dim, num_heads, qkv_bias, attn_drop, drop)
        self.drop_path = DropPath(drop_path)
        self.norm2 = norm_layer(dim)
        self.mlp = ChannelProcessing(
            dim, num_heads, qkv_bias, attn_drop, int(dim * mlp_ratio), drop
        )
        self.gamma1 = nn.Parameter(flow.full((dim,), eta))
        self.gamma2 = nn.Parameter(flow.full((dim,), eta))

    def forward(self, x: Tensor, H: int, W: int) -> Tensor:
        x = x + self.drop_path(self.gamma1 * self.attn(self.norm1(x), H, W))
        return x + self.drop_path(self.gamma2 * self.mlp(self.norm2(x), H, W))


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
        self.mlp = Mlp(dim, int(dim * mlp_ratio), drop=drop)
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
        cls_attn_layers: int = 2,
        eta: float = 1.0,
    ) -> None:
        super().__init__()
        self.img_size = img_size
        self.num_features = embed_dim
        if hybrid_depths is None:
            self.patch_embed: nn.Module = ConvPatchEmbed(in_chans, embed_dim)
        else:
            backbone = HybridBackbone(hybrid_depths, (128, 256), in_chans)
            self.patch_embed = HybridEmbed(backbone, 256, 2, embed_dim)
        self.cls_token = learned_tokens(1, embed_dim)
        self.pos_embed = PositionalEncodingFourier(dim=embed_dim)
        self.pos_drop = nn.Dropout(drop_rate)
        options: dict[str, Any] = {"mlp_ratio": mlp_ratio, "qkv_bias": qkv_bias, "drop": drop_rate}
        options |= {"attn_drop": attn_drop_rate, "norm_layer": norm_layer, "eta": eta}
        self.blocks = nn.ModuleList(
            FANBlock(embed_dim, num_heads, drop_path=drop_path_rate, **options)
            for _ in range(depth)
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


_PAPER = "2204.12451"
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


@register_model(paper=_PAPER)
def fan_tiny_12_p16_224(**kwargs: Any) -> FAN:
    """FAN-T-ViT."""
    return configure(FAN, kwargs, embed_dim=192, depth=12, num_heads=4)


@register_model(paper=_PAPER)
def fan_small_12_p16_224(**kwargs: Any) -> FAN:
    """FAN-S-ViT."""
    return configure(FAN, kwargs, embed_dim=384, depth=12, num_heads=8)


@register_model(paper=_PAPER)
def fan_base_18_p16_224(**kwargs: Any) -> FAN:
    """FAN-B-ViT."""
    return configure(FAN, kwargs, embed_dim=448, depth=18, num_heads=8)


@register_model(paper=_PAPER)
def fan_large_24_p16_224(**kwargs: Any) -> FAN:
    """FAN-L-ViT."""
    return configure(FAN, kwargs, embed_dim=480, depth=24, num_heads=10)


@register_model(paper=_PAPER)
def fan_tiny_8_p4_hybrid(**kwargs: Any) -> FAN:
    """FAN-T-Hybrid."""
    return configure(FAN, kwargs, embed_dim=192, depth=8, num_heads=8, hybrid_depths=(3, 3))


@register_model(paper=_PAPER)
def fan_small_12_p4_hybrid(**kwargs: Any) -> FAN:
    """FAN-S-Hybrid."""
    return configure(FAN, kwargs, embed_dim=384, depth=10, num_heads=8, hybrid_depths=(3, 3))


@register_model(paper=_PAPER)
def fan_base_16_p4_hybrid(**kwargs: Any) -> FAN:
    """FAN-B-Hybrid."""
    return configure(FAN, kwargs, _BASE_HYBRID)


@register_model(paper=_PAPER)
def fan_base_16_p4_hybrid_in22k_1k(**kwargs: Any) -> FAN:
    """FAN-B-Hybrid, pretrained on ImageNet-22k."""
    return configure(FAN, kwargs, _BASE_HYBRID)


@register_model(paper=_PAPER, image_size=384)
def fan_base_16_p4_hybrid_in22k_1k_384(**kwargs: Any) -> FAN:
    """FAN-B-Hybrid for images of 384 x 384 pixels, pretrained on ImageNet-22k."""
    return configure(FAN, kwargs, _BASE_HYBRID, img_size=384)


@register_model(paper=_PAPER)
def fan_large_16_p4_hybrid(**kwargs: Any) -> FAN:
    """FAN-L-Hybrid."""
    return configure(FAN, kwargs, _LARGE_HYBRID)


@register_model(paper=_PAPER)
def fan_large_16_p4_hybrid_in22k_1k(**kwargs: Any) -> FAN:
    """FAN-L-Hybrid, pretrained on ImageNet-22k."""
    return configure(FAN, kwargs, _LARGE_HYBRID)


@register_model(paper=_PAPER, image_size=384)
def fan_large_16_p4_hybrid_in22k_1k_384(**kwargs: Any) -> FAN:
    """FAN-L-Hybrid for images of 384 x 384 pixels, pretrained on ImageNet-22k."""
    return configure(FAN, kwargs, _LARGE_HYBRID, img_size=384)
