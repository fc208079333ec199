"""The convolutional network in front of a hybrid FAN."""

from __future__ import annotations

from collections.abc import Sequence

import oneflow as flow
from flowvision.layers.blocks.mlp import ConvMlp
from flowvision.layers.regularization.norm import LayerNorm2d
from oneflow import Tensor, nn


class HybridBlock(nn.Module):
    """The block of ConvNeXt: a depthwise convolution and a perceptron with a learned factor.

    Input and output (N, dim, H, W).

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import HybridBlock
        >>> HybridBlock(4)(flow.rand(1, 4, 8, 8)).shape
        oneflow.Size([1, 4, 8, 8])
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.conv_dw = nn.Conv2d(dim, dim, 7, padding=3, groups=dim)
        self.norm = LayerNorm2d(dim, eps=1e-6)
        self.mlp = ConvMlp(dim, 4 * dim, act_layer=nn.GELU)
        self.gamma = nn.Parameter(flow.full((dim,), 1e-6))

    def forward(self, x: Tensor) -> Tensor:
        branch = self.mlp(self.norm(self.conv_dw(x)))
        return x + branch * self.gamma.reshape(1, -1, 1, 1)


class HybridStage(nn.Module):
    """Blocks of ConvNeXt, behind a convolution that halves the grid except in the first stage.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import HybridStage
        >>> HybridStage(4, 8, depth=1)(flow.rand(1, 4, 8, 8)).shape
        oneflow.Size([1, 8, 4, 4])
    """

    def __init__(self, in_channels: int, dim: int, depth: int) -> None:
        super().__init__()
        self.downsample: nn.Module = nn.Identity()
        if in_channels != dim:
            self.downsample = nn.Sequential(
                LayerNorm2d(in_channels, eps=1e-6), nn.Conv2d(in_channels, dim, 2, stride=2)
            )
        self.blocks = nn.Sequential(*[HybridBlock(dim) for _ in range(depth)])

    def forward(self, x: Tensor) -> Tensor:
        return self.blocks(self.downsample(x))


class HybridBackbone(nn.Module):
    """The first stages of ConvNeXt (https://arxiv.org/abs/2201.03545).

    Input (N, in_chans, H, W), output (N, dims[-1], H / stride, W / stride), where the stride is 4
    for one stage and twice as large for each further one.

    Args:
        depths: the number of blocks of each stage.
        dims: the number of channels of each stage.
        in_chans: the number of channels of the images.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import HybridBackbone
        >>> HybridBackbone((1, 1), (4, 8))(flow.rand(1, 3, 16, 16)).shape
        oneflow.Size([1, 8, 2, 2])
    """

    def __init__(self, depths: Sequence[int], dims: Sequence[int], in_chans: int = 3) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(in_chans, dims[0], 4, stride=4), LayerNorm2d(dims[0], eps=1e-6)
        )
        self.stages = nn.Sequential(
            *[
                HybridStage(before, dim, depth)
                for before, dim, depth in zip((dims[0], *dims[:-1]), dims, depths, strict=True)
            ]
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.stages(self.stem(x))
