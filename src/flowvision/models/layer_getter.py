"""The results of layers inside a model."""

from flowvision.models.segmentation.seg_utils import (
    IntermediateLayerGetter as IntermediateLayerGetter,
)
