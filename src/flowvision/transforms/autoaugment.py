"""Augmentation by sequences of simple changes, drawn from oneflow's default generator.

An operation is known by its name, and by the magnitudes that it may have.
"""

from __future__ import annotations

import enum
import inspect
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import oneflow as flow
from flowvision.transforms import functional
from flowvision.transforms.autoaugment_policies import POLICIES
from flowvision.transforms.functional import InterpolationMode
from oneflow.utils.vision.transforms import ImageTransform, random_numbers

Fill = Sequence[float] | float | None


class AutoAugmentPolicy(enum.Enum):
    """Policies of `AutoAugment`, named after the data set that each was learned on.

    Example:
        >>> import oneflow as flow
        >>> from flowvision import transforms
        >>> policy = transforms.AutoAugmentPolicy.CIFAR10
        >>> transforms.AutoAugment(policy).policy
        <AutoAugmentPolicy.CIFAR10: 'cifar10'>
    """

    IMAGENET = "imagenet"
    CIFAR10 = "cifar10"
    SVHN = "svhn"


@dataclass(frozen=True)
class _MagnitudeRanges:
    """The largest magnitudes of operations.

    Attributes:
        shear: the size of a shear.
        translation: the distance of a move: a part of the image below 1, else pixels.
        degrees: the angle of a rotation.
        color: the size of changes of brightness, color, contrast and sharpness.
        bits: those that posterizing keeps at the smallest and at the largest magnitude.
    """

    shear: float = 0.3
    translation: float = 150 / 331
    degrees: float = 30.0
    color: float = 0.9
    bits: tuple[int, int] = (8, 4)

    def space(self, bins: int, size: tuple[int, int]) -> dict[str, tuple[np.ndarray, bool]]:
        """Return the magnitudes of each operation, and whether their sign is drawn.

        Args:
            bins: number of magnitudes.
            size: height and width of the image.
        """
        height, width = (self.translation * (side if self.translation < 1 else 1) for side in size)
        first, last = self.bits
        bits = first - np.round(np.linspace(0, first - last, bins)).astype(int)
        signed = {
            "ShearX": self.shear,
            "ShearY": self.shear,
            "TranslateX": width,
            "TranslateY": height,
            "Rotate": self.degrees,
            **dict.fromkeys(("Brightness", "Color", "Contrast", "Sharpness"), self.color),
        }
        return {
            **{name: (np.linspace(0, most, bins), True) for name, most in signed.items()},
            "Posterize": (bits, False),
            "Solarize": (np.linspace(255, 0, bins), False),
            **dict.fromkeys(
                ("AutoContrast", "Equalize", "Invert", "Identity"), (np.zeros(bins), False)
            ),
        }


def apply_operation(
    img: Any, name: str, magnitude: float, interpolation: InterpolationMode, fill: Any = None
) -> Any:
    """Return the image after an operation.

    Args:
        img: a Pillow image, or a tensor ``[..., C, H, W]``.
        name: the operation's.
        magnitude: how strong it is; its meaning depends on the operation.
        interpolation: the interpolation of operations that move pixels.
        fill: color of pixels from outside, by default 0.

    Raises:
        ValueError: there is no such operation.
    """
    options = {"interpolation": interpolation, "fill": fill}
    identity = {"angle": 0.0, "translate": [0, 0], "scale": 1.0, "shear": [0.0, 0.0]}
    if name in ("ShearX", "ShearY"):
        degrees = math.degrees(math.atan(magnitude))
        shear = [degrees, 0.0] if name == "ShearX" else [0.0, degrees]
        # About the corner, as in the paper.
        return functional.affine(img, **{**identity, "shear": shear}, center=[0, 0], **options)
    if name in ("TranslateX", "TranslateY"):
        moved = [int(magnitude), 0] if name == "TranslateX" else [0, int(magnitude)]
        return functional.affine(img, **{**identity, "translate": moved}, **options)
    if name == "Rotate":
        return functional.rotate(img, magnitude, **options)
    if name not in _CHANGES:
        raise ValueError(f"there is no operation {name!r}")
    return _CHANGES[name](img, magnitude)


_CHANGES = {
    "Brightness": lambda img, m: functional.adjust_brightness(img, 1.0 + m),
    "Color": lambda img, m: functional.adjust_saturation(img, 1.0 + m),
    "Contrast": lambda img, m: functional.adjust_contrast(img, 1.0 + m),
    "Sharpness": lambda img, m: functional.adjust_sharpness(img, 1.0 + m),
    "Posterize": lambda img, m: functional.posterize(img, int(m)),
    "Solarize": lambda img, m: functional.solarize(img, m),
    "AutoContrast": lambda img, _: functional.autocontrast(img),
    "Equalize": lambda img, _: functional.equalize(img),
    "Invert": lambda img, _: functional.invert(img),
    "Identity": lambda img, _: img,
}


