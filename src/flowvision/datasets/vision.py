"""The base of image data sets."""

from oneflow.utils.vision.datasets import (
    VisionDataset as VisionDataset,
)
