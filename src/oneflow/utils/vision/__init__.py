"""Image data sets and transforms."""

from oneflow.data.vision.datasets import (
    get_image_backend as get_image_backend,
    set_image_backend as set_image_backend,
)
from oneflow.utils.vision import datasets as datasets, transforms as transforms