class _Augmentation(ImageTransform):
    """The parts that all have: sizes and colors, and applying an operation with a random sign."""

    def __init__(self, interpolation: InterpolationMode, fill: Fill) -> None:
        super().__init__()
        self.interpolation = interpolation
        self.fill = fill

    def extra_repr(self) -> str:
        names = [name for name in inspect.signature(type(self)).parameters if name in self.__dict__]
        return ", ".join(f"{name}={getattr(self, name)}" for name in names)

    @staticmethod
    def _size(img: Any) -> tuple[int, int]:
        _, height, width = functional.get_dimensions(img)
        return height, width

    def _fill(self, img: Any) -> Any:
        channels = functional.get_dimensions(img)[0]
        if isinstance(self.fill, int | float):
            return [float(self.fill)] * channels
        return None if self.fill is None else [float(number) for number in self.fill]

    def _changed(self, img: Any, name: str, levels: np.ndarray, level: int, signed: bool) -> Any:
        magnitude = float(levels[level])
        if signed and random_numbers().integers(2):
            magnitude = -magnitude
        return apply_operation(img, name, magnitude, self.interpolation, self._fill(img))


class AutoAugment(_Augmentation):
    """Apply one of 25 learned pairs of operations, each with a probability and a magnitude.

    Cubuk et al., "AutoAugment: Learning Augmentation Strategies from Data",
    https://arxiv.org/abs/1805.09501. Takes Pillow images, and uint8 tensors ``[..., C, H, W]``.

    Args:
        policy: the data set that the pairs were learned on.
        interpolation: the interpolation of operations that move pixels.
        fill: color of pixels from outside, by default 0.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.transforms import AutoAugment
        >>> AutoAugment()(flow.zeros(3, 8, 8, dtype=flow.uint8)).shape
        oneflow.Size([3, 8, 8])
    """

    def __init__(
        self,
        policy: AutoAugmentPolicy = AutoAugmentPolicy.IMAGENET,
        interpolation: InterpolationMode = InterpolationMode.NEAREST,
        fill: Fill = None,
    ) -> None:
        super().__init__(interpolation, fill)
        self.policy = policy
        self.policies = POLICIES[AutoAugmentPolicy(policy).value]

    def forward(self, img: Any) -> Any:
        random = random_numbers()
        space = _MagnitudeRanges().space(10, self._size(img))
        for name, probability, level in self.policies[random.integers(len(self.policies))]:
            if random.random() <= probability:
                img = self._changed(img, name, space[name][0], level, space[name][1])
        return img

    def extra_repr(self) -> str:
        return self.options_repr("policy", "fill")


class RandAugment(_Augmentation):
    """Some random operations of one magnitude.

    Cubuk et al., "RandAugment: Practical automated data augmentation with a reduced search space",
    https://arxiv.org/abs/1909.13719. Takes Pillow images, and uint8 tensors ``[..., C, H, W]``.

    Args:
        num_ops: number of operations.
        magnitude: number of the magnitude, from 0.
        num_magnitude_bins: number of magnitudes.
        interpolation: the interpolation of operations that move pixels.
        fill: color of pixels from outside, by default 0.

    Example:
        >>> import oneflow as flow
        >>> from flowvision import transforms
        >>> transforms.RandAugment(num_ops=1)(flow.zeros(3, 8, 8, dtype=flow.uint8)).shape
        oneflow.Size([3, 8, 8])
    """

    def __init__(
        self,
        num_ops: int = 2,
        magnitude: int = 9,
        num_magnitude_bins: int = 31,
        interpolation: InterpolationMode = InterpolationMode.NEAREST,
        fill: Fill = None,
    ) -> None:
        super().__init__(interpolation, fill)
        self.num_ops = num_ops
        self.magnitude = magnitude
        self.num_magnitude_bins = num_magnitude_bins

    def forward(self, img: Any) -> Any:
        for _ in range(self.num_ops):
            space = _MagnitudeRanges().space(self.num_magnitude_bins, self._size(img))
            name = _sampled(space, without=("Invert",))
            img = self._changed(img, name, space[name][0], self.magnitude, space[name][1])
        return img


