"""PoolFormer: a transformer with average pooling in the place of attention."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import oneflow as flow
from flowvision.layers.blocks import ConvMlp
from flowvision.layers.regularization import DropPath, LayerNorm2d
from flowvision.layers.regularization.droppath import drop_path_rates
from flowvision.models.image_classifier import ImageClassifier
from flowvision.models.registry import ModelFamily
from oneflow import Tensor, nn

LayerNormChannel = LayerNorm2d


class GroupNorm(nn.GroupNorm):
    """Group normalization with one group; input and output (N, num_channels, H, W).

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import GroupNorm
        >>> GroupNorm(8)(flow.rand(1, 8, 6, 6)).shape
        oneflow.Size([1, 8, 6, 6])
    """

    def __init__(self, num_channels: int, **kwargs: Any) -> None:
        super().__init__(1, num_channels, **kwargs)


class Pooling(nn.Module):
    """The difference between the mean of the neighbours and a position.

    Input and output (N, C, H, W).

    Args:
        pool_size: height and width of the neighbourhood.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import Pooling
        >>> Pooling()(flow.ones(1, 1, 3, 3)).sum().item()
        0.0
    """

    def __init__(self, pool_size: int = 3) -> None:
        super().__init__()
        self.pool = nn.AvgPool2d(
            pool_size, stride=1, padding=pool_size // 2, count_include_pad=False
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.pool(x) - x


class PoolFormerBlock(nn.Module):
    """Pooling and a perceptron over channels, each normalized, scaled and beside a shortcut.

    Input and output (N, dim, H, W).

    Args:
        dim: the number of channels.
        pool_size: see `Pooling`.
        mlp_ratio: the factor by which the perceptron has more channels.
        norm_layer: makes a normalization from the number of channels.
        drop: the probability with which a hidden element of the perceptron is dropped.
        drop_path: the probability with which a sample skips a branch in training.
        layer_scale_init_value: the first value of the factors of the branches.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import PoolFormerBlock
        >>> PoolFormerBlock(8)(flow.rand(1, 8, 6, 6)).shape
        oneflow.Size([1, 8, 6, 6])
    """

    def __init__(
        self,
        dim: int,
        pool_size: int = 3,
        mlp_ratio: float = 4.0,
        norm_layer: Callable[[int], nn.Module] = GroupNorm,
        drop: float = 0.0,
        drop_path: float = 0.0,
        layer_scale_init_value: float = 1e-5,
    ) -> None:
        super().__init__()
        self.norm1 = norm_layer(dim)
        self.token_mixer = Pooling(pool_size)
        self.norm2 = norm_layer(dim)
        self.mlp = ConvMlp(dim, int(dim * mlp_ratio), act_layer=nn.GELU, drop=drop)
        self.drop_path = DropPath(drop_path)
        self.layer_scale_1 = nn.Parameter(layer_scale_init_value * flow.ones(dim))
        self.layer_scale_2 = nn.Parameter(layer_scale_init_value * flow.ones(dim))

    def forward(self, x: Tensor) -> Tensor:
        first, second = (
            scale.reshape(-1, 1, 1) for scale in (self.layer_scale_1, self.layer_scale_2)
        )
        x = x + self.drop_path(first * self.token_mixer(self.norm1(x)))
        return x + self.drop_path(second * self.mlp(self.norm2(x)))


def basic_blocks(
    dim: int,
    index: int,
    layers: Sequence[int],
    *,
    drop_rate: float = 0.0,
    drop_path_rate: float = 0.0,
    **options: Any,
) -> nn.Sequential:
    """Return the blocks of a stage.

    Args:
        dim: the number of channels.
        index: which stage it is.
        layers: the number of blocks of each stage.
        drop_rate: the probability with which a hidden element of a perceptron is dropped.
        drop_path_rate: the probability with which a sample skips the last branches of all stages;
            it grows linearly from the first block, where it is 0.
        **options: see `PoolFormerBlock`.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import basic_blocks
        >>> stage = basic_blocks(8, 0, (2,))
        >>> stage(flow.rand(1, 8, 6, 6)).shape
        oneflow.Size([1, 8, 6, 6])
    """
    before = sum(layers[:index])
    rates = drop_path_rates(drop_path_rate, sum(layers))[before : before + layers[index]]
    return nn.Sequential(
        *(PoolFormerBlock(dim, drop=drop_rate, drop_path=rate, **options) for rate in rates)
    )


class PoolFormerEmbed(nn.Module):
    """A strided convolution; input (N, in_chans, H, W), output (N, embed_dim, H / s, W / s)."""

    def __init__(self, in_chans: int, embed_dim: int, size: int, stride: int, pad: int) -> None:
        super().__init__()
        self.proj = nn.Conv2d(in_chans, embed_dim, size, stride=stride, padding=pad)

    def forward(self, x: Tensor) -> Tensor:
        return self.proj(x)


class PoolFormer(ImageClassifier):
    """PoolFormer (https://arxiv.org/abs/2111.11418).

    Input (N, 3, H, W), at least 32 pixels high and wide; output (N, num_classes).

    Args:
        layers: the number of blocks of each of the four stages.
        embed_dims: channels of each stage.
        mlp_ratios: the factor by which the perceptrons of each stage have more channels.
        pool_size: see `Pooling`.
        norm_layer: makes a normalization from the number of channels.
        num_classes: the number of classes.
        drop_rate: the probability with which a hidden element of a perceptron is dropped.
        drop_path_rate: the probability with which a sample skips the last branches in training;
            it grows linearly from the first block, where it is 0.
        layer_scale_init_value: the first value of the factors of branches.
    """

    def __init__(
        self,
        layers: Sequence[int],
        embed_dims: Sequence[int] = (64, 128, 320, 512),
        mlp_ratios: Sequence[float] = (4, 4, 4, 4),
        pool_size: int = 3,
        norm_layer: Callable[[int], nn.Module] = GroupNorm,
        num_classes: int = 1000,
        drop_rate: float = 0.0,
        drop_path_rate: float = 0.0,
        layer_scale_init_value: float = 1e-5,
    ) -> None:
        super().__init__()
        self.patch_embed = PoolFormerEmbed(3, embed_dims[0], 7, 4, 2)
        network: list[nn.Module] = []
        channels = embed_dims[0]
        for index, (dim, ratio) in enumerate(zip(embed_dims, mlp_ratios, strict=True)):
            if network:
                network.append(PoolFormerEmbed(channels, dim, 3, 2, 1))
            blocks = basic_blocks(
                dim,
                index,
                layers,
                drop_rate=drop_rate,
                drop_path_rate=drop_path_rate,
                pool_size=pool_size,
                mlp_ratio=ratio,
                norm_layer=norm_layer,
                layer_scale_init_value=layer_scale_init_value,
            )
            network.append(blocks)
            channels = dim
        self.network = nn.ModuleList(network)
        self.norm = norm_layer(channels)
        self.num_features = channels
        self.head = nn.Linear(channels, num_classes)
        for module in self.modules():
            if isinstance(module, nn.Linear | nn.Conv2d):
                nn.init.trunc_normal_(module.weight, std=0.02)
                nn.init.zeros_(module.bias)

    def forward_features(self, x: Tensor) -> Tensor:
        x = self.patch_embed(x)
        for stage in self.network:
            x = stage(x)
        return self.norm(x).mean((2, 3))


_WIDE = (96, 192, 384, 768)

_poolformer = ModelFamily(__name__, PoolFormer, paper="2111.11418")

# fmt: off
poolformer_s12 = _poolformer("poolformer_s12", "PoolFormer-S12: 12 million parameters.",
    (2, 2, 6, 2))
poolformer_s24 = _poolformer("poolformer_s24", "PoolFormer-S24: 21 million parameters.",
    (4, 4, 12, 4))
poolformer_s36 = _poolformer("poolformer_s36", "PoolFormer-S36: 31 million parameters.",
    (6, 6, 18, 6), layer_scale_init_value=1e-6)
poolformer_m36 = _poolformer("poolformer_m36", "PoolFormer-M36: 56 million parameters.",
    (6, 6, 18, 6), _WIDE, layer_scale_init_value=1e-6)
poolformer_m48 = _poolformer("poolformer_m48", "PoolFormer-M48: 73 million parameters.",
    (8, 8, 24, 8), _WIDE, layer_scale_init_value=1e-6)
