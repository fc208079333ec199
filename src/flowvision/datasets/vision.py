"""The base of image data sets."""

from oneflow.data.vision.datasets import StandardTransform as StandardTransform
from oneflow.utils.vision.datasets import (
    VisionDataset as VisionDataset,
)
