"""CaiT: deep Vision Transformers; the class token comes late and only reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import oneflow as flow
from flowvision.layers.attention.class_attention import ClassAttention
from flowvision.layers.attention.self_attention import SelfAttention
from flowvision.layers.blocks.patch_embed import PatchEmbed
from flowvision.layers.blocks.transformer import TransformerBlock
from flowvision.layers.regularization.norm import layer_norm
from flowvision.layers.weight_init import init_transformer_, learned_tokens
from flowvision.models.image_classifier import ImageClassifier, make_head
from flowvision.models.registry import ModelFamily
from oneflow import Tensor, nn


class TalkingHeadAttention(SelfAttention):
    """Attention whose heads are mixed before and after the softmax.

    Source: https://arxiv.org/abs/2003.02436. Input, output and arguments as of `SelfAttention`.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import TalkingHeadAttention
        >>> TalkingHeadAttention(8, num_heads=2)(flow.rand(1, 6, 8)).shape
        oneflow.Size([1, 6, 8])
    """

    def __init__(
        self,
        dim: int,
        num_heads: int = 8,
        qkv_bias: bool = False,
        attn_drop: float = 0.0,
        proj_drop: float = 0.0,
    ) -> None:
        super().__init__(dim, num_heads, qkv_bias, attn_drop, proj_drop)
        self.proj_l = nn.Linear(num_heads, num_heads)
        self.proj_w = nn.Linear(num_heads, num_heads)

    def attend(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> Tensor:
        scores = query * query.shape[-1] ** -0.5 @ key.transpose(-2, -1)
        scores = _mix_heads(self.proj_l, scores)
        weights = _mix_heads(self.proj_w, (scores if mask is None else scores + mask).softmax(-1))
        return nn.functional.dropout(weights, self.attn_drop, self.training) @ value


def _mix_heads(linear: nn.Module, x: Tensor) -> Tensor:
    return linear(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class ClassAttentionLayer(TransformerBlock):
    """A transformer block that only the class token, the first, passes.

    Input (N, 1 + tokens, dim), output (N, 1, dim).

    Example:
        >>> import oneflow as flow
        >>> from flowvision.layers.attention.class_attention import ClassAttention
        >>> from flowvision.models import ClassAttentionLayer
        >>> layer = ClassAttentionLayer(8, ClassAttention(8, 2))
        >>> layer(flow.rand(1, 1 + 6, 8)).shape
        oneflow.Size([1, 1, 8])
    """

    def forward(self, x: Tensor) -> Tensor:
        cls_token = self.add(x[:, :1], self.attend(x), self.gamma_1)
        return self.add(cls_token, self.mlp(self.norm2(cls_token)), self.gamma_2)


class CaiT(ImageClassifier):
    """Class-attention in image Transformers (https://arxiv.org/abs/2103.17239).

    Input (N, in_chans, img_size, img_size); output (N, num_classes).

    Args:
        img_size: height and width of the images.
        patch_size: height and width of a patch.
        in_chans: the number of channels of the images.
        num_classes: the number of classes; 0 gives features.
        embed_dim: the length of a token.
        depth: the number of blocks without the class token.
        num_heads: the number of heads.
        mlp_ratio: the hidden features of a perceptron, as a multiple of `embed_dim`.
        qkv_bias: whether queries, keys and values have biases.
        drop_rate: the probability with which a feature is dropped.
        attn_drop_rate: the probability with which a weight of attention is dropped.
        drop_path_rate: the probability with which a branch is left out, in each block.
        norm_layer: makes a normalisation from `embed_dim`.
        act_layer: makes the activation of a perceptron.
        init_scale: what the learned factors of the branches begin with.
        depth_token_only: the number of blocks with the class token.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models.cait import CaiT
        >>> model = CaiT(32, 8, num_classes=5, embed_dim=12, depth=1, num_heads=3)
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
        drop_rate: float = 0.0,
        attn_drop_rate: float = 0.0,
        drop_path_rate: float = 0.0,
        norm_layer: Callable[[int], nn.Module] = layer_norm,
        act_layer: Callable[[], nn.Module] = nn.GELU,
        init_scale: float = 1e-4,
        depth_token_only: int = 2,
    ) -> None:
        super().__init__()
        self.num_features = embed_dim
        self.patch_embed = PatchEmbed(img_size, patch_size, in_chans, embed_dim)
        self.cls_token = learned_tokens(1, embed_dim)
        self.pos_embed = learned_tokens(self.patch_embed.num_patches, embed_dim)
        self.pos_drop = nn.Dropout(drop_rate)
        heads = (embed_dim, num_heads, qkv_bias)
        block: dict[str, Any] = {"norm_layer": norm_layer, "act_layer": act_layer}
        block |= {"mlp_ratio": mlp_ratio, "layer_scale": init_scale}
        self.blocks = nn.Sequential(
            *[
                TransformerBlock(
                    embed_dim,
                    TalkingHeadAttention(*heads, attn_drop_rate, drop_rate),
                    drop=drop_rate,
                    drop_path=drop_path_rate,
                    **block,
                )
                for _ in range(depth)
            ]
        )
        self.blocks_token_only = nn.ModuleList(
            ClassAttentionLayer(embed_dim, ClassAttention(*heads), **block)
            for _ in range(depth_token_only)
        )
        self.norm = norm_layer(embed_dim)
        self.head = make_head(embed_dim, num_classes)
        init_transformer_(self)

    def forward_features(self, x: Tensor) -> Tensor:
        tokens = self.blocks(self.pos_drop(self.patch_embed(x) + self.pos_embed))
        cls_token = self.cls_token.expand(x.shape[0], -1, -1)
        for block in self.blocks_token_only:
            cls_token = block(flow.cat([cls_token, tokens], dim=1))
        return self.norm(cls_token[:, 0])


