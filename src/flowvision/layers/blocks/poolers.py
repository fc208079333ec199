"""RoIAlign over several levels under the names of the layers; see `flowvision.ops`."""

from flowvision.ops.poolers import (
    LevelMapper as LevelMapper,
    MultiScaleRoIAlign as MultiScaleRoIAlign,
    initLevelMapper as initLevelMapper,
)
