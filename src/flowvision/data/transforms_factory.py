"""Pipelines of transforms for training and evaluating on ImageNet and the like."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

from flowvision import transforms
from flowvision.data.auto_augment import (
    augment_and_mix_transform,
    auto_augment_transform,
    rand_augment_transform,
)
from flowvision.data.constants import (
    DEFAULT_CROP_PCT,
    IMAGENET_DEFAULT_MEAN,
    IMAGENET_DEFAULT_STD,
)
from flowvision.data.random_erasing import RandomErasing
from flowvision.transforms.functional import InterpolationMode, resized_crop, str_to_pil_interp

Size = int | Sequence[int]


class RandomResizedCropAndInterpolation(transforms.RandomResizedCrop):
    """`RandomResizedCrop` whose interpolation may be chosen for each image.

    Args:
        size: height and width of the result, or one number for both.
        scale: range of the rectangle's share of the area.
        ratio: range of its width divided by its height.
        interpolation: name of a mode, or ``"random"``: bilinear or bicubic.
    """

    def __init__(
        self,
        size: Size,
        scale: Sequence[float] = (0.08, 1.0),
        ratio: Sequence[float] = (3.0 / 4.0, 4.0 / 3.0),
        interpolation: str = "bilinear",
    ) -> None:
        is_random = interpolation == "random"
        super().__init__(size, scale, ratio, "bilinear" if is_random else interpolation)
        self.choices = (
            (InterpolationMode.BILINEAR, InterpolationMode.BICUBIC)
            if is_random
            else (self.interpolation,)
        )

    def forward(self, img: Any) -> Any:
        """Return the crop."""
        box = self.get_params(img, self.scale, self.ratio)
        return resized_crop(img, *box, self.size, random.choice(self.choices))


def _into_tensor(
    mean: Sequence[float], std: Sequence[float], use_prefetcher: bool
) -> list[transforms.ImageTransform]:
    """Return what comes last: arrays of bytes where a prefetcher normalises, else tensors."""
    if use_prefetcher:
        return [transforms.ToNumpy()]
    return [transforms.ToTensor(), transforms.Normalize(mean, std)]


def transforms_noaug_train(
    img_size: Size = 224,
    interpolation: str = "bilinear",
    use_prefetcher: bool = False,
    mean: Sequence[float] = IMAGENET_DEFAULT_MEAN,
    std: Sequence[float] = IMAGENET_DEFAULT_STD,
) -> transforms.Compose:
    """Return a pipeline for training without augmentation: the middle in the right size.

    Args:
        img_size: height and width, or one number for both.
        interpolation: how new pixels come from old ones.
        use_prefetcher: end with arrays of bytes, for a prefetcher that normalises.
        mean: one number per channel.
        std: one number per channel.
    """
    mode = "bilinear" if interpolation == "random" else interpolation
    return transforms.Compose(
        [
            transforms.Resize(img_size, mode),
            transforms.CenterCrop(img_size),
            *_into_tensor(mean, std, use_prefetcher),
        ]
    )


def transforms_imagenet_train(
    img_size: Size = 224,
    scale: Sequence[float] | None = None,
    ratio: Sequence[float] | None = None,
    hflip: float = 0.5,
    vflip: float = 0.0,
    color_jitter: float | Sequence[float] | None = 0.4,
    auto_augment: str | None = None,
    interpolation: str = "random",
    use_prefetcher: bool = False,
    mean: Sequence[float] = IMAGENET_DEFAULT_MEAN,
    std: Sequence[float] = IMAGENET_DEFAULT_STD,
    re_prob: float = 0.0,
    re_mode: str = "const",
    re_count: int = 1,
    re_num_splits: int = 0,
    separate: bool = False,
) -> Any:
    """Return a pipeline for training: random crops, mirrors and colors, then tensors.

    Args:
        img_size: height and width, or one number for both.
        scale: range of the crop's share of the area, by default (0.08, 1).
        ratio: range of its width divided by its height, by default (3/4, 4/3).
        hflip: the probability of mirroring left to right.
        vflip: the probability of mirroring upside down.
        color_jitter: strength of brightness, contrast and saturation (and hue), or one number.
        auto_augment: description of an automatic augmentation instead of random colors, such as
            ``"rand-m9-mstd0.5"``, ``"augmix-m5"`` or ``"original"``.
        interpolation: how new pixels come from old ones, or ``"random"``.
        use_prefetcher: end with arrays of bytes, for a prefetcher that normalises.
        mean: one number per channel.
        std: one number per channel.
        re_prob: the probability of random erasing.
        re_mode: its mode; see `RandomErasing`.
        re_count: its most rectangles.
        re_num_splits: its parts of a batch.
        separate: return the three parts apart: sizes, colors, tensors.

    Example:
        >>> from PIL import Image
        >>> from flowvision.data import transforms_imagenet_train
        >>> transforms_imagenet_train(img_size=32)(Image.new("RGB", (64, 48))).shape
        oneflow.Size([3, 32, 32])
    """
    crop = RandomResizedCropAndInterpolation(
        img_size, tuple(scale or (0.08, 1.0)), tuple(ratio or (3 / 4, 4 / 3)), interpolation
    )
    first: list[Any] = [crop]
    if hflip > 0:
        first.append(transforms.RandomHorizontalFlip(hflip))
    if vflip > 0:
        first.append(transforms.RandomVerticalFlip(vflip))
    second: list[Any] = []
    if auto_augment:
        second.append(_augmentation(auto_augment, img_size, interpolation, mean))
    elif color_jitter is not None:
        single = isinstance(color_jitter, int | float)
        second.append(transforms.ColorJitter(*([color_jitter] * 3 if single else color_jitter)))
    last: list[Any] = _into_tensor(mean, std, use_prefetcher)
    if re_prob > 0 and not use_prefetcher:
        last.append(
            RandomErasing(re_prob, mode=re_mode, max_count=re_count, num_splits=re_num_splits)
        )
    if separate:
        return tuple(transforms.Compose(part) for part in (first, second, last))
    return transforms.Compose(first + second + last)


def _augmentation(config: str, img_size: Size, interpolation: str, mean: Sequence[float]) -> Any:
    min_side = img_size if isinstance(img_size, int) else min(img_size)
    hparams: dict[str, Any] = {
        "translate_const": int(min_side * 0.45),
        "img_mean": tuple(min(255, round(255 * channel)) for channel in mean),
    }
    if interpolation != "random":
        hparams["interpolation"] = str_to_pil_interp(interpolation)
    if config.startswith("rand"):
        return rand_augment_transform(config, hparams)
    if config.startswith("augmix"):
        return augment_and_mix_transform(config, {**hparams, "translate_pct": 0.3})
    return auto_augment_transform(config, hparams)


def transforms_imagenet_eval(
    img_size: Size = 224,
    crop_pct: float | None = None,
    interpolation: str = "bilinear",
    use_prefetcher: bool = False,
    mean: Sequence[float] = IMAGENET_DEFAULT_MEAN,
    std: Sequence[float] = IMAGENET_DEFAULT_STD,
) -> transforms.Compose:
    """Return a pipeline for evaluating: the middle of an image that is a little larger.

    Args:
        img_size: height and width, or one number for both.
        crop_pct: the middle's part of the resized image's sides, by default 0.875.
        interpolation: how new pixels come from old ones.
        use_prefetcher: end with arrays of bytes, for a prefetcher that normalises.
        mean: one number per channel.
        std: one number per channel.

    Example:
        >>> from PIL import Image
        >>> from flowvision.data import transforms_imagenet_eval
        >>> transforms_imagenet_eval(img_size=32)(Image.new("RGB", (64, 48))).shape
        oneflow.Size([3, 32, 32])
    """
    part = crop_pct or DEFAULT_CROP_PCT
    sides = [img_size] if isinstance(img_size, int) else list(img_size)
    if len(set(sides)) == 1:
        sides = sides[:1]  # a length of the shorter side: the form stays
    larger = [math.floor(side / part) for side in sides]
    return transforms.Compose(
        [
            transforms.Resize(larger, interpolation),
            transforms.CenterCrop(img_size),
            *_into_tensor(mean, std, use_prefetcher),
        ]
    )


def create_transform(
    input_size: Size,
    is_training: bool = False,
    use_prefetcher: bool = False,
    no_aug: bool = False,
    scale: Sequence[float] | None = None,
    ratio: Sequence[float] | None = None,
    hflip: float = 0.5,
    vflip: float = 0.0,
    color_jitter: float | Sequence[float] | None = 0.4,
    auto_augment: str | None = None,
    interpolation: str = "bilinear",
    mean: Sequence[float] = IMAGENET_DEFAULT_MEAN,
    std: Sequence[float] = IMAGENET_DEFAULT_STD,
    re_prob: float = 0.0,
    re_mode: str = "const",
    re_count: int = 1,
    re_num_splits: int = 0,
    crop_pct: float | None = None,
    tf_preprocessing: bool = False,
    separate: bool = False,
) -> Any:
    """Return the pipeline for training or evaluating; its parts take the same arguments.

    Args:
        input_size: ends with height and width, or one number for both.
        is_training: `transforms_imagenet_train` instead of `transforms_imagenet_eval`.
        use_prefetcher: the same as there.
        no_aug: `transforms_noaug_train` instead.
        scale: the same as there.
        ratio: the same as there.
        hflip: the same as there.
        vflip: the same as there.
        color_jitter: the same as there.
        auto_augment: the same as there.
        interpolation: the same as there.
        mean: the same as there.
        std: the same as there.
        re_prob: the same as there.
        re_mode: the same as there.
        re_count: the same as there.
        re_num_splits: the same as there.
        crop_pct: the same as there.
        tf_preprocessing: TensorFlow's own pipeline, which there is not.
        separate: the same as there; only for training with augmentation.

    Raises:
        ValueError: `separate` elsewhere.
        NotImplementedError: `tf_preprocessing`.

    Example:
        >>> from PIL import Image
        >>> from flowvision.data import create_transform
        >>> create_transform(224)(Image.new("RGB", (640, 480))).shape
        oneflow.Size([3, 224, 224])
    """
    _check_options(tf_preprocessing, separate and (no_aug or not is_training))
    size = input_size if isinstance(input_size, int) else tuple(input_size)[-2:]
    common: dict[str, Any] = {
        "img_size": size,
        "interpolation": interpolation,
        "use_prefetcher": use_prefetcher,
        "mean": mean,
        "std": std,
    }
    if not is_training:
        return transforms_imagenet_eval(crop_pct=crop_pct, **common)
    if no_aug:
        return transforms_noaug_train(**common)
    return transforms_imagenet_train(
        scale=scale,
        ratio=ratio,
        hflip=hflip,
        vflip=vflip,
        color_jitter=color_jitter,
        auto_augment=auto_augment,
        re_prob=re_prob,
        re_mode=re_mode,
        re_count=re_count,
        re_num_splits=re_num_splits,
        separate=separate,
        **common,
    )


def _check_options(tf_preprocessing: bool, separate_parts: bool) -> None:
    if tf_preprocessing:
        raise NotImplementedError("tf_preprocessing needs TensorFlow; use the default pipeline")
    if separate_parts:
        raise ValueError("`separate` needs `is_training=True` and `no_aug=False`")
