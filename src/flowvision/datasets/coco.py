"""COCO."""

from oneflow.utils.vision.datasets import (
    CocoCaptions as CocoCaptions,
    CocoDetection as CocoDetection,
)
