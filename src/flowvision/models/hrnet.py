"""HRNet: branches of several resolutions side by side, which exchange their features."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import oneflow as flow
from flowvision.layers.blocks import ConvBn, ConvBnAct
from flowvision.layers.weight_init import init_conv_
from flowvision.models.image_classifier import make_head
from flowvision.models.registry import ModelFamily
from flowvision.models.resnet import (
    BasicBlock as BasicBlock,
    Bottleneck as Bottleneck,
    conv1x1 as conv1x1,
)
from oneflow import Tensor, nn


@dataclass(frozen=True)
class HighResolutionConfig:
    """The sizes of an HRNet.

    Attributes:
        width: channels of the branch of the highest resolution; each further branch has twice
            those of the one before.
        modules: the number of modules of the last three stages.
        blocks: the number of blocks of each branch of a module.
        first_blocks: the number of bottlenecks of the first stage.
        first_width: a quarter of the channels of the first stage.
    """

    width: int
    modules: tuple[int, int, int] = (1, 4, 3)
    blocks: int = 4
    first_blocks: int = 4
    first_width: int = 64


def _strided(in_channels: int, out_channels: int) -> ConvBnAct:
    return ConvBnAct(in_channels, out_channels, 3, 2)


def _bottleneck(in_channels: int, planes: int) -> Bottleneck:
    """Return a bottleneck whose shortcut changes the number of channels where it must."""
    out_channels = planes * Bottleneck.expansion
    downsample = None
    if in_channels != out_channels:
        downsample = nn.Sequential(conv1x1(in_channels, out_channels), nn.BatchNorm2d(out_channels))
    return Bottleneck(in_channels, planes, downsample=downsample)


class HighResolutionTransition(nn.ModuleList):
    """The step to a stage with one branch more, and with other channels after the first stage.

    Input: tensors (N, before[i], H / 2^i, W / 2^i); output: tensors (N, after[i], ...).

    Args:
        before: channels of the branches of the stage before.
        after: channels of the branches of the stage after.
    """

    def __init__(self, before: Sequence[int], after: Sequence[int]) -> None:
        layers: list[nn.Module] = []
        for index, channels in enumerate(after):
            if index >= len(before):
                layers.append(nn.Sequential(_strided(before[-1], channels)))
            elif before[index] != channels:
                layers.append(ConvBnAct(before[index], channels, 3))
            else:
                layers.append(nn.Identity())
        super().__init__(layers)

    def forward(self, branches: list[Tensor]) -> list[Tensor]:
        padded = [*branches, branches[-1]]
        return [layer(branch) for layer, branch in zip(self, padded, strict=True)]


class HighResolutionModule(nn.Module):
    """Residual blocks in each branch, and then the sum of all branches in each resolution.

    Input and output: tensors (N, channels[i], H / 2^i, W / 2^i).

    Args:
        channels: the number of channels of each branch.
        depth: the number of blocks of each branch.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.models import HighResolutionModule
        >>> module = HighResolutionModule((4, 8), depth=1)
        >>> [y.shape for y in module([flow.rand(1, 4, 8, 8), flow.rand(1, 8, 4, 4)])]
        [oneflow.Size([1, 4, 8, 8]), oneflow.Size([1, 8, 4, 4])]
    """

    def __init__(self, channels: Sequence[int], depth: int) -> None:
        super().__init__()
        self.branches = nn.ModuleList(
            nn.Sequential(*(BasicBlock(width, width) for _ in range(depth))) for width in channels
        )
        self.fuse_layers = nn.ModuleList(
            nn.ModuleList(self._fusion(channels, source, target) for source in range(len(channels)))
            for target in range(len(channels))
        )

    @staticmethod
    def _fusion(channels: Sequence[int], source: int, target: int) -> nn.Module:
        """Return what brings the branch `source` to the resolution of `target`."""
        if source == target:
            return nn.Identity()
        if source > target:
            upsample = nn.Upsample(scale_factor=2 ** (source - target), mode="nearest")
            return nn.Sequential(
                conv1x1(channels[source], channels[target]),
                nn.BatchNorm2d(channels[target]),
                upsample,
            )
        same = [_strided(channels[source], channels[source]) for _ in range(source + 1, target)]
        return nn.Sequential(*same, ConvBn(channels[source], channels[target], 3, 2))

    def forward(self, branches: list[Tensor]) -> list[Tensor]:
        outputs = [blocks(x) for blocks, x in zip(self.branches, branches, strict=True)]
        fused = []
        for layers in self.fuse_layers:
            first, *rest = (layer(x) for layer, x in zip(layers.children(), outputs, strict=True))
            total = first
            for term in rest:
                total = total + term
            fused.append(nn.functional.relu(total))
        return fused


class HighResolutionNet(nn.Module):
    """HRNet for classification, HRNetV2 with its head (https://arxiv.org/abs/1908.07919).

    Input (N, 3, H, W) with H and W multiples of 32; output (N, num_classes).

    Args:
        cfg: the sizes.
        in_chans: channels of the input.
        num_classes: the number of classes.
        drop_rate: the probability with which a feature is dropped before the classifier.
    """

    def __init__(
        self,
        cfg: HighResolutionConfig,
        in_chans: int = 3,
        num_classes: int = 1000,
        drop_rate: float = 0.0,
    ) -> None:
        super().__init__()
        widths = [cfg.width * 2**index for index in range(4)]
        self.conv1 = nn.Conv2d(in_chans, 64, 3, stride=2, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.conv2 = nn.Conv2d(64, 64, 3, stride=2, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(64)
        first = cfg.first_width * Bottleneck.expansion
        inputs = [64] + [first] * (cfg.first_blocks - 1)
        self.layer1 = nn.Sequential(
            *(_bottleneck(channels, cfg.first_width) for channels in inputs)
        )
        self.transition1 = HighResolutionTransition([first], widths[:2])
        self.stage2 = self._stage(cfg.modules[0], widths[:2], cfg.blocks)
        self.transition2 = HighResolutionTransition(widths[:2], widths[:3])
        self.stage3 = self._stage(cfg.modules[1], widths[:3], cfg.blocks)
        self.transition3 = HighResolutionTransition(widths[:3], widths)
        self.stage4 = self._stage(cfg.modules[2], widths, cfg.blocks)
        planes = (32, 64, 128, 256)
        heads = [channels * Bottleneck.expansion for channels in planes]
        self.incre_modules = nn.ModuleList(
            nn.Sequential(_bottleneck(width, channels))
            for width, channels in zip(widths, planes, strict=True)
        )
        self.downsamp_modules = nn.ModuleList(
            ConvBnAct(smaller, larger, 3, 2, bias=True)
            for smaller, larger in itertools.pairwise(heads)
        )
        self.final_layer = ConvBnAct(heads[-1], 2048, 1, bias=True)
        self.global_pool = nn.AdaptiveAvgPool2d((1, 1))
        self.dropout = nn.Dropout(drop_rate)
        self.classifier: nn.Module = nn.Linear(2048, num_classes)
        init_conv_(self)

    @staticmethod
    def _stage(modules: int, channels: Sequence[int], depth: int) -> nn.Sequential:
        return nn.Sequential(*(HighResolutionModule(channels, depth) for _ in range(modules)))

    def get_classifier(self) -> nn.Module:
        """Return the last layer."""
        return self.classifier

    def reset_classifier(self, num_classes: int) -> None:
        """Replace the last layer by a fresh one; with 0 classes the output is the features."""
        self.classifier = make_head(2048, num_classes)

    def forward(self, x: Tensor) -> Tensor:
        x = self.global_pool(self.forward_features(x))
        return self.classifier(self.dropout(flow.flatten(x, 1)))

    def forward_features(self, x: Tensor) -> Tensor:
        """Return the features of images, (N, 2048, H / 32, W / 32)."""
        x = nn.functional.relu(self.bn1(self.conv1(x)))
        x = nn.functional.relu(self.bn2(self.conv2(x)))
        branches = self.stage2(self.transition1([self.layer1(x)]))
        branches = self.stage3(self.transition2(branches))
        branches = self.stage4(self.transition3(branches))
        wider = [
            module(branch) for module, branch in zip(self.incre_modules, branches, strict=True)
        ]
        x = wider[0]
        for downsample, branch in zip(self.downsamp_modules, wider[1:], strict=True):
            x = branch + downsample(x)
        return self.final_layer(x)


_hrnet = ModelFamily(
    __name__,
    HighResolutionNet,
    paper="1908.07919",
    weights="https://huggingface.co/timm/{}/resolve/main/model.safetensors",
)

# fmt: off
hrnet_w18_small = _hrnet("hrnet_w18_small",
    "HRNet of 16 channels and little depth: 13 million parameters.",
    HighResolutionConfig(16, (1, 1, 1), blocks=2, first_blocks=1, first_width=32),
    weights="hrnet_w18_small.gluon_in1k")
hrnet_w18_small_v2 = _hrnet("hrnet_w18_small_v2",
    "HRNet of 18 channels and little depth: 16 million parameters.",
    HighResolutionConfig(18, (1, 3, 2), blocks=2, first_blocks=2),
    weights="hrnet_w18_small_v2.gluon_in1k")
hrnet_w18 = _hrnet("hrnet_w18", "HRNet of 18 channels: 21 million parameters.",
    HighResolutionConfig(18), weights="hrnet_w18.ms_aug_in1k")
hrnet_w30 = _hrnet("hrnet_w30", "HRNet of 30 channels: 38 million parameters.",
    HighResolutionConfig(30), weights="hrnet_w30.ms_in1k")
hrnet_w32 = _hrnet("hrnet_w32", "HRNet of 32 channels: 41 million parameters.",
    HighResolutionConfig(32), weights="hrnet_w32.ms_in1k")
hrnet_w40 = _hrnet("hrnet_w40", "HRNet of 40 channels: 58 million parameters.",
    HighResolutionConfig(40), weights="hrnet_w40.ms_in1k")
hrnet_w44 = _hrnet("hrnet_w44", "HRNet of 44 channels: 67 million parameters.",
    HighResolutionConfig(44), weights="hrnet_w44.ms_in1k")
hrnet_w48 = _hrnet("hrnet_w48", "HRNet of 48 channels: 77 million parameters.",
    HighResolutionConfig(48), weights="hrnet_w48.ms_in1k")
hrnet_w64 = _hrnet("hrnet_w64", "HRNet of 64 channels: 128 million parameters.",
    HighResolutionConfig(64), weights="hrnet_w64.ms_in1k")
