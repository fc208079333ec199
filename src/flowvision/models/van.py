"""VAN: attention by large convolutions, decomposed into small ones."""

from __future__ import annotations

from collections.abc import Sequence

import oneflow as flow
from flowvision.layers.regularization import DropPath, LayerNorm2d
from flowvision.layers.regularization.droppath import drop_path_rates
from flowvision.layers.weight_init import init_conv_
from flowvision.models.image_classifier import ImageClassifier
from flowvision.models.registry import ModelFamily
from oneflow import Tensor, nn


def _depthwise(dim: int, kernel_size: int, dilation: int = 1) -> nn.Conv2d:
    padding = kernel_size // 2 * dilation
    return nn.Conv2d(dim, dim, kernel_size, padding=padding, groups=dim, dilation=dilation)


class AttentionModule(nn.Module):
    """Large kernel attention: the input times what a 21 x 21 convolution would see of it.

    Input and output (N, dim, H, W). The large convolution is a 5 x 5 and a dilated 7 x 7 one by
    channel, and one of 1 x 1 between channels.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import AttentionModule
        >>> AttentionModule(4)(flow.rand(1, 4, 8, 8)).shape
        oneflow.Size([1, 4, 8, 8])
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.conv0 = _depthwise(dim, 5)
        self.conv_spatial = _depthwise(dim, 7, dilation=3)
        self.conv1 = nn.Conv2d(dim, dim, 1)

    def forward(self, x: Tensor) -> Tensor:
        return x * self.conv1(self.conv_spatial(self.conv0(x)))


class SpatialAttention(nn.Module):
    """Large kernel attention between two 1 x 1 convolutions, beside a shortcut.

    Input and output (N, d_model, H, W).

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import SpatialAttention
        >>> SpatialAttention(4)(flow.rand(1, 4, 8, 8)).shape
        oneflow.Size([1, 4, 8, 8])
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.proj_1 = nn.Conv2d(d_model, d_model, 1)
        self.activation = nn.GELU()
        self.spatial_gating_unit = AttentionModule(d_model)
        self.proj_2 = nn.Conv2d(d_model, d_model, 1)

    def forward(self, x: Tensor) -> Tensor:
        gated = self.spatial_gating_unit(self.activation(self.proj_1(x)))
        return self.proj_2(gated) + x


