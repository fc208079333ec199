"""Pascal VOC."""

from oneflow.utils.vision.datasets import (
    VOCDetection as VOCDetection,
    VOCSegmentation as VOCSegmentation,
)
