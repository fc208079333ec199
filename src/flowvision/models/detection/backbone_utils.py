"""Backbones of detectors: classifiers whose intermediate features a pyramid merges."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence

from flowvision.models.registry import ModelCreator
from flowvision.models.segmentation.seg_utils import (
    IntermediateLayerGetter,
    block_channels,
    stage_starts,
)
from flowvision.ops.feature_pyramid_network import (
    ExtraFPNBlock,
    FeaturePyramidNetwork,
    LastLevelMaxPool,
)
from flowvision.ops.misc import FrozenBatchNorm2d
from oneflow import Tensor, nn


class BackboneWithFPN(nn.Module):
    """Features of a backbone, merged by a feature pyramid.

    Input (N, 3, H, W); output a dict of features (N, out_channels, H_i, W_i), the largest first.

    Args:
        backbone: a model whose children run one after another.
        return_layers: a mapping from names of its children to names of levels.
        in_channels_list: the channels of these children's results.
        out_channels: the number of channels of all levels.
        extra_blocks: adds levels; by default one of every second row and column.
    """

    def __init__(
        self,
        backbone: nn.Module,
        return_layers: Mapping[str, str],
        in_channels_list: Sequence[int],
        out_channels: int,
        extra_blocks: ExtraFPNBlock | None = None,
    ) -> None:
        super().__init__()
        self.body = IntermediateLayerGetter(backbone, return_layers)
        self.fpn = FeaturePyramidNetwork(
            in_channels_list, out_channels, extra_blocks or LastLevelMaxPool()
        )
        self.out_channels = out_channels

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        return self.fpn(self.body(x))


def resnet_fpn_backbone(
    backbone_name: str,
    pretrained: bool = False,
    norm_layer: Callable[[int], nn.Module] = FrozenBatchNorm2d,
    trainable_layers: int = 3,
    returned_layers: Sequence[int] | None = None,
    extra_blocks: ExtraFPNBlock | None = None,
) -> BackboneWithFPN:
    """Return a ResNet with a feature pyramid.

    Args:
        backbone_name: such as "resnet50".
        pretrained: whether to load weights of ImageNet.
        norm_layer: makes a normalization from the number of channels.
        trainable_layers: how many of the five parts, the last first, are trained.
        returned_layers: the stages whose results are levels, 1 to 4; by default all.
        extra_blocks: see `BackboneWithFPN`.

    Raises:
        ValueError: if there are no such stages or parts.
    """
    model = ModelCreator.create_model(backbone_name, pretrained=pretrained, norm_layer=norm_layer)
    parts = ["layer4", "layer3", "layer2", "layer1", "conv1"]
    if not 0 <= trainable_layers <= 5:
        raise ValueError(f"`trainable_layers` must be in [0, 5], got {trainable_layers}")
    trained = [*parts[:trainable_layers], *(["bn1"] if trainable_layers == 5 else [])]
    for name, parameter in model.named_parameters():
        if not name.startswith(tuple(trained)):
            parameter.requires_grad_(False)
    stages = list(returned_layers or (1, 2, 3, 4))
    if min(stages) < 1 or max(stages) > 4:
        raise ValueError(f"`returned_layers` must be in [1, 4], got {stages}")
    names = {f"layer{stage}": str(index) for index, stage in enumerate(stages)}
    last_channels = model.get_parameter("fc.weight").shape[1]
    channels = [last_channels // 2 ** (4 - stage) for stage in stages]
    return BackboneWithFPN(model, names, channels, 256, extra_blocks)


def mobilenet_backbone(
    backbone_name: str,
    pretrained: bool = False,
    fpn: bool = True,
    norm_layer: Callable[[int], nn.Module] = FrozenBatchNorm2d,
    trainable_layers: int = 2,
    returned_layers: Sequence[int] | None = None,
    extra_blocks: ExtraFPNBlock | None = None,
) -> nn.Module:
    """Return a MobileNet, with or without a feature pyramid.

    Args:
        backbone_name: such as "mobilenet_v3_large".
        pretrained: whether to load weights of ImageNet.
        fpn: whether there is a feature pyramid; otherwise the result is one tensor with 256
            channels.
        norm_layer: makes a normalization from the number of channels.
        trainable_layers: how many stages, the last first, are trained; a stage begins with a
            stride.
        returned_layers: the stages whose results are levels; by default the last two.
        extra_blocks: see `BackboneWithFPN`.

    Raises:
        ValueError: if there are no such stages.
    """
    model = ModelCreator.create_model(backbone_name, pretrained=pretrained, norm_layer=norm_layer)
    features = model.get_submodule("features")
    blocks = list(features.children())
    starts = stage_starts(blocks)
    count = len(starts)
    if not 0 <= trainable_layers <= count:
        raise ValueError(f"`trainable_layers` must be in [0, {count}], got {trainable_layers}")
    frozen = len(blocks) if not trainable_layers else starts[count - trainable_layers]
    for block in blocks[:frozen]:
        block.requires_grad_(False)
    if not fpn:
        last = nn.Sequential(features, nn.Conv2d(block_channels(blocks[-1]), 256, 1))
        last.out_channels = 256
        return last
    stages = list(returned_layers or (count - 2, count - 1))
    if min(stages) < 0 or max(stages) >= count:
        raise ValueError(f"`returned_layers` must be in [0, {count - 1}], got {stages}")
    names = {str(starts[stage]): str(index) for index, stage in enumerate(stages)}
    channels = [block_channels(blocks[starts[stage]]) for stage in stages]
    return BackboneWithFPN(features, names, channels, 256, extra_blocks)


def trainable_layers(trainable: int | None, *, pretrained: bool, default: int, most: int) -> int:
    """Return how many layers of a backbone are trained: all if its weights are random.

    Args:
        trainable: what the user asked for; None: `default`.
        pretrained: whether the backbone has pretrained weights.
        default: for pretrained ones.
        most: all of them.
    """
    if not pretrained:
        return most
    return default if trainable is None else trainable


def frozen_norm(eps: float) -> Callable[[int], nn.Module]:
    """Return what makes normalizations with fixed statistics that add `eps` to the variance."""
    return functools.partial(FrozenBatchNorm2d, eps=eps)
