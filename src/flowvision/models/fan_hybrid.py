"""The convolutional network in front of a hybrid FAN."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Literal

import oneflow as flow
from flowvision.layers.blocks.mlp import ConvMlp
from flowvision.layers.regularization.droppath import DropPath, drop_path_rates
from flowvision.layers.regularization.norm import LayerNorm2d
from oneflow import Tensor, nn


class ClassifierHead(nn.Module):
    """A mean or maximum over the image, and a linear map to scores.

    Input (N, in_chs, H, W), output (N, num_classes).

    Args:
        in_chs: the number of channels.
        num_classes: the number of classes; 0 gives the pooled features.
        pool_type: "avg" or "max".
        drop_rate: the probability with which a feature is dropped.
        use_conv: whether the linear map is a 1 x 1 convolution.

    Raises:
        ValueError: if `pool_type` is neither.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import ClassifierHead
        >>> ClassifierHead(8, 5)(flow.rand(2, 8, 6, 6)).shape
        oneflow.Size([2, 5])
    """

    def __init__(
        self,
        in_chs: int,
        num_classes: int,
        pool_type: Literal["avg", "max"] = "avg",
        drop_rate: float = 0.0,
        use_conv: bool = False,
    ) -> None:
        super().__init__()
        if pool_type not in ("avg", "max"):
            raise ValueError(f"`pool_type` must be 'avg' or 'max', got {pool_type!r}")
        pool = nn.AdaptiveAvgPool2d if pool_type == "avg" else nn.AdaptiveMaxPool2d
        self.global_pool = pool(1)
        self.drop = nn.Dropout(drop_rate)
        self.fc: nn.Module = nn.Identity()
        if num_classes:
            self.fc = (
                nn.Conv2d(in_chs, num_classes, 1) if use_conv else nn.Linear(in_chs, num_classes)
            )

    def forward(self, x: Tensor, pre_logits: bool = False) -> Tensor:
        pooled = self.drop(self.global_pool(x))
        if pre_logits:
            return pooled.flatten(1)
        if isinstance(self.fc, nn.Conv2d):
            return self.fc(pooled).flatten(1)
        return self.fc(pooled.flatten(1))


class HybridBlock(nn.Module):
    """The block of ConvNeXt: a depthwise convolution and a perceptron with a learned factor.

    Input and output (N, dim, H, W).

    Args:
        dim: the number of channels.
        drop_path: the probability with which the branch is left out.
        ls_init_value: what the learned factor begins with.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import HybridBlock
        >>> HybridBlock(4)(flow.rand(1, 4, 8, 8)).shape
        oneflow.Size([1, 4, 8, 8])
    """

    def __init__(self, dim: int, drop_path: float = 0.0, ls_init_value: float = 1e-6) -> None:
        super().__init__()
        self.conv_dw = nn.Conv2d(dim, dim, 7, padding=3, groups=dim)
        self.norm = LayerNorm2d(dim, eps=1e-6)
        self.mlp = ConvMlp(dim, 4 * dim, act_layer=nn.GELU)
        self.gamma = nn.Parameter(flow.full((dim,), ls_init_value))
        self.drop_path = DropPath(drop_path)

    def forward(self, x: Tensor) -> Tensor:
        branch = self.mlp(self.norm(self.conv_dw(x)))
        return x + self.drop_path(branch * self.gamma.reshape(1, -1, 1, 1))


class HybridStage(nn.Module):
    """Blocks of ConvNeXt, behind a convolution that makes the grid smaller.

    Input (N, in_chs, H, W), output (N, out_chs, H / stride, W / stride). There is no convolution if
    the shape stays the same.

    Args:
        in_chs: channels of the input.
        out_chs: channels of the output.
        stride: the stride of the convolution.
        depth: the number of blocks.
        dp_rates: `drop_path` of each block; 0 by default.
        ls_init_value: see `HybridBlock`.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import HybridStage
        >>> HybridStage(4, 8, depth=1)(flow.rand(1, 4, 8, 8)).shape
        oneflow.Size([1, 8, 4, 4])
    """

    def __init__(
        self,
        in_chs: int,
        out_chs: int,
        stride: int = 2,
        depth: int = 2,
        dp_rates: Sequence[float] | None = None,
        ls_init_value: float = 1.0,
    ) -> None:
        super().__init__()
        self.downsample: nn.Module = nn.Identity()
        if in_chs != out_chs or stride > 1:
            self.downsample = nn.Sequential(
                LayerNorm2d(in_chs, eps=1e-6), nn.Conv2d(in_chs, out_chs, stride, stride=stride)
            )
        self.blocks = nn.Sequential(
            *[HybridBlock(out_chs, rate, ls_init_value) for rate in dp_rates or [0.0] * depth]
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.blocks(self.downsample(x))


class HybridBackbone(nn.Module):
    """ConvNeXt (https://arxiv.org/abs/2201.03545), or the first stages of it.

    Input (N, in_chans, H, W), output (N, num_classes); without a head (N, dims[-1], H / stride,
    W / stride), where the stride is `patch_size` for one stage and twice as large for each further
    one.

    Args:
        in_chans: the number of channels of the images.
        num_classes: the number of classes.
        patch_size: height and width of the patches that the first convolution makes tokens of.
        depths: the number of blocks of each stage.
        dims: the number of channels of each stage.
        ls_init_value: see `HybridBlock`.
        use_head: whether there is a classifier behind the last stage.
        drop_rate: the probability with which the classifier drops a feature.
        drop_path_rate: the probability with which the branch of the last block is left out; it
            grows linearly from 0 in the first.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import HybridBackbone
        >>> backbone = HybridBackbone(depths=(1, 1), dims=(4, 8), use_head=False)
        >>> backbone(flow.rand(1, 3, 16, 16)).shape
        oneflow.Size([1, 8, 2, 2])
    """

    def __init__(
        self,
        in_chans: int = 3,
        num_classes: int = 1000,
        patch_size: int = 4,
        depths: Sequence[int] = (3, 3, 9, 3),
        dims: Sequence[int] = (96, 192, 384, 768),
        ls_init_value: float = 1e-6,
        use_head: bool = True,
        drop_rate: float = 0.0,
        drop_path_rate: float = 0.0,
    ) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(in_chans, dims[0], patch_size, stride=patch_size),
            LayerNorm2d(dims[0], eps=1e-6),
        )
        rates = iter(drop_path_rates(drop_path_rate, sum(depths)))
        stages, before = [], dims[0]
        for number, (dim, depth) in enumerate(zip(dims, depths, strict=True)):
            rates_of_blocks = [next(rates) for _ in range(depth)]
            stages.append(
                HybridStage(before, dim, 2 if number else 1, depth, rates_of_blocks, ls_init_value)
            )
            before = dim
        self.stages = nn.Sequential(*stages)
        self.head: nn.Module = nn.Identity()
        if use_head:
            self.head = nn.Sequential(
                OrderedDict(
                    global_pool=nn.AdaptiveAvgPool2d(1),
                    norm=LayerNorm2d(dims[-1], eps=1e-6),
                    flatten=nn.Flatten(),
                    drop=nn.Dropout(drop_rate),
                    fc=nn.Linear(dims[-1], num_classes),
                )
            )

    def forward_features(self, x: Tensor) -> Tensor:
        """Return the output of the last stage."""
        return self.stages(self.stem(x))

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.forward_features(x))
