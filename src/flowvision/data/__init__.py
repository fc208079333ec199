"""Augmentation in the manner of timm: automatic, by mixing, by erasing; whole pipelines."""

from flowvision.data import constants as constants
from flowvision.data.auto_augment import (
    AugMixAugment as AugMixAugment,
    AutoAugment as AutoAugment,
    RandAugment as RandAugment,
    augment_and_mix_transform as augment_and_mix_transform,
    auto_augment_transform as auto_augment_transform,
    rand_augment_transform as rand_augment_transform,
)
from flowvision.data.constants import (
    DEFAULT_CROP_PCT as DEFAULT_CROP_PCT,
    IMAGENET_DEFAULT_MEAN as IMAGENET_DEFAULT_MEAN,
    IMAGENET_DEFAULT_STD as IMAGENET_DEFAULT_STD,
    IMAGENET_DPN_MEAN as IMAGENET_DPN_MEAN,
    IMAGENET_DPN_STD as IMAGENET_DPN_STD,
    IMAGENET_INCEPTION_MEAN as IMAGENET_INCEPTION_MEAN,
    IMAGENET_INCEPTION_STD as IMAGENET_INCEPTION_STD,
)
from flowvision.data.mixup import (
    Mixup as Mixup,
    cutmix_bbox_and_lam as cutmix_bbox_and_lam,
    mixup_target as mixup_target,
    rand_bbox as rand_bbox,
    rand_bbox_minmax as rand_bbox_minmax,
)
from flowvision.data.random_erasing import RandomErasing as RandomErasing
from flowvision.data.transforms_factory import (
    create_transform as create_transform,
    transforms_imagenet_eval as transforms_imagenet_eval,
    transforms_imagenet_train as transforms_imagenet_train,
)