class TrivialAugmentWide(_Augmentation):
    """One random operation of a random magnitude.

    Müller and Hutter, "TrivialAugment: Tuning-free Yet State-of-the-Art Data Augmentation",
    https://arxiv.org/abs/2103.10158. Takes Pillow images, and uint8 tensors ``[..., C, H, W]``.

    Args:
        num_magnitude_bins: number of magnitudes.
        interpolation: the interpolation of operations that move pixels.
        fill: color of pixels from outside, by default 0.

    Example:
        >>> import oneflow as flow
        >>> from flowvision import transforms
        >>> transforms.TrivialAugmentWide()(flow.zeros(3, 8, 8, dtype=flow.uint8)).shape
        oneflow.Size([3, 8, 8])
    """

    def __init__(
        self,
        num_magnitude_bins: int = 31,
        interpolation: InterpolationMode = InterpolationMode.NEAREST,
        fill: Fill = None,
    ) -> None:
        super().__init__(interpolation, fill)
        self.num_magnitude_bins = num_magnitude_bins

    def forward(self, img: Any) -> Any:
        wide = _MagnitudeRanges(0.99, 32.0, 135.0, 0.99, (8, 2))
        space = wide.space(self.num_magnitude_bins, self._size(img))
        name = _sampled(space, without=("Invert",))
        level = int(random_numbers().integers(self.num_magnitude_bins))
        return self._changed(img, name, space[name][0], level, space[name][1])


class AugMix(_Augmentation):
    """A weighted mean of the image and of images after chains of random operations.

    Hendrycks et al., "AugMix: A Simple Data Processing Method to Improve Robustness and
    Uncertainty", https://arxiv.org/abs/1912.02781. Takes Pillow images, and uint8 tensors
    ``[..., C, H, W]``.

    Args:
        severity: magnitudes are drawn from the first so many of 10.
        mixture_width: number of chains.
        chain_depth: operations in a chain; -1 draws one, two or three.
        alpha: parameter of the distributions of weights.
        all_ops: with changes of brightness, color, contrast and sharpness, too.
        interpolation: the interpolation of operations that move pixels.
        fill: color of pixels from outside, by default 0.

    Raises:
        ValueError: `severity` is not between 1 and 10.

    Example:
        >>> import oneflow as flow
        >>> from flowvision import transforms
        >>> image = flow.zeros(3, 8, 8, dtype=flow.uint8)
        >>> transforms.AugMix(severity=1)(image).shape
        oneflow.Size([3, 8, 8])
    """

    def __init__(
        self,
        severity: int = 3,
        mixture_width: int = 3,
        chain_depth: int = -1,
        alpha: float = 1.0,
        all_ops: bool = True,
        interpolation: InterpolationMode = InterpolationMode.BILINEAR,
        fill: Fill = None,
    ) -> None:
        super().__init__(interpolation, fill)
        if not 1 <= severity <= 10:
            raise ValueError(f"`severity` must be between 1 and 10, got {severity}")
        self.severity = severity
        self.mixture_width = mixture_width
        self.chain_depth = chain_depth
        self.alpha = alpha
        self.all_ops = all_ops

    def forward(self, img: Any) -> Any:
        random = random_numbers()
        original_weight, mixed = random.dirichlet([self.alpha] * 2)
        weights = random.dirichlet([self.alpha] * self.mixture_width) * mixed
        images = [img, *(self._chain(img) for _ in weights)]
        tensors = [
            image if isinstance(image, flow.Tensor) else functional.pil_to_tensor(image)
            for image in images
        ]
        mean = flow.zeros_like(tensors[0], dtype=flow.float32)
        for weight, tensor in zip([original_weight, *weights.tolist()], tensors, strict=True):
            mean = mean + float(weight) * tensor.float()
        result = mean.to(tensors[0].dtype)
        return result if isinstance(img, flow.Tensor) else functional.to_pil_image(result, img.mode)

    def _chain(self, img: Any) -> Any:
        random = random_numbers()
        space = _MagnitudeRanges(translation=1 / 3, bits=(4, 0)).space(10, self._size(img))
        colors = () if self.all_ops else ("Brightness", "Color", "Contrast", "Sharpness")
        depth = self.chain_depth if self.chain_depth > 0 else int(random.integers(1, 4))
        for _ in range(depth):
            name = _sampled(space, without=("Invert", "Identity", *colors))
            level = int(random.integers(self.severity))
            img = self._changed(img, name, space[name][0], level, space[name][1])
        return img


def _sampled(space: dict[str, Any], without: Sequence[str]) -> str:
    """Return the name of a random operation."""
    names = [name for name in space if name not in without]
    return names[random_numbers().integers(len(names))]
