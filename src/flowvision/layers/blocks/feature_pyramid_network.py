"""Feature pyramids under the names of the layers; see `flowvision.ops`."""

from flowvision.ops.feature_pyramid_network import (
    ExtraFPNBlock as ExtraFPNBlock,
    FeaturePyramidNetwork as FeaturePyramidNetwork,
    LastLevelMaxPool as LastLevelMaxPool,
    LastLevelP6P7 as LastLevelP6P7,
    rename_wrapped_convolution as rename_wrapped_convolution,
)
