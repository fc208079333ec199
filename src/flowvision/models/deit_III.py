"""DeiT III: Vision Transformers with layer scale, trained by a recipe for supervision alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import oneflow as flow
from flowvision.layers.attention.self_attention import SelfAttention
from flowvision.layers.blocks.patch_embed import PatchEmbed, check_image_size, to_2tuple
from flowvision.layers.blocks.transformer import TransformerBlock
from flowvision.layers.regularization.norm import layer_norm
from flowvision.layers.weight_init import init_transformer_, learned_tokens
from flowvision.models.image_classifier import ImageClassifier, make_head
from flowvision.models.registry import ModelFamily
from oneflow import Tensor, nn


class Attention(SelfAttention):
    """Attention of tokens to one another, with a choice of the scores' factor.

    Input and output (N, tokens, dim).

    Args:
        dim: the length of a token, a multiple of `num_heads`.
        num_heads: the number of heads.
        qkv_bias: whether queries, keys and values have biases.
        qk_scale: the factor of the scores; by default ``1 / sqrt(dim / num_heads)``.
        attn_drop: the probability with which a weight of attention is dropped.
        proj_drop: the probability with which a feature of the output is dropped.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import Attention
        >>> Attention(8, num_heads=2, qk_scale=0.5)(flow.rand(1, 6, 8)).shape
        oneflow.Size([1, 6, 8])
    """

    def __init__(
        self,
        dim: int,
        num_heads: int = 8,
        qkv_bias: bool = False,
        qk_scale: float | None = None,
        attn_drop: float = 0.0,
        proj_drop: float = 0.0,
    ) -> None:
        super().__init__(dim, num_heads, qkv_bias, attn_drop, proj_drop)
        self.scale = qk_scale


class Block(TransformerBlock):
    """Attention and a perceptron, each a residual branch that begins with a normalisation.

    Input and output (N, tokens, dim).

    Args:
        dim: the length of a token.
        num_heads: the number of heads.
        mlp_ratio: the hidden features of the perceptron, as a multiple of `dim`.
        qkv_bias: whether queries, keys and values have biases.
        qk_scale: see `Attention`.
        drop: the probability with which a feature is dropped.
        attn_drop: the probability with which a weight of attention is dropped.
        drop_path: the probability with which a branch is left out.
        act_layer: makes the activation of the perceptron.
        norm_layer: makes a normalisation from `dim`.
        Attention_block: makes what mixes tokens; see `Attention`.
        init_values: what the learned factors of the branches begin with; None for none.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import Block
        >>> Block(8, num_heads=2)(flow.rand(1, 6, 8)).shape
        oneflow.Size([1, 6, 8])
    """

    def __init__(
        self,
        dim: int,
        num_heads: int,
        mlp_ratio: float = 4.0,
        qkv_bias: bool = False,
        qk_scale: float | None = None,
        drop: float = 0.0,
        attn_drop: float = 0.0,
        drop_path: float = 0.0,
        act_layer: Callable[[], nn.Module] = nn.GELU,
        norm_layer: Callable[[int], nn.Module] = nn.LayerNorm,
        Attention_block: Callable[..., nn.Module] = Attention,
        init_values: float | None = None,
    ) -> None:
        super().__init__(
            dim,
            Attention_block(dim, num_heads, qkv_bias, qk_scale, attn_drop, drop),
            mlp_ratio=mlp_ratio,
            drop=drop,
            drop_path=drop_path,
            norm_layer=norm_layer,
            act_layer=act_layer,
            layer_scale=init_values,
        )


class Layer_scale_init_Block(Block):
    """A `Block` whose branches have learned factors (https://arxiv.org/abs/2103.17239).

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import Layer_scale_init_Block
        >>> Layer_scale_init_Block(8, num_heads=2)(flow.rand(1, 6, 8)).shape
        oneflow.Size([1, 6, 8])
    """

    def __init__(self, *args: Any, init_values: float = 1e-4, **options: Any) -> None:
        super().__init__(*args, init_values=init_values, **options)


class Block_paralx2(Block):
    """A block of two attentions side by side, then two perceptrons side by side.

    Source: https://arxiv.org/abs/2203.09795. Input and output (N, tokens, dim); arguments as for
    `Block`.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models.deit_III import Block_paralx2
        >>> Block_paralx2(dim=12, num_heads=3)(flow.randn(2, 5, 12)).shape
        oneflow.Size([2, 5, 12])
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        second = Block(*args, **options)
        assert second.attn is not None
        self.norm11, self.attn1 = second.norm1, second.attn
        self.norm21, self.mlp1 = second.norm2, second.mlp
        self.gamma_1_1, self.gamma_2_1 = second.gamma_1, second.gamma_2

    def forward(self, x: Tensor) -> Tensor:
        first = self.add(x, self.attend(x), self.gamma_1)
        x = self.add(first, self.attn1(self.norm11(x)), self.gamma_1_1)
        first = self.add(x, self.mlp(self.norm2(x)), self.gamma_2)
        return self.add(first, self.mlp1(self.norm21(x)), self.gamma_2_1)


class Layer_scale_init_Block_paralx2(Block_paralx2):
    """A `Block_paralx2` whose branches have learned factors.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import Layer_scale_init_Block_paralx2
        >>> Layer_scale_init_Block_paralx2(8, num_heads=2)(flow.rand(1, 6, 8)).shape
        oneflow.Size([1, 6, 8])
    """

    def __init__(self, *args: Any, init_values: float = 1e-4, **options: Any) -> None:
        super().__init__(*args, init_values=init_values, **options)


class hMLP_stem(nn.Module):
    """Patches of 16 x 16 pixels by convolutions whose windows do not overlap.

    Source: https://arxiv.org/abs/2203.09795. Input (N, in_chans, img_size, img_size), output
    (N, patches, embed_dim).

    Args:
        img_size: height and width of the images, or both at once.
        patch_size: height and width of a patch: 16.
        in_chans: the number of channels of the images.
        embed_dim: the length of a token, a multiple of 4.
        norm_layer: makes a normalisation from the number of channels.

    Raises:
        ValueError: if patches have another size.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models.deit_III import hMLP_stem
        >>> hMLP_stem(32, embed_dim=12)(flow.randn(2, 3, 32, 32)).shape
        oneflow.Size([2, 4, 12])
    """

    def __init__(
        self,
        img_size: int | tuple[int, int] = 224,
        patch_size: int | tuple[int, int] = 16,
        in_chans: int = 3,
        embed_dim: int = 768,
        norm_layer: Callable[[int], nn.Module] = nn.BatchNorm2d,
    ) -> None:
        super().__init__()
        self.img_size = to_2tuple(img_size)
        self.patch_size = to_2tuple(patch_size)
        if self.patch_size != (16, 16):
            raise ValueError(f"`patch_size` must be 16, got {patch_size}")
        self.num_patches = (self.img_size[0] // 16) * (self.img_size[1] // 16)
        layers: list[nn.Module] = []
        channels = in_chans
        for width, stride in ((embed_dim // 4, 4), (embed_dim // 4, 2), (embed_dim, 2)):
            layers += [nn.Conv2d(channels, width, stride, stride=stride), norm_layer(width)]
            layers.append(nn.GELU())
            channels = width
        self.proj = nn.Sequential(*layers[:-1])

    def forward(self, x: Tensor) -> Tensor:
        check_image_size(x, self.img_size)
        return self.proj(x).flatten(2).transpose(1, 2)


class DeiT3(ImageClassifier):
    """DeiT III (https://arxiv.org/abs/2204.07118).

    A Vision Transformer whose branches have learned factors, and whose class token has no position.

    Input (N, in_chans, img_size, img_size); output (N, num_classes).

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
        qk_scale: see `Attention`.
        drop_rate: the probability with which a feature is dropped.
        attn_drop_rate: the probability with which a weight of attention is dropped.
        drop_path_rate: the probability with which a branch is left out, in each block.
        norm_layer: makes a normalisation from `embed_dim`.
        block_layers: makes a block; see `Block`.
        Patch_layer: makes the embedding; see `PatchEmbed`.
        act_layer: makes the activation of a perceptron.
        init_scale: what the learned factors of the branches begin with.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models.deit_III import DeiT3
        >>> model = DeiT3(32, 8, num_classes=5, embed_dim=12, depth=1, num_heads=3)
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
        qk_scale: float | None = None,
        drop_rate: float = 0.0,
        attn_drop_rate: float = 0.0,
        drop_path_rate: float = 0.0,
        norm_layer: Callable[[int], nn.Module] = layer_norm,
        block_layers: Callable[..., nn.Module] = Layer_scale_init_Block,
        Patch_layer: Callable[..., Any] = PatchEmbed,
        act_layer: Callable[[], nn.Module] = nn.GELU,
        init_scale: float = 1e-4,
    ) -> None:
        super().__init__()
        self.num_features = embed_dim
        self.patch_embed = Patch_layer(img_size, patch_size, in_chans, embed_dim)
        self.cls_token = learned_tokens(1, embed_dim)
        self.pos_embed = learned_tokens(self.patch_embed.num_patches, embed_dim)
        self.pos_drop = nn.Dropout(drop_rate)
        self.blocks = nn.Sequential(
            *[
                block_layers(
                    embed_dim,
                    num_heads,
                    mlp_ratio,
                    qkv_bias,
                    qk_scale,
                    drop=drop_rate,
                    attn_drop=attn_drop_rate,
                    drop_path=drop_path_rate,
                    act_layer=act_layer,
                    norm_layer=norm_layer,
                    init_values=init_scale,
                )
                for _ in range(depth)
            ]
        )
        self.norm = norm_layer(embed_dim)
        self.head = make_head(embed_dim, num_classes)
        init_transformer_(self)

    def forward_features(self, x: Tensor) -> Tensor:
        x = self.pos_drop(self.patch_embed(x) + self.pos_embed)
        x = flow.cat([self.cls_token.expand(x.shape[0], -1, -1), x], dim=1)
        return self.norm(self.blocks(x)[:, 0])


vit_models = DeiT3  # upstream's name
_SMALL: dict[str, Any] = {"embed_dim": 384, "depth": 12, "num_heads": 6}
_BASE: dict[str, Any] = {"embed_dim": 768, "depth": 12, "num_heads": 12}
_LARGE: dict[str, Any] = {"embed_dim": 1024, "depth": 24, "num_heads": 16}
_HUGE: dict[str, Any] = {"patch_size": 14, "embed_dim": 1280, "depth": 32, "num_heads": 16}

_deit3 = ModelFamily(__name__, DeiT3, paper="2204.07118")

# fmt: off
deit_small_patch16_LS_224 = _deit3("deit_small_patch16_LS_224",
    "DeiT III-S for images of 224 x 224 pixels.", **_SMALL)
deit_small_patch16_LS_224_in21k = _deit3("deit_small_patch16_LS_224_in21k",
    "DeiT III-S for images of 224 x 224 pixels, pretrained on ImageNet-21k.", **_SMALL)
deit_small_patch16_LS_384 = _deit3("deit_small_patch16_LS_384",
    "DeiT III-S for images of 384 x 384 pixels.", **_SMALL, img_size=384)
deit_small_patch16_LS_384_in21k = _deit3("deit_small_patch16_LS_384_in21k",
    "DeiT III-S for images of 384 x 384 pixels, pretrained on ImageNet-21k.",
    **_SMALL, img_size=384)
deit_base_patch16_LS_224 = _deit3("deit_base_patch16_LS_224",
    "DeiT III-B for images of 224 x 224 pixels.", **_BASE)
deit_base_patch16_LS_224_in21k = _deit3("deit_base_patch16_LS_224_in21k",
    "DeiT III-B for images of 224 x 224 pixels, pretrained on ImageNet-21k.", **_BASE)
deit_base_patch16_LS_384 = _deit3("deit_base_patch16_LS_384",
    "DeiT III-B for images of 384 x 384 pixels.", **_BASE, img_size=384)
deit_base_patch16_LS_384_in21k = _deit3("deit_base_patch16_LS_384_in21k",
    "DeiT III-B for images of 384 x 384 pixels, pretrained on ImageNet-21k.", **_BASE, img_size=384)
deit_large_patch16_LS_224 = _deit3("deit_large_patch16_LS_224",
    "DeiT III-L for images of 224 x 224 pixels.", **_LARGE)
deit_large_patch16_LS_224_in21k = _deit3("deit_large_patch16_LS_224_in21k",
    "DeiT III-L for images of 224 x 224 pixels, pretrained on ImageNet-21k.", **_LARGE)
deit_large_patch16_LS_384 = _deit3("deit_large_patch16_LS_384",
    "DeiT III-L for images of 384 x 384 pixels.", **_LARGE, img_size=384)
deit_large_patch16_LS_384_in21k = _deit3("deit_large_patch16_LS_384_in21k",
    "DeiT III-L for images of 384 x 384 pixels, pretrained on ImageNet-21k.",
    **_LARGE, img_size=384)
deit_huge_patch14_LS_224 = _deit3("deit_huge_patch14_LS_224",
    "DeiT III-H for images of 224 x 224 pixels.", **_HUGE)
deit_huge_patch14_LS_224_in21k = _deit3("deit_huge_patch14_LS_224_in21k",
    "DeiT III-H for images of 224 x 224 pixels, pretrained on ImageNet-21k.", **_HUGE)
