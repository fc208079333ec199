"""UniFormer: convolutions among near positions first, attention among all of them later."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from flowvision.layers.attention.self_attention import SelfAttention
from flowvision.layers.blocks.mlp import ConvMlp, MakeModule
from flowvision.layers.blocks.transformer import TransformerBlock
from flowvision.layers.regularization.droppath import DropPath, drop_path_rates
from flowvision.layers.regularization.norm import LayerNorm2d, layer_norm
from flowvision.layers.weight_init import init_transformer_
from flowvision.models.image_classifier import ImageClassifier, make_head
from flowvision.models.registry import ModelFamily
from oneflow import Tensor, nn


class CMlp(ConvMlp):
    """A perceptron at each position of a feature map, which drops features after both layers.

    Input (N, in_features, H, W), output (N, out_features, H, W).

    Args:
        in_features: the number of channels of the input.
        hidden_features: the number of features in between; default `in_features`.
        out_features: the number of features of the output; default `in_features`.
        act_layer: makes the activation.
        drop: the probability with which a feature is dropped.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import CMlp
        >>> CMlp(8, 32)(flow.rand(1, 8, 6, 6)).shape
        oneflow.Size([1, 8, 6, 6])
    """

    def __init__(
        self,
        in_features: int,
        hidden_features: int | None = None,
        out_features: int | None = None,
        act_layer: MakeModule = nn.GELU,
        drop: float = 0.0,
    ) -> None:
        super().__init__(in_features, hidden_features, out_features, act_layer, drop=drop)

    def forward(self, x: Tensor) -> Tensor:
        return self.drop(super().forward(x))


class CBlock(nn.Module):
    """A block whose positions are mixed by a depthwise convolution.

    Input and output (N, dim, H, W).

    Args:
        dim: the number of channels.
        mlp_ratio: the hidden channels of the perceptron, as a multiple of `dim`.
        drop: the probability with which a feature is dropped in the perceptron.
        drop_path: the probability with which a branch is left out.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import CBlock
        >>> CBlock(8)(flow.rand(1, 8, 6, 6)).shape
        oneflow.Size([1, 8, 6, 6])
    """

    def __init__(
        self, dim: int, mlp_ratio: float = 4.0, drop: float = 0.0, drop_path: float = 0.0
    ) -> None:
        super().__init__()
        self.pos_embed = nn.Conv2d(dim, dim, 3, padding=1, groups=dim)
        self.norm1 = nn.BatchNorm2d(dim)
        self.conv1 = nn.Conv2d(dim, dim, 1)
        self.conv2 = nn.Conv2d(dim, dim, 1)
        self.attn = nn.Conv2d(dim, dim, 5, padding=2, groups=dim)
        self.drop_path = DropPath(drop_path)
        self.norm2 = nn.BatchNorm2d(dim)
        self.mlp = CMlp(dim, int(dim * mlp_ratio), drop=drop)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.pos_embed(x)
        x = x + self.drop_path(self.conv2(self.attn(self.conv1(self.norm1(x)))))
        return x + self.drop_path(self.mlp(self.norm2(x)))


class SABlock(TransformerBlock):
    """A block whose positions are mixed by attention; a convolution tells where they are.

    Input and output (N, dim, H, W).

    Args:
        dim: the number of channels.
        num_heads: the number of heads.
        qkv_bias: whether queries, keys and values have biases.
        qk_scale: the factor of the scores; None for ``1 / sqrt(dim / num_heads)``.
        attn_drop: the probability with which a weight of attention is dropped.
        drop: the probability with which a feature is dropped.
        **options: see `TransformerBlock`.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import SABlock
        >>> SABlock(8, num_heads=2)(flow.rand(1, 8, 2, 3)).shape
        oneflow.Size([1, 8, 2, 3])
    """

    def __init__(
        self,
        dim: int,
        num_heads: int,
        *,
        qkv_bias: bool = False,
        qk_scale: float | None = None,
        attn_drop: float = 0.0,
        drop: float = 0.0,
        **options: Any,
    ) -> None:
        attention = SelfAttention(dim, num_heads, qkv_bias, attn_drop, drop, qk_scale)
        super().__init__(dim, attention, drop=drop, **options)
        self.pos_embed = nn.Conv2d(dim, dim, 3, padding=1, groups=dim)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.pos_embed(x)
        tokens = super().forward(x.flatten(2).transpose(1, 2))
        return tokens.transpose(1, 2).reshape(x.shape)


class UniFormerPatchEmbed(nn.Module):
    """A grid of patches, each a normalised linear map of its elements.

    Input (N, in_channels, H, W), output (N, dim, H / stride, W / stride).

    Args:
        in_channels: the number of channels of the input.
        dim: the channels of the output.
        stride: 2 or 4.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models.uniformer import UniFormerPatchEmbed
        >>> UniFormerPatchEmbed(3, 8, stride=4)(flow.rand(1, 3, 16, 16)).shape
        oneflow.Size([1, 8, 4, 4])
    """

    def __init__(self, in_channels: int, dim: int, stride: int) -> None:
        super().__init__()
        self.proj = nn.Conv2d(in_channels, dim, stride, stride=stride)
        self.norm = LayerNorm2d(dim)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(self.proj(x))


class middle_embedding(nn.Module):
    """A grid of half the size, by a convolution whose windows overlap.

    Input (N, in_channels, H, W), output (N, out_channels, H / 2, W / 2).

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import middle_embedding
        >>> middle_embedding(3, 8)(flow.rand(1, 3, 16, 16)).shape
        oneflow.Size([1, 8, 8, 8])
    """

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.proj = nn.Sequential(*_downsample(in_channels, out_channels))

    def forward(self, x: Tensor) -> Tensor:
        return self.proj(x)


class head_embedding(nn.Module):
    """A grid of a quarter of the size, by two convolutions whose windows overlap.

    Input (N, in_channels, H, W), output (N, out_channels, H / 4, W / 4).

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import head_embedding
        >>> head_embedding(3, 8)(flow.rand(1, 3, 16, 16)).shape
        oneflow.Size([1, 8, 4, 4])
    """

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        half = out_channels // 2
        first, second = _downsample(in_channels, half), _downsample(half, out_channels)
        self.proj = nn.Sequential(*first, nn.GELU(), *second)

    def forward(self, x: Tensor) -> Tensor:
        return self.proj(x)


def _downsample(in_channels: int, out_channels: int) -> tuple[nn.Module, nn.Module]:
    convolution = nn.Conv2d(in_channels, out_channels, 3, stride=2, padding=1)
    return convolution, nn.BatchNorm2d(out_channels)


class UniFormer(ImageClassifier):
    """UniFormer (https://arxiv.org/abs/2201.09450).

    Input (N, in_chans, H, W), both sides multiples of 32; output (N, num_classes).

    Args:
        depth: the number of blocks of each of the four stages; the first two convolve, the last two
            attend.
        in_chans: the number of channels of the images.
        num_classes: the number of classes; 0 gives features.
        embed_dim: the number of channels of each stage.
        head_dim: the number of channels of a head.
        mlp_ratio: the hidden features of a perceptron, as a multiple of the channels.
        qkv_bias: whether queries, keys and values have biases.
        qk_scale: the factor of the scores; None for ``1 / sqrt(dim / num_heads)``.
        drop_rate: the probability with which a feature is dropped.
        attn_drop_rate: the probability with which a weight of attention is dropped.
        drop_path_rate: the probability with which a branch of the last block is left out; it grows
            linearly from 0 in the first.
        norm_layer: makes a normalisation of tokens; default layer normalisation with ``eps=1e-6``.
        conv_stem: whether grids shrink by overlapping convolutions.
        layer_scale: what the learned factors of the branches begin with in the stages with
            attention; by default there are none.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models.uniformer import UniFormer
        >>> model = UniFormer((1, 1, 1, 1), embed_dim=(8, 8, 16, 16), head_dim=8)
        >>> model(flow.randn(2, 3, 64, 64)).shape
        oneflow.Size([2, 1000])
    """

    def __init__(
        self,
        depth: Sequence[int] = (3, 4, 8, 3),
        in_chans: int = 3,
        num_classes: int = 1000,
        embed_dim: Sequence[int] = (64, 128, 320, 512),
        head_dim: int = 64,
        mlp_ratio: float = 4.0,
        qkv_bias: bool = True,
        qk_scale: float | None = None,
        drop_rate: float = 0.0,
        attn_drop_rate: float = 0.0,
        drop_path_rate: float = 0.0,
        norm_layer: Callable[[int], nn.Module] = layer_norm,
        conv_stem: bool = False,
        layer_scale: float | None = None,
    ) -> None:
        super().__init__()
        self.num_features = embed_dim[-1]
        rates = iter(drop_path_rates(drop_path_rate, sum(depth)))
        common: dict[str, Any] = {"mlp_ratio": mlp_ratio, "drop": drop_rate}
        attention: dict[str, Any] = {"qkv_bias": qkv_bias, "attn_drop": attn_drop_rate}
        attention |= {"qk_scale": qk_scale, "norm_layer": norm_layer, "layer_scale": layer_scale}
        channels = (in_chans, *embed_dim)
        for stage in range(1, 5):
            dim = channels[stage]
            if conv_stem:
                overlapping = head_embedding if stage == 1 else middle_embedding
                embedding = overlapping(channels[stage - 1], dim)
            else:
                embedding = UniFormerPatchEmbed(channels[stage - 1], dim, 4 if stage == 1 else 2)
            setattr(self, f"patch_embed{stage}", embedding)
            blocks = [
                CBlock(dim, drop_path=next(rates), **common)
                if stage <= 2
                else SABlock(dim, dim // head_dim, drop_path=next(rates), **common, **attention)
                for _ in range(depth[stage - 1])
            ]
            setattr(self, f"blocks{stage}", nn.Sequential(*blocks))
        self.pos_drop = nn.Dropout(drop_rate)
        self.norm = nn.BatchNorm2d(self.num_features)
        self.head = make_head(self.num_features, num_classes)
        init_transformer_(self)

    def forward_features(self, x: Tensor) -> Tensor:
        for stage in range(1, 5):
            x = getattr(self, f"patch_embed{stage}")(x)
            if stage == 1:
                x = self.pos_drop(x)
            x = getattr(self, f"blocks{stage}")(x)
        return self.norm(x).flatten(2).mean(-1)


_BASE: dict[str, Any] = {"depth": (5, 8, 20, 7)}

_uniformer = ModelFamily(__name__, UniFormer, paper="2201.09450")

# fmt: off
uniformer_small = _uniformer("uniformer_small", "UniFormer-S.")
uniformer_small_plus = _uniformer("uniformer_small_plus",
    "UniFormer-S with overlapping convolutions, more blocks and narrower heads.",
    depth=(3, 5, 9, 3), conv_stem=True, head_dim=32)
uniformer_base = _uniformer("uniformer_base", "UniFormer-B.", **_BASE)
uniformer_base_ls = _uniformer("uniformer_base_ls", "UniFormer-B with layer scale.",
    **_BASE, layer_scale=1e-06)
