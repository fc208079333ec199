"""Image transforms."""

from oneflow.data.randomness import random_numbers as random_numbers
from oneflow.data.vision.random_transforms import (
    RandomCrop as RandomCrop,
    RandomHorizontalFlip as RandomHorizontalFlip,
    RandomResizedCrop as RandomResizedCrop,
    RandomSizedCrop as RandomSizedCrop,
    RandomVerticalFlip as RandomVerticalFlip,
)
from oneflow.data.vision.resize import InterpolationMode as InterpolationMode
from oneflow.data.vision.transforms import (
    CenterCrop as CenterCrop,
    Compose as Compose,
    ConvertImageDtype as ConvertImageDtype,
    FiveCrop as FiveCrop,
    ImageTransform as ImageTransform,
    Lambda as Lambda,
    Normalize as Normalize,
    Pad as Pad,
    PILToTensor as PILToTensor,
    RandomApply as RandomApply,
    RandomChoice as RandomChoice,
    RandomOrder as RandomOrder,
    RandomTransforms as RandomTransforms,
    Resize as Resize,
    Scale as Scale,
    TenCrop as TenCrop,
    ToPILImage as ToPILImage,
    ToTensor as ToTensor,
)
from oneflow.utils.vision.transforms import functional as functional
