"""Cross entropy with smoothed and with soft targets."""

from __future__ import annotations

import oneflow as flow
from oneflow import nn
from oneflow.nn import functional as F


class LabelSmoothingCrossEntropy(nn.Module):
    """Mean cross entropy where each class has a part of the target.

    The paper: Szegedy et al., "Rethinking the Inception Architecture for Computer Vision", 2015.

    Args:
        smoothing: the part that is spread evenly over all classes, below 1.

    Raises:
        ValueError: `smoothing` is 1 or more.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.loss import LabelSmoothingCrossEntropy
        >>> round(LabelSmoothingCrossEntropy(0.1)(flow.zeros(2, 4), flow.tensor([0, 3])).item(), 4)
        1.3863
    """

    def __init__(self, smoothing: float = 0.1) -> None:
        super().__init__()
        if smoothing >= 1.0:
            raise ValueError(f"smoothing must be below 1, got {smoothing}")
        self.smoothing = smoothing

    def forward(self, x: flow.Tensor, target: flow.Tensor) -> flow.Tensor:
        """Return the mean over a batch.

        Args:
            x: logits ``[N, C]``.
            target: class numbers ``[N]``.
        """
        return F.cross_entropy(x, target, label_smoothing=self.smoothing)


class SoftTargetCrossEntropy(nn.Module):
    """Mean cross entropy with a distribution over classes as target, such as `Mixup`'s.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.loss import SoftTargetCrossEntropy
        >>> round(SoftTargetCrossEntropy()(flow.zeros(2, 4), flow.full((2, 4), 0.25)).item(), 4)
        1.3863
    """

    def forward(self, x: flow.Tensor, target: flow.Tensor) -> flow.Tensor:
        """Return the mean over all but the last dimension.

        Args:
            x: logits ``[..., C]``.
            target: shares of the classes, of the same shape.
        """
        return -(target * F.log_softmax(x, dim=-1)).sum(dim=-1).mean()
