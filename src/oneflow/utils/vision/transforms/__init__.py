"""Image transforms."""

from oneflow.data.randomness import random_numbers as random_numbers
from oneflow.data.vision.resize import InterpolationMode as InterpolationMode
from oneflow.data.vision.transforms import (
    CenterCrop as CenterCrop,
    Compose as Compose,
    ConvertImageDtype as ConvertImageDtype,
    FiveCrop as FiveCrop,
    Lambda as Lambda,
    Normalize as Normalize,
    Pad as Pad,
    PILToTensor as PILToTensor,
    RandomApply as RandomApply,
    RandomChoice as RandomChoice,
    RandomCrop as RandomCrop,
    RandomHorizontalFlip as RandomHorizontalFlip,
    RandomOrder as RandomOrder,
    RandomResizedCrop as RandomResizedCrop,
    RandomSizedCrop as RandomSizedCrop,
    RandomTransforms as RandomTransforms,
    RandomVerticalFlip as RandomVerticalFlip,
    Resize as Resize,
    Scale as Scale,
    TenCrop as TenCrop,
    ToPILImage as ToPILImage,
    ToTensor as ToTensor,
    Transform as Transform,
)
from oneflow.utils.vision.transforms import functional as functional
