"""Mask R-CNN: Faster R-CNN with a mask for each box."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from flowvision.models.detection.backbone_utils import (
    frozen_norm,
    resnet_fpn_backbone,
    trainable_layers,
)
from flowvision.models.detection.faster_rcnn import FasterRCNN
from flowvision.models.registry import register_model
from flowvision.ops.feature_pyramid_network import rename_wrapped_convolution
from flowvision.ops.poolers import MultiScaleRoIAlign
from oneflow import nn


class MaskRCNN(FasterRCNN):
    """Mask R-CNN (https://arxiv.org/abs/1703.06870).

    Takes and returns what `FasterRCNN` does. Targets also hold "masks" (objects, H, W) of zeros and
    ones, what is found also "masks" (n, 1, H, W) of probabilities, and there is a "loss_mask".

    Args:
        backbone: see `FasterRCNN`.
        num_classes: the number of classes, with the background; None if there are a `box_predictor`
            and a `mask_predictor`.
        mask_roi_pool: see `RoIHeads`.
        mask_head: by default `MaskRCNNHeads`.
        mask_predictor: by default `MaskRCNNPredictor`.
        **kwargs: further arguments of `FasterRCNN`.

    Raises:
        ValueError: if both `num_classes` and `mask_predictor` are given.
    """

    def __init__(
        self,
        backbone: nn.Module,
        num_classes: int | None = None,
        *,
        mask_roi_pool: nn.Module | None = None,
        mask_head: nn.Module | None = None,
        mask_predictor: nn.Module | None = None,
        **kwargs: Any,
    ) -> None:
        if (num_classes is None) == (mask_predictor is None):
            raise ValueError(
                "give either `num_classes` or `mask_predictor`, which knows the number of "
                f"classes; got {num_classes} and {mask_predictor}"
            )
        channels = (256, 256, 256, 256)
        super().__init__(
            backbone,
            num_classes,
            mask_heads={
                "mask_roi_pool": mask_roi_pool or MultiScaleRoIAlign(["0", "1", "2", "3"], 14, 2),
                "mask_head": mask_head or MaskRCNNHeads(backbone.out_channels, channels, 1),
                "mask_predictor": mask_predictor
                or MaskRCNNPredictor(channels[-1], 256, num_classes or 0),
            },
            **kwargs,
        )


class MaskRCNNHeads(nn.Sequential):
    """3 x 3 convolutions with rectifiers; keeps height and width.

    Args:
        in_channels: the number of channels of the input.
        layers: the channels of each convolution.
        dilation: the dilation of all convolutions.
    """

    def __init__(self, in_channels: int, layers: Sequence[int], dilation: int) -> None:
        modules: OrderedDict[str, nn.Module] = OrderedDict()
        for number, channels in enumerate(layers, start=1):
            modules[f"mask_fcn{number}"] = nn.Conv2d(
                in_channels, channels, 3, padding=dilation, dilation=dilation
            )
            modules[f"relu{number}"] = nn.ReLU(inplace=True)
            in_channels = channels
        super().__init__(modules)
        _init_convs(self)

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, *rest: Any, **options: Any
    ) -> None:
        # Newer files of torchvision number the convolutions, from 0.
        for number in range(len(self) // 2):
            rename_wrapped_convolution(state_dict, f"{prefix}{number}.")
            for kind in ("weight", "bias"):
                old_name = f"{prefix}{number}.{kind}"
                if old_name in state_dict:
                    named = f"{prefix}mask_fcn{number + 1}.{kind}"
                    state_dict[named] = state_dict.pop(old_name)
        super()._load_from_state_dict(state_dict, prefix, *rest, **options)


class MaskRCNNPredictor(nn.Sequential):
    """From features (n, in_channels, M, M) to logits (n, num_classes, 2 * M, 2 * M).

    Args:
        in_channels: the number of channels of the features.
        dim_reduced: channels of the transposed convolution.
        num_classes: the number of classes, with the background.
    """

    def __init__(self, in_channels: int, dim_reduced: int, num_classes: int) -> None:
        super().__init__(
            OrderedDict(
                conv5_mask=nn.ConvTranspose2d(in_channels, dim_reduced, 2, 2, 0),
                relu=nn.ReLU(inplace=True),
                mask_fcn_logits=nn.Conv2d(dim_reduced, num_classes, 1, 1, 0),
            )
        )
        _init_convs(self)


def _init_convs(module: nn.Module) -> None:
    for name, parameter in module.named_parameters():
        if name.endswith("weight"):
            nn.init.kaiming_normal_(parameter, mode="fan_out", nonlinearity="relu")
        else:
            nn.init.zeros_(parameter)


@register_model(
    paper="1703.06870",
    task="instance segmentation",
    url="https://download.pytorch.org/models/maskrcnn_resnet50_fpn_coco-bf2d0c1e.pth",
    pretrained_options={"norm_eps": 0.0},
)
def maskrcnn_resnet50_fpn(
    num_classes: int = 91,
    pretrained_backbone: bool = False,
    trainable_backbone_layers: int | None = None,
    norm_eps: float = 1e-5,
    **kwargs: Any,
) -> MaskRCNN:
    """Mask R-CNN on a ResNet-50: 44 million parameters; see `fasterrcnn_resnet50_fpn`."""
    trained = trainable_layers(
        trainable_backbone_layers, pretrained=pretrained_backbone, default=3, most=5
    )
    backbone = resnet_fpn_backbone(
        "resnet50", pretrained_backbone, frozen_norm(norm_eps), trainable_layers=trained
    )
    return MaskRCNN(backbone, num_classes, **kwargs)
