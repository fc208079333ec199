"""DLA: blocks that are aggregated in trees."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence

import oneflow as flow
from flowvision.layers.blocks import ConvBn, ConvBnAct
from flowvision.layers.weight_init import init_conv_
from flowvision.models.registry import ModelFamily
from oneflow import Tensor, nn


class DlaBasic(nn.Module):
    """Two 3 x 3 convolutions, to which a shortcut is added that the tree provides.

    Input (N, inplanes, H, W), output (N, planes, H / stride, W / stride).
    """

    def __init__(self, inplanes: int, planes: int, stride: int = 1) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inplanes, planes, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(planes, planes, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)

    def forward(self, x: Tensor, shortcut: Tensor | None = None) -> Tensor:
        shortcut = x if shortcut is None else shortcut
        x = self.relu(self.bn1(self.conv1(x)))
        return self.relu(self.bn2(self.conv2(x)) + shortcut)


class DlaBottleneck(nn.Module):
    """A 3 x 3 convolution between two of 1 x 1, with a shortcut that the tree provides.

    Input (N, inplanes, H, W), output (N, planes, H / stride, W / stride).

    Args:
        inplanes: channels of the input.
        planes: channels of the output.
        stride: the stride of the 3 x 3 convolution.
        cardinality: groups of the 3 x 3 convolution; with more than one it has as many channels
            as the output (or twice as many with 64), else half.
    """

    def __init__(self, inplanes: int, planes: int, stride: int = 1, cardinality: int = 1) -> None:
        super().__init__()
        width = planes // 2 if cardinality == 1 else planes * cardinality // 32
        self.conv1 = nn.Conv2d(inplanes, width, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(
            width, width, 3, stride=stride, padding=1, groups=cardinality, bias=False
        )
        self.bn2 = nn.BatchNorm2d(width)
        self.conv3 = nn.Conv2d(width, planes, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(planes)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x: Tensor, shortcut: Tensor | None = None) -> Tensor:
        shortcut = x if shortcut is None else shortcut
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.relu(self.bn2(self.conv2(x)))
        return self.relu(self.bn3(self.conv3(x)) + shortcut)


BottleneckX = functools.partial(DlaBottleneck, cardinality=32)
BottleneckX2 = functools.partial(DlaBottleneck, cardinality=64)


class Root(nn.Module):
    """The aggregation of a tree: a convolution of all its children.

    Input: tensors with `in_channels` channels together; output (N, out_channels, H, W).

    Args:
        in_channels: the number of channels of all children together.
        out_channels: the number of channels of the output.
        kernel_size: the kernel size of the convolution.
        residual: whether the first child is added.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import Root
        >>> root = Root(12, 8, kernel_size=1, residual=False)
        >>> root(flow.rand(1, 8, 6, 6), flow.rand(1, 4, 6, 6)).shape
        oneflow.Size([1, 8, 6, 6])
    """

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: int, residual: bool
    ) -> None:
        super().__init__()
        padding = (kernel_size - 1) // 2
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, padding=padding, bias=False)
        self.bn = nn.BatchNorm2d(out_channels)
        self.relu = nn.ReLU(inplace=True)
        self.residual = residual

    def forward(self, *children: Tensor) -> Tensor:
        x = self.bn(self.conv(flow.cat(children, dim=1)))
        return self.relu(x + children[0] if self.residual else x)


class Tree(nn.Module):
    """Two blocks or two trees of one level less, and a root (the paper's figure 3).

    Input (N, in_channels, H, W), output (N, out_channels, H / stride, W / stride).

    Args:
        levels: the depth.
        block: makes a block from channels of the input, of the output, and stride.
        in_channels: the number of channels of the input.
        out_channels: the number of channels of the output.
        stride: the stride of the first block.
        level_root: whether the input goes to the root, too.
        root_dim: channels of all that the root aggregates; by default those of two blocks.
        root_kernel_size: the kernel size of the root's convolution.
        root_residual: whether the root adds its first child.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import Tree
        >>> from flowvision.models.dla import DlaBasic
        >>> Tree(1, DlaBasic, 8, 16, stride=2)(flow.rand(1, 8, 6, 6)).shape
        oneflow.Size([1, 16, 3, 3])
    """

    def __init__(
        self,
        levels: int,
        block: Callable[..., nn.Module],
        in_channels: int,
        out_channels: int,
        stride: int = 1,
        level_root: bool = False,
        root_dim: int = 0,
        root_kernel_size: int = 1,
        root_residual: bool = False,
    ) -> None:
        super().__init__()
        root_dim = root_dim or 2 * out_channels
        if level_root:
            root_dim += in_channels
        self.levels = levels
        self.level_root = level_root
        self.downsample = nn.MaxPool2d(stride, stride=stride) if stride > 1 else nn.Identity()
        # Only the trees of one level use it; published weights have it for all.
        self.project = nn.Identity()
        if in_channels != out_channels:
            self.project = ConvBn(in_channels, out_channels)
        self.tree1: nn.Module
        self.tree2: nn.Module
        if levels == 1:
            self.tree1 = block(in_channels, out_channels, stride)
            self.tree2 = block(out_channels, out_channels, 1)
            self.root = Root(root_dim, out_channels, root_kernel_size, root_residual)
        else:
            tree = functools.partial(
                Tree,
                levels - 1,
                block,
                root_kernel_size=root_kernel_size,
                root_residual=root_residual,
            )
            self.tree1 = tree(in_channels, out_channels, stride)
            self.tree2 = tree(out_channels, out_channels, root_dim=root_dim + out_channels)

    def forward(self, x: Tensor, children: Sequence[Tensor] = ()) -> Tensor:
        downsampled = self.downsample(x)
        if self.level_root:
            children = (*children, downsampled)
        if self.levels > 1:
            first = self.tree1(x)
            return self.tree2(first, (*children, first))
        first = self.tree1(x, self.project(downsampled))
        return self.root(self.tree2(first), first, *children)


class DLA(nn.Module):
    """Deep layer aggregation (https://arxiv.org/abs/1707.06484).

    Input (N, 3, H, W); output (N, num_classes).

    Args:
        levels: convolutions of the first two stages, and depths of the trees of the other four.
        channels: the number of channels of each of the six stages.
        num_classes: the number of classes.
        block: makes a block from channels of the input, of the output, and stride.
        residual_root: whether roots add their first child.
        return_levels: whether the output is a list with the features of each stage,
            (N, channels[i], H / 2^i, W / 2^i), instead of scores.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import DLA
        >>> model = DLA([1] * 6, [4, 4, 8, 8, 8, 8], return_levels=True)
        >>> [y.shape[2] for y in model(flow.rand(2, 3, 64, 64))]
        [64, 32, 16, 8, 4, 2]
    """

    def __init__(
        self,
        levels: Sequence[int],
        channels: Sequence[int],
        num_classes: int = 1000,
        block: Callable[..., nn.Module] = DlaBasic,
        residual_root: bool = False,
        return_levels: bool = False,
    ) -> None:
        super().__init__()
        self.return_levels = return_levels
        tree = functools.partial(Tree, block=block, stride=2, root_residual=residual_root)
        self.base_layer = ConvBnAct(3, channels[0], 7)
        self.level0 = self._convs(channels[0], channels[0], levels[0], 1)
        self.level1 = self._convs(channels[0], channels[1], levels[1], 2)
        stages = [
            tree(levels[index], in_channels=before, out_channels=after, level_root=index > 2)
            for index, (before, after) in enumerate(itertools.pairwise(channels[1:]), start=2)
        ]
        self.level2, self.level3, self.level4, self.level5 = stages
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Conv2d(channels[-1], num_classes, 1)
        init_conv_(self)

    @staticmethod
    def _convs(before: int, after: int, depth: int, stride: int) -> nn.Sequential:
        layers: list[nn.Module] = []
        for index in range(depth):
            first = index == 0
            layers += ConvBnAct(before if first else after, after, 3, stride if first else 1)
        return nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor | list[Tensor]:
        x = self.base_layer(x)
        features = []
        for number in range(6):
            x = self.get_submodule(f"level{number}")(x)
            features.append(x)
        return features if self.return_levels else flow.flatten(self.fc(self.avgpool(x)), 1)


_SMALL = (16, 32, 64, 64, 128, 256)
_LARGE = (16, 32, 128, 256, 512, 1024)

_dla = ModelFamily(__name__, DLA, paper="1707.06484")

# fmt: off
dla34 = _dla("dla34", "DLA-34: 16 million parameters.",
    (1, 1, 1, 2, 2, 1), (16, 32, 64, 128, 256, 512))
dla46_c = _dla("dla46_c", "DLA-46-C, a compact one: 1.3 million parameters.",
    (1, 1, 1, 2, 2, 1), _SMALL, block=DlaBottleneck)
dla46x_c = _dla("dla46x_c", "DLA-X-46-C, a compact one with groups: 1.1 million parameters.",
    (1, 1, 1, 2, 2, 1), _SMALL, block=BottleneckX)
dla60x_c = _dla("dla60x_c", "DLA-X-60-C, a compact one with groups: 1.3 million parameters.",
    (1, 1, 1, 2, 3, 1), _SMALL, block=BottleneckX)
dla60 = _dla("dla60", "DLA-60: 22 million parameters.",
    (1, 1, 1, 2, 3, 1), _LARGE, block=DlaBottleneck)
dla60x = _dla("dla60x", "DLA-X-60, with groups: 18 million parameters.",
    (1, 1, 1, 2, 3, 1), _LARGE, block=BottleneckX)
dla102 = _dla("dla102", "DLA-102: 34 million parameters.",
    (1, 1, 1, 3, 4, 1), _LARGE, block=DlaBottleneck, residual_root=True)
dla102x = _dla("dla102x", "DLA-X-102, with groups: 27 million parameters.",
    (1, 1, 1, 3, 4, 1), _LARGE, block=BottleneckX, residual_root=True)
dla102x2 = _dla("dla102x2", "DLA-X-102 with twice the groups: 42 million parameters.",
    (1, 1, 1, 3, 4, 1), _LARGE, block=BottleneckX2, residual_root=True)
dla169 = _dla("dla169", "DLA-169: 54 million parameters.",
    (1, 1, 2, 3, 5, 1), _LARGE, block=DlaBottleneck, residual_root=True)
