"""The changes of Pillow images that automatic augmentation chooses from.

A change has a magnitude from 0 to 10, the *level*. The published policies define the effect of a
level, odd as some are: higher levels of `Solarize` and `Posterize` change less.

Random numbers come from Python's `random`, as in timm: with the same seed, the same images.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

from flowvision.transforms import functional_pil
from oneflow.data.vision.pillow import Image, ImageFilter

_TOP_LEVEL = 10.0
_MEAN_COLOR = (128, 128, 128)
DEFAULT_HPARAMS: Mapping[str, Any] = {"translate_const": 250, "img_mean": _MEAN_COLOR}


# --- geometry


def _moved(img: Image.Image, matrix: tuple[float, ...], options: Mapping[str, Any]) -> Image.Image:
    return img.transform(
        img.size, Image.Transform.AFFINE, matrix, _resampling(options), **_fill(options)
    )


def _resampling(options: Mapping[str, Any]) -> Image.Resampling:
    resampling = options.get("resample", Image.Resampling.BICUBIC)
    return random.choice(resampling) if isinstance(resampling, list | tuple) else resampling


def _fill(options: Mapping[str, Any]) -> dict[str, Any]:
    return {"fillcolor": options["fillcolor"]} if "fillcolor" in options else {}


def shear_x(img: Image.Image, factor: float, **kwargs: Any) -> Image.Image:
    """Return the image with each row moved by `factor` times its number."""
    return _moved(img, (1, factor, 0, 0, 1, 0), kwargs)


def shear_y(img: Image.Image, factor: float, **kwargs: Any) -> Image.Image:
    """Return the image with each column moved by `factor` times its number."""
    return _moved(img, (1, 0, 0, factor, 1, 0), kwargs)


def translate_x_abs(img: Image.Image, pixels: float, **kwargs: Any) -> Image.Image:
    """Return the image moved to the left."""
    return _moved(img, (1, 0, pixels, 0, 1, 0), kwargs)


def translate_y_abs(img: Image.Image, pixels: float, **kwargs: Any) -> Image.Image:
    """Return the image moved upwards."""
    return _moved(img, (1, 0, 0, 0, 1, pixels), kwargs)


def translate_x_rel(img: Image.Image, pct: float, **kwargs: Any) -> Image.Image:
    """Return the image moved to the left by a part of its width."""
    return translate_x_abs(img, pct * img.size[0], **kwargs)


def translate_y_rel(img: Image.Image, pct: float, **kwargs: Any) -> Image.Image:
    """Return the image moved upwards by a part of its height."""
    return translate_y_abs(img, pct * img.size[1], **kwargs)


def rotate(img: Image.Image, degrees: float, **kwargs: Any) -> Image.Image:
    """Return the image turned counterclockwise around its middle."""
    return img.rotate(degrees, _resampling(kwargs), **_fill(kwargs))


# --- colors


def auto_contrast(img: Image.Image, **__: Any) -> Image.Image:
    """Return each channel stretched to the full range."""
    return functional_pil.autocontrast(img)


def invert(img: Image.Image, **__: Any) -> Image.Image:
    """Return the negative."""
    return functional_pil.invert(img)


def equalize(img: Image.Image, **__: Any) -> Image.Image:
    """Return each channel with a histogram as even as can be."""
    return functional_pil.equalize(img)


def solarize(img: Image.Image, thresh: int, **__: Any) -> Image.Image:
    """Return the image with all numbers from `thresh` on inverted."""
    return functional_pil.solarize(img, thresh)


def solarize_add(img: Image.Image, add: int, thresh: int = 128, **__: Any) -> Image.Image:
    """Return the image with `add` added to all numbers below `thresh`; gray and RGB only."""
    if img.mode not in ("L", "RGB"):
        return img
    table = [min(255, level + add) if level < thresh else level for level in range(256)]
    return img.point(table * len(img.getbands()))


def posterize(img: Image.Image, bits_to_keep: int, **__: Any) -> Image.Image:
    """Return the image with only the first bits of each channel."""
    # Levels above 10 mean numbers beyond both ends.
    return functional_pil.posterize(img, max(0, min(8, bits_to_keep)))


def contrast(img: Image.Image, factor: float, **__: Any) -> Image.Image:
    """Return the image between its mean gray (0) and itself (1), or with more contrast."""
    return functional_pil.adjust_contrast(img, factor)


def color(img: Image.Image, factor: float, **__: Any) -> Image.Image:
    """Return the image between its grays (0) and itself (1), or with stronger colors."""
    return functional_pil.adjust_saturation(img, factor)


def brightness(img: Image.Image, factor: float, **__: Any) -> Image.Image:
    """Return the image between black (0) and itself (1), or brighter."""
    return functional_pil.adjust_brightness(img, factor)


def sharpness(img: Image.Image, factor: float, **__: Any) -> Image.Image:
    """Return the image between a blurred one (0) and itself (1), or sharper."""
    return functional_pil.adjust_sharpness(img, factor)


def desaturate(img: Image.Image, factor: float, **__: Any) -> Image.Image:
    """Return the image between itself (0) and its grays (1)."""
    return color(img, min(1.0, max(0.0, 1.0 - factor)))


def gaussian_blur(img: Image.Image, factor: float, **__: Any) -> Image.Image:
    """Return the image blurred by a Gaussian with this radius."""
    return img.filter(ImageFilter.GaussianBlur(radius=factor))


def gaussian_blur_rand(img: Image.Image, factor: float, **__: Any) -> Image.Image:
    """Return the image blurred by a Gaussian with a random radius up to twice `factor`."""
    return gaussian_blur(img, random.uniform(0.1, 2.0 * factor))


# --- what a level means


def _signed(number: float) -> float:
    return -number if random.random() > 0.5 else number


def _signed_range(limit: float) -> Callable:
    return lambda level, _: _signed(level / _TOP_LEVEL * limit)


def _translation(level: float, hparams: Mapping[str, Any]) -> float:
    return _signed(level / _TOP_LEVEL * float(hparams["translate_const"]))


def _relative_translation(level: float, hparams: Mapping[str, Any]) -> float:
    return _signed(level / _TOP_LEVEL * hparams.get("translate_pct", 0.45))


def _factor(level: float, _: Mapping[str, Any]) -> float:
    return level / _TOP_LEVEL * 1.8 + 0.1


def _signed_factor(level: float, _: Mapping[str, Any]) -> float:
    return max(0.1, 1.0 + _signed(level / _TOP_LEVEL * 0.9))


def _bits(level: float) -> int:
    return int(level / _TOP_LEVEL * 4)


def _threshold(level: float) -> int:
    return min(256, int(level / _TOP_LEVEL * 256))


def _between(low: float, high: float) -> Callable:
    return lambda level, _: max(low, min(high, low + (high - low) * (level / _TOP_LEVEL)))


# Each change with the argument that a level stands for; None: it takes none.
_OPERATIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any] | None]] = {
    "AutoContrast": (auto_contrast, None),
    "Equalize": (equalize, None),
    "Invert": (invert, None),
    "Rotate": (rotate, _signed_range(30.0)),
    "Posterize": (posterize, lambda level, _: _bits(level)),
    "PosterizeIncreasing": (posterize, lambda level, _: 4 - _bits(level)),
    "PosterizeOriginal": (posterize, lambda level, _: 4 + _bits(level)),
    "Solarize": (solarize, lambda level, _: _threshold(level)),
    "SolarizeIncreasing": (solarize, lambda level, _: 256 - _threshold(level)),
    "SolarizeAdd": (solarize_add, lambda level, _: min(128, int(level / _TOP_LEVEL * 110))),
    "Color": (color, _factor),
    "ColorIncreasing": (color, _signed_factor),
    "Contrast": (contrast, _factor),
    "ContrastIncreasing": (contrast, _signed_factor),
    "Brightness": (brightness, _factor),
    "BrightnessIncreasing": (brightness, _signed_factor),
    "Sharpness": (sharpness, _factor),
    "SharpnessIncreasing": (sharpness, _signed_factor),
    "ShearX": (shear_x, _signed_range(0.3)),
    "ShearY": (shear_y, _signed_range(0.3)),
    "TranslateX": (translate_x_abs, _translation),
    "TranslateY": (translate_y_abs, _translation),
    "TranslateXRel": (translate_x_rel, _relative_translation),
    "TranslateYRel": (translate_y_rel, _relative_translation),
    "Desaturate": (desaturate, _between(0.5, 1.0)),
    "GaussianBlur": (gaussian_blur, _between(0.1, 2.0)),
    "GaussianBlurRand": (gaussian_blur_rand, _between(0.0, 1.0)),
}
NAME_TO_OP = {name: change for name, (change, _) in _OPERATIONS.items()}
LEVEL_TO_ARG = {name: argument for name, (_, argument) in _OPERATIONS.items()}


class AugmentOp:
    """A change of Pillow images, with a probability and a level.

    Args:
        name: a name of `NAME_TO_OP`.
        prob: the probability.
        magnitude: the level, from 0 to 10.
        hparams: ``"img_mean"``, the color from outside of the image; ``"interpolation"``, Pillow's
            constant or several to choose from; ``"translate_const"`` and ``"translate_pct"``, the
            farthest movement in pixels and as a part of the size; ``"magnitude_std"``, the standard
            deviation of the level (infinity: the level is uniform up to `magnitude`);
            ``"magnitude_max"``, its limit instead of 10.

    Raises:
        ValueError: there is no such change.

    Example:
        >>> from PIL import Image
        >>> from flowvision.data.auto_augment import AugmentOp
        >>> AugmentOp("Invert", prob=1.0)(Image.new("L", (1, 1))).getpixel((0, 0))
        255
    """

    def __init__(
        self,
        name: str,
        prob: float = 0.5,
        magnitude: float = 10,
        hparams: Mapping[str, Any] | None = None,
    ) -> None:
        if name not in _OPERATIONS:
            raise ValueError(f"unknown change {name!r}; known: {', '.join(_OPERATIONS)}")
        self.name = name
        self.prob = prob
        self.magnitude = magnitude
        self.hparams = dict(hparams or DEFAULT_HPARAMS)
        self.magnitude_std = self.hparams.get("magnitude_std", 0)
        self.magnitude_max = self.hparams.get("magnitude_max") or _TOP_LEVEL
        random_resampling = (Image.Resampling.BILINEAR, Image.Resampling.BICUBIC)
        self._options = {
            "fillcolor": self.hparams.get("img_mean", _MEAN_COLOR),
            "resample": self.hparams.get("interpolation", random_resampling),
        }

    def __call__(self, img: Image.Image) -> Image.Image:
        """Return the image, changed or not."""
        if self.prob < 1.0 and random.random() > self.prob:
            return img
        change, argument = _OPERATIONS[self.name]
        level = max(0.0, min(self._level(), self.magnitude_max))
        if argument is None:
            return change(img, **self._options)
        return change(img, argument(level, self.hparams), **self._options)

    def _level(self) -> float:
        if self.magnitude_std == float("inf"):
            return random.uniform(0, self.magnitude)
        if self.magnitude_std > 0:
            return random.gauss(self.magnitude, self.magnitude_std)
        return self.magnitude

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(name={self.name}, p={self.prob}, m={self.magnitude}, "
            f"mstd={self.magnitude_std})"
        )