class DepthwiseConv(nn.Module):
    """A depthwise 3 x 3 convolution; input and output (N, dim, H, W)."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dwconv = _depthwise(dim, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.dwconv(x)


class DepthwiseConvMlp(nn.Module):
    """A perceptron over channels with a depthwise convolution in its hidden layer.

    Input and output (N, dim, H, W).

    Args:
        dim: the number of channels.
        hidden: the number of hidden channels.
        drop: the probability with which an element is dropped after each layer.
    """

    def __init__(self, dim: int, hidden: int, drop: float = 0.0) -> None:
        super().__init__()
        self.fc1 = nn.Conv2d(dim, hidden, 1)
        self.dwconv = DepthwiseConv(hidden)
        self.act = nn.GELU()
        self.fc2 = nn.Conv2d(hidden, dim, 1)
        self.drop = nn.Dropout(drop)

    def forward(self, x: Tensor) -> Tensor:
        x = self.drop(self.act(self.dwconv(self.fc1(x))))
        return self.drop(self.fc2(x))


class VANBlock(nn.Module):
    """Attention and perceptron, each normalized, scaled and beside a shortcut.

    Input and output (N, dim, H, W).

    Args:
        dim: the number of channels.
        mlp_ratio: the factor by which the perceptron has more channels.
        drop: see `DepthwiseConvMlp`.
        drop_path: the probability with which a sample skips a branch in training.
    """

    def __init__(
        self, dim: int, mlp_ratio: float, drop: float = 0.0, drop_path: float = 0.0
    ) -> None:
        super().__init__()
        self.norm1 = nn.BatchNorm2d(dim)
        self.attn = SpatialAttention(dim)
        self.norm2 = nn.BatchNorm2d(dim)
        self.mlp = DepthwiseConvMlp(dim, int(dim * mlp_ratio), drop)
        self.layer_scale_1 = nn.Parameter(1e-2 * flow.ones(dim))
        self.layer_scale_2 = nn.Parameter(1e-2 * flow.ones(dim))
        self.drop_path = DropPath(drop_path)

    def forward(self, x: Tensor) -> Tensor:
        first, second = (
            scale.reshape(-1, 1, 1) for scale in (self.layer_scale_1, self.layer_scale_2)
        )
        x = x + self.drop_path(first * self.attn(self.norm1(x)))
        return x + self.drop_path(second * self.mlp(self.norm2(x)))


class VANEmbed(nn.Module):
    """A strided convolution and batch normalization.

    Input (N, in_chans, H, W), output (N, embed_dim, H / stride, W / stride).
    """

    def __init__(self, in_chans: int, embed_dim: int, patch_size: int, stride: int) -> None:
        super().__init__()
        self.proj = nn.Conv2d(
            in_chans, embed_dim, patch_size, stride=stride, padding=patch_size // 2
        )
        self.norm = nn.BatchNorm2d(embed_dim)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(self.proj(x))


class VAN(ImageClassifier):
    """Visual attention network (https://arxiv.org/abs/2202.09741).

    Input (N, in_chans, H, W); output (N, num_classes).

    Args:
        in_chans: channels of the input.
        num_classes: the number of classes.
        embed_dims: channels of each of the four stages.
        mlp_ratios: the factor by which the perceptrons of each stage have more channels.
        depths: the number of blocks of each stage.
        drop_rate: see `DepthwiseConvMlp`.
        drop_path_rate: the probability with which a sample skips the last branches in training;
            it grows linearly from the first block, where it is 0.
    """

    def __init__(
        self,
        in_chans: int = 3,
        num_classes: int = 1000,
        embed_dims: Sequence[int] = (64, 128, 320, 512),
        mlp_ratios: Sequence[float] = (8, 8, 4, 4),
        depths: Sequence[int] = (3, 4, 6, 3),
        drop_rate: float = 0.0,
        drop_path_rate: float = 0.0,
    ) -> None:
        super().__init__()
        self.num_stages = len(depths)
        rates = iter(drop_path_rates(drop_path_rate, sum(depths)))
        channels = in_chans
        stages = zip(embed_dims, mlp_ratios, depths, strict=True)
        for number, (dim, ratio, depth) in enumerate(stages, start=1):
            patch_size, stride = (7, 4) if number == 1 else (3, 2)
            patch_embed = VANEmbed(channels, dim, patch_size, stride)
            blocks = nn.ModuleList(
                VANBlock(dim, ratio, drop_rate, next(rates)) for _ in range(depth)
            )
            self.add_module(f"patch_embed{number}", patch_embed)
            self.add_module(f"block{number}", blocks)
            self.add_module(f"norm{number}", LayerNorm2d(dim, eps=1e-6))
            channels = dim
        self.num_features = channels
        self.head = nn.Linear(channels, num_classes)
        init_conv_(self)
        nn.init.trunc_normal_(self.head.weight, std=0.02)
        nn.init.zeros_(self.head.bias)

    def forward_features(self, x: Tensor) -> Tensor:
        for number in range(1, self.num_stages + 1):
            x = self.get_submodule(f"patch_embed{number}")(x)
            for block in self.get_submodule(f"block{number}").children():
                x = block(x)
            x = self.get_submodule(f"norm{number}")(x)
        return x.mean((2, 3))


_van = ModelFamily(__name__, VAN, paper="2202.09741")

# fmt: off
van_tiny = _van("van_tiny", "VAN-Tiny: 4.1 million parameters.",
    embed_dims=(32, 64, 160, 256), depths=(3, 3, 5, 2))
van_small = _van("van_small", "VAN-Small: 14 million parameters.", depths=(2, 2, 4, 2))
van_base = _van("van_base", "VAN-Base: 27 million parameters.", depths=(3, 3, 12, 3))
van_large = _van("van_large", "VAN-Large: 45 million parameters.", depths=(3, 5, 27, 3))
