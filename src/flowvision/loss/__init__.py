"""Losses of classification."""

from flowvision.loss.cross_entropy import (
    LabelSmoothingCrossEntropy as LabelSmoothingCrossEntropy,
    SoftTargetCrossEntropy as SoftTargetCrossEntropy,
)
