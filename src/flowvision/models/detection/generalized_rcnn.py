"""The common parts of detectors with two stages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flowvision.models.detection.inputs import check_inputs
from oneflow import Tensor, nn


class GeneralizedRCNN(nn.Module):
    """A detector that proposes boxes and then classifies them.

    Takes a list of images (C, H, W) with values in [0, 1]. While training it takes the targets,
    too, and returns a dict of losses; otherwise a list of dicts of what is in each image.

    Args:
        backbone: from a batch of images to features, a dict.
        rpn: proposes boxes, see `RegionProposalNetwork`.
        roi_heads: classifies them, see `RoIHeads`.
        transform: makes a batch, see `GeneralizedRCNNTransform`.
    """

    def __init__(
        self, backbone: nn.Module, rpn: nn.Module, roi_heads: nn.Module, transform: nn.Module
    ) -> None:
        super().__init__()
        self.transform = transform
        self.backbone = backbone
        self.rpn = rpn
        self.roi_heads = roi_heads

    def forward(
        self, images: Sequence[Tensor], targets: Sequence[Mapping[str, Tensor]] | None = None
    ) -> dict[str, Tensor] | list[dict[str, Tensor]]:
        check_inputs(images, targets, training=self.training)
        original_sizes = [(image.shape[-2], image.shape[-1]) for image in images]
        batch, targets = self.transform(images, targets)
        features = self.backbone(batch.tensors)
        if isinstance(features, Tensor):
            features = {"0": features}
        proposals, proposal_losses = self.rpn(batch, features, targets)
        detections, losses = self.roi_heads(features, proposals, batch.image_sizes, targets)
        if self.training:
            return {**losses, **proposal_losses}
        return self.transform.postprocess(detections, batch.image_sizes, original_sizes)
