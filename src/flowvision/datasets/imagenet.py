"""ImageNet."""

from oneflow.utils.vision.datasets import (
    ImageNet as ImageNet,
)