_XS24: dict[str, Any] = {"embed_dim": 288, "depth": 24, "num_heads": 6, "init_scale": 1e-5}
_S24: dict[str, Any] = {"embed_dim": 384, "depth": 24, "num_heads": 8, "init_scale": 1e-5}
_S36: dict[str, Any] = {"embed_dim": 384, "depth": 36, "num_heads": 8, "init_scale": 1e-6}
_M36: dict[str, Any] = {"embed_dim": 768, "depth": 36, "num_heads": 16, "init_scale": 1e-6}
_M48: dict[str, Any] = {"embed_dim": 768, "depth": 48, "num_heads": 16, "init_scale": 1e-6}

_cait = ModelFamily(
    __name__,
    CaiT,
    paper="2103.17239",
    weights="https://huggingface.co/timm/{}.fb_dist_in1k/resolve/main/model.safetensors",
)

# fmt: off
cait_S24_224 = _cait("cait_S24_224", "CaiT-S24 for images of 224 x 224 pixels.",
    **_S24, weights="cait_s24_224")
cait_XS24_384 = _cait("cait_XS24_384", "CaiT-XS24 for images of 384 x 384 pixels.",
    **_XS24, img_size=384, weights="cait_xs24_384")
cait_S24_384 = _cait("cait_S24_384", "CaiT-S24 for images of 384 x 384 pixels.",
    **_S24, img_size=384, weights="cait_s24_384")
cait_S36_384 = _cait("cait_S36_384", "CaiT-S36 for images of 384 x 384 pixels.",
    **_S36, img_size=384, weights="cait_s36_384")
cait_M36_384 = _cait("cait_M36_384", "CaiT-M36 for images of 384 x 384 pixels.",
    **_M36, img_size=384, weights="cait_m36_384")
cait_M48_448 = _cait("cait_M48_448", "CaiT-M48 for images of 448 x 448 pixels.",
    **_M48, img_size=448, weights="cait_m48_448")
