"""Names that programs for torchvision import from its module of this name."""

from flowvision.models.segmentation.seg_utils import (
    IntermediateLayerGetter as IntermediateLayerGetter,
)
