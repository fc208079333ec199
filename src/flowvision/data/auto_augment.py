"""Automatic augmentation of Pillow images: AutoAugment, RandAugment and AugMix.

Random numbers come from Python's `random` and NumPy's global generator, as in timm: with the same
seeds, the same images. Workers of a `DataLoader` seed both.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from flowvision.data.augment_operations import (
    DEFAULT_HPARAMS,
    LEVEL_TO_ARG as LEVEL_TO_ARG,
    NAME_TO_OP as NAME_TO_OP,
    AugmentOp as AugmentOp,
    auto_contrast as auto_contrast,
    brightness as brightness,
    color as color,
    contrast as contrast,
    equalize as equalize,
    invert as invert,
    posterize as posterize,
    rotate as rotate,
    sharpness as sharpness,
    shear_x as shear_x,
    shear_y as shear_y,
    solarize as solarize,
    solarize_add as solarize_add,
    translate_x_abs as translate_x_abs,
    translate_x_rel as translate_x_rel,
    translate_y_abs as translate_y_abs,
    translate_y_rel as translate_y_rel,
)
from oneflow.data.vision.pillow import Image

HParams = Mapping[str, Any] | None


def _options(config: str, kind: str | None, allowed: str) -> tuple[str, dict[str, str]]:
    """Return the first section of a description and the options in the others.

    Args:
        config: sections joined by dashes, such as ``"rand-m9-mstd0.5"``.
        kind: what the first section must be.
        allowed: names of options.

    Raises:
        ValueError: another first section, or an option that is not permitted.
    """
    first, *sections = config.split("-")
    if kind is not None and first != kind:
        raise ValueError(f"the description {config!r} should begin with {kind!r}")
    options = {}
    for section in sections:
        match = re.fullmatch(r"(t)(\w*)|([a-z]+)([\d.]+|inf)", section)
        name, value = (match[1] or match[3], match[2] or match[4]) if match else (section, "")
        if name not in allowed.split():
            raise ValueError(
                f"unknown option {section!r} in {config!r}; permitted: {allowed}, with a number"
            )
        options[name] = value
    return first, options


def _with_defaults(hparams: HParams, **defaults: Any) -> dict[str, Any]:
    settings = {name: value for name, value in defaults.items() if value is not None}
    return {**settings, **(hparams or DEFAULT_HPARAMS)}


# --- AutoAugment

# The policy of EfficientNet's TPU implementation.
_POLICY_V0 = (
    (("Equalize", 0.8, 1), ("ShearY", 0.8, 4)),
    (("Color", 0.4, 9), ("Equalize", 0.6, 3)),
    (("Color", 0.4, 1), ("Rotate", 0.6, 8)),
    (("Solarize", 0.8, 3), ("Equalize", 0.4, 7)),
    (("Solarize", 0.4, 2), ("Solarize", 0.6, 2)),
    (("Color", 0.2, 0), ("Equalize", 0.8, 8)),
    (("Equalize", 0.4, 8), ("SolarizeAdd", 0.8, 3)),
    (("ShearX", 0.2, 9), ("Rotate", 0.6, 8)),
    (("Color", 0.6, 1), ("Equalize", 1.0, 2)),
    (("Invert", 0.4, 9), ("Rotate", 0.6, 0)),
    (("Equalize", 1.0, 9), ("ShearY", 0.6, 3)),
    (("Color", 0.4, 7), ("Equalize", 0.6, 0)),
    (("Posterize", 0.4, 6), ("AutoContrast", 0.4, 7)),
    (("Solarize", 0.6, 8), ("Color", 0.6, 9)),
    (("Solarize", 0.2, 4), ("Rotate", 0.8, 9)),
    (("Rotate", 1.0, 7), ("TranslateYRel", 0.8, 9)),
    (("ShearX", 0.0, 0), ("Solarize", 0.8, 4)),
    (("ShearY", 0.8, 0), ("Color", 0.6, 4)),
    (("Color", 1.0, 0), ("Rotate", 0.6, 2)),
    (("Equalize", 0.8, 4), ("Equalize", 0.0, 8)),
    (("Equalize", 1.0, 4), ("AutoContrast", 0.6, 2)),
    (("ShearY", 0.4, 7), ("SolarizeAdd", 0.6, 7)),
    (("Posterize", 0.8, 2), ("Solarize", 0.6, 10)),
    (("Solarize", 0.6, 8), ("Equalize", 0.6, 1)),
    (("Color", 0.8, 6), ("Rotate", 0.4, 5)),
)
# Table 9 of Cubuk et al., "AutoAugment: Learning Augmentation Policies from Data", 2018.
_POLICY_ORIGINAL = (
    (("PosterizeOriginal", 0.4, 8), ("Rotate", 0.6, 9)),
    (("Solarize", 0.6, 5), ("AutoContrast", 0.6, 5)),
    (("Equalize", 0.8, 8), ("Equalize", 0.6, 3)),
    (("PosterizeOriginal", 0.6, 7), ("PosterizeOriginal", 0.6, 6)),
    (("Equalize", 0.4, 7), ("Solarize", 0.2, 4)),
    (("Equalize", 0.4, 4), ("Rotate", 0.8, 8)),
    (("Solarize", 0.6, 3), ("Equalize", 0.6, 7)),
    (("PosterizeOriginal", 0.8, 5), ("Equalize", 1.0, 2)),
    (("Rotate", 0.2, 3), ("Solarize", 0.6, 8)),
    (("Equalize", 0.6, 8), ("PosterizeOriginal", 0.4, 6)),
    (("Rotate", 0.8, 8), ("Color", 0.4, 0)),
    (("Rotate", 0.4, 9), ("Equalize", 0.6, 2)),
    (("Equalize", 0.0, 7), ("Equalize", 0.8, 8)),
    (("Invert", 0.6, 4), ("Equalize", 1.0, 8)),
    (("Color", 0.6, 4), ("Contrast", 1.0, 8)),
    (("Rotate", 0.8, 8), ("Color", 1.0, 2)),
    (("Color", 0.8, 8), ("Solarize", 0.8, 7)),
    (("Sharpness", 0.4, 7), ("Invert", 0.6, 8)),
    (("ShearX", 0.6, 5), ("Equalize", 1.0, 9)),
    (("Color", 0.4, 0), ("Equalize", 0.6, 3)),
    (("Equalize", 0.4, 7), ("Solarize", 0.2, 4)),
    (("Solarize", 0.6, 5), ("AutoContrast", 0.6, 5)),
    (("Invert", 0.6, 4), ("Equalize", 1.0, 8)),
    (("Color", 0.6, 4), ("Contrast", 1.0, 8)),
    (("Equalize", 0.8, 8), ("Equalize", 0.6, 3)),
)
# Touvron et al., "DeiT III: Revenge of the ViT", 2022.
_POLICY_3A = ((("Solarize", 1.0, 5),), (("Desaturate", 1.0, 10),), (("GaussianBlurRand", 1.0, 10),))
_POLICIES = {
    "v0": (_POLICY_V0, "Posterize"),
    "v0r": (_POLICY_V0, "PosterizeIncreasing"),
    "original": (_POLICY_ORIGINAL, "PosterizeOriginal"),
    "originalr": (_POLICY_ORIGINAL, "PosterizeIncreasing"),
    "3a": (_POLICY_3A, ""),
}


def auto_augment_policy(name: str = "v0", hparams: HParams = None) -> list[list[AugmentOp]]:
    """Return a policy: lists of changes; each image gets one of the lists at random.

    Args:
        name: ``"original"``, the paper's; ``"v0"``, EfficientNet's; the same with an r, where the
            posterization grows with its level; or ``"3a"``, DeiT III's.
        hparams: see `AugmentOp`.

    Raises:
        ValueError: there is no such policy.
    """
    if name not in _POLICIES:
        raise ValueError(f"unknown AutoAugment policy {name!r}; known: {', '.join(_POLICIES)}")
    policy, bits = _POLICIES[name]
    return [
        [
            AugmentOp(bits if "Posterize" in operation else operation, prob, level, hparams)
            for operation, prob, level in changes
        ]
        for changes in policy
    ]


def auto_augment_policy_v0(hparams: HParams) -> list[list[AugmentOp]]:
    """Return the policy ``"v0"``; see `auto_augment_policy`."""
    return auto_augment_policy("v0", hparams)


def auto_augment_policy_v0r(hparams: HParams) -> list[list[AugmentOp]]:
    """Return the policy ``"v0r"``; see `auto_augment_policy`."""
    return auto_augment_policy("v0r", hparams)


def auto_augment_policy_original(hparams: HParams) -> list[list[AugmentOp]]:
    """Return the policy ``"original"``; see `auto_augment_policy`."""
    return auto_augment_policy("original", hparams)


def auto_augment_policy_originalr(hparams: HParams) -> list[list[AugmentOp]]:
    """Return the policy ``"originalr"``; see `auto_augment_policy`."""
    return auto_augment_policy("originalr", hparams)


class AutoAugment:
    """One list of changes of a policy, chosen for each image.

    The paper: Cubuk et al., "AutoAugment: Learning Augmentation Policies from Data", 2018.

    Args:
        policy: the lists of changes.

    Example:
        >>> from flowvision.data.auto_augment import AutoAugment, auto_augment_policy
        >>> len(AutoAugment(auto_augment_policy()).policy)
        25
    """

    def __init__(self, policy: Sequence[Sequence[Callable[..., Any]]]) -> None:
        self.policy = policy

    def __call__(self, img: Image.Image) -> Image.Image:
        """Return the changed image."""
        for change in random.choice(self.policy):
            img = change(img)
        return img

    def __repr__(self) -> str:
        lines = "".join(f"\n\t[{', '.join(map(str, changes))}]" for changes in self.policy)
        return f"{type(self).__name__}(policy={lines})"


def auto_augment_transform(config_str: str, hparams: HParams = None) -> AutoAugment:
    """Return an AutoAugment transform of Pillow images.

    Args:
        config_str: name of a policy, and the standard deviation of levels if they shall vary:
            ``"original-mstd0.5"``.
        hparams: see `AugmentOp`.

    Raises:
        ValueError: an unknown policy or option.

    Example:
        >>> from PIL import Image
        >>> from flowvision.data import auto_augment_transform
        >>> auto_augment_transform("v0")(Image.new("RGB", (20, 10))).size
        (20, 10)
    """
    name, options = _options(config_str, None, "mstd")
    deviation = float(options["mstd"]) if "mstd" in options else None
    return AutoAugment(auto_augment_policy(name, _with_defaults(hparams, magnitude_std=deviation)))


# --- RandAugment

_RAND_TRANSFORMS = (
    "AutoContrast",
    "Equalize",
    "Invert",
    "Rotate",
    "Posterize",
    "Solarize",
    "SolarizeAdd",
    "Color",
    "Contrast",
    "Brightness",
    "Sharpness",
    "ShearX",
    "ShearY",
    "TranslateXRel",
    "TranslateYRel",
)
# The operations with a variant, such as "PosterizeIncreasing", that changes more at higher levels.
_INCREASING = ("Posterize", "Solarize", "Color", "Contrast", "Brightness", "Sharpness")
_RAND_WEIGHTS = {
    "Rotate": 3,
    "ShearX": 2,
    "ShearY": 2,
    "TranslateXRel": 1,
    "TranslateYRel": 1,
    "ColorIncreasing": 0.25,
    "SharpnessIncreasing": 0.25,
    "AutoContrast": 0.25,
    "SolarizeIncreasing": 0.05,
    "SolarizeAdd": 0.05,
    "ContrastIncreasing": 0.05,
    "BrightnessIncreasing": 0.05,
    "Equalize": 0.05,
    "PosterizeIncreasing": 0.05,
    "Invert": 0.05,
}


def _increasing(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"{name}Increasing" if name in _INCREASING else name for name in names)


def rand_augment_ops(
    magnitude: float = 10,
    hparams: HParams = None,
    transforms: Sequence[str] | None = None,
    prob: float = 0.5,
) -> list[AugmentOp]:
    """Return the changes that RandAugment chooses from.

    Args:
        magnitude: their level.
        hparams: see `AugmentOp`.
        transforms: their names, by default fifteen.
        prob: the probability that a chosen one acts.
    """
    return [AugmentOp(name, prob, magnitude, hparams) for name in transforms or _RAND_TRANSFORMS]


class RandAugment:
    """Several random changes, one after the other.

    The paper: Cubuk et al., "RandAugment: Practical automated data augmentation with a reduced
    search space", 2019.

    Args:
        ops: the changes to choose from.
        num_layers: how many are chosen.
        choice_weights: the probability of each; then none is chosen twice.

    Example:
        >>> from flowvision.data.auto_augment import RandAugment, rand_augment_ops
        >>> len(RandAugment(rand_augment_ops(), num_layers=1).ops)
        15
    """

    def __init__(
        self,
        ops: Sequence[Callable[..., Any]],
        num_layers: int = 2,
        choice_weights: Sequence[float] | np.ndarray | None = None,
    ) -> None:
        self.ops = ops
        self.num_layers = num_layers
        self.choice_weights = choice_weights

    def __call__(self, img: Image.Image) -> Image.Image:
        """Return the changed image."""
        weights = self.choice_weights
        for index in np.random.choice(len(self.ops), self.num_layers, weights is None, weights):
            img = self.ops[index](img)
        return img

    def __repr__(self) -> str:
        lines = "".join(f"\n\t{change}" for change in self.ops)
        return f"{type(self).__name__}(n={self.num_layers}, ops={lines})"


def rand_augment_transform(config_str: str, hparams: HParams = None) -> RandAugment:
    """Return a RandAugment transform of Pillow images.

    Args:
        config_str: ``"rand"`` and, joined by dashes, any of: ``m9`` the level, by default 10;
            ``n3`` how many changes, by default 2; ``p0.5`` their probability; ``mstd0.5`` the
            standard deviation of levels (above 100: uniform from 0 on); ``mmax20`` their limit;
            ``inc1`` changes that grow with their level; ``tweights`` weighted choice.
        hparams: see `AugmentOp`.

    Raises:
        ValueError: something else.

    Example:
        >>> from PIL import Image
        >>> from flowvision.data import rand_augment_transform
        >>> rand_augment_transform("rand-m9-n3-mstd0.5")(Image.new("RGB", (20, 10))).size
        (20, 10)
    """
    _, options = _options(config_str, "rand", "m n p mstd mmax inc t")
    names, weights = _RAND_TRANSFORMS, None
    if options.get("t") == "weights":
        names = tuple(_RAND_WEIGHTS)
        weights = np.array(list(_RAND_WEIGHTS.values()))
        weights = weights / weights.sum()
    elif "t" in options:
        raise ValueError(f"the set of changes in {config_str!r} must be 'tweights'")
    elif int(options.get("inc", 0)):
        names = _increasing(names)
    deviation = float(options["mstd"]) if "mstd" in options else None
    if deviation is not None and deviation > 100:
        deviation = float("inf")
    limit = int(options["mmax"]) if "mmax" in options else None
    hparams = _with_defaults(hparams, magnitude_std=deviation, magnitude_max=limit)
    level, probability = int(options.get("m", 10)), float(options.get("p", 0.5))
    changes = rand_augment_ops(level, hparams, names, probability)
    return RandAugment(changes, int(options.get("n", 2)), weights)


# --- AugMix

_AUGMIX_TRANSFORMS = _increasing(
    (
        "AutoContrast",
        "Color",
        "Contrast",
        "Brightness",
        "Sharpness",
        "Equalize",
        "Rotate",
        "Posterize",
        "Solarize",
        "ShearX",
        "ShearY",
        "TranslateXRel",
        "TranslateYRel",
    )
)


def augmix_ops(
    magnitude: float = 10, hparams: HParams = None, transforms: Sequence[str] | None = None
) -> list[AugmentOp]:
    """Return the changes that AugMix chooses from; arguments as for `rand_augment_ops`."""
    return rand_augment_ops(magnitude, hparams, transforms or _AUGMIX_TRANSFORMS, 1.0)


class AugMixAugment:
    """The image mixed with several chains of random changes of it.

    The paper: Hendrycks et al., "AugMix: A Simple Data Processing Method to Improve Robustness and
    Uncertainty", 2019.

    Args:
        ops: the changes to choose from.
        alpha: parameter of the Dirichlet and Beta distributions of the weights.
        width: number of chains.
        depth: changes in each; -1: a random number from 1 to 3.
        blended: mix in bytes, chain by chain, instead of in floating point numbers: faster, and
            rounded more often.

    Example:
        >>> from PIL import Image
        >>> from flowvision.data.auto_augment import AugMixAugment, augmix_ops
        >>> AugMixAugment(augmix_ops())(Image.new("RGB", (20, 10))).size
        (20, 10)
    """

    def __init__(
        self,
        ops: Sequence[Callable[..., Any]],
        alpha: float = 1.0,
        width: int = 3,
        depth: int = -1,
        blended: bool = False,
    ) -> None:
        self.ops = ops
        self.alpha = alpha
        self.width = width
        self.depth = depth
        self.blended = blended

    def __call__(self, img: Image.Image) -> Image.Image:
        """Return the changed image."""
        weights = np.random.dirichlet([self.alpha] * self.width).astype(np.float32)
        share = np.float32(np.random.beta(self.alpha, self.alpha))
        if self.blended:
            return self._mix(img, weights * share)
        mixed = np.zeros_like(np.asarray(img), np.float32)
        for weight in weights:
            mixed += weight * np.asarray(self._chain(img), np.float32)
        pixels = Image.fromarray(np.clip(mixed, 0, 255).astype(np.uint8))
        return Image.blend(img, pixels, float(share))

    def _chain(self, img: Image.Image) -> Image.Image:
        depth = self.depth if self.depth > 0 else np.random.randint(1, 4)
        for index in np.random.choice(len(self.ops), depth):
            img = self.ops[index](img)
        return img

    def _mix(self, img: Image.Image, weights: np.ndarray) -> Image.Image:
        mixed = img
        for index, weight in enumerate(weights):
            # Later chains take their weight off this one, too.
            share = weight / (1 - weights[index + 1 :].sum())
            mixed = Image.blend(mixed, self._chain(img), float(share))
        return mixed

    def __repr__(self) -> str:
        lines = "".join(f"\n\t{change}" for change in self.ops)
        return (
            f"{type(self).__name__}(alpha={self.alpha}, width={self.width}, depth={self.depth}, "
            f"ops={lines})"
        )


def augment_and_mix_transform(config_str: str, hparams: HParams = None) -> AugMixAugment:
    """Return an AugMix transform of Pillow images.

    Args:
        config_str: ``"augmix"`` and, joined by dashes, any of: ``m5`` the level, by default 3;
            ``w4`` the number of chains, by default 3; ``d2`` the changes in each, by default from 1
            to 3; ``a1`` the parameter of the distributions; ``b1`` mix in bytes; ``mstd0.5`` the
            standard deviation of levels, which by default are uniform from 0 on.
        hparams: see `AugmentOp`.

    Raises:
        ValueError: something else.

    Example:
        >>> from PIL import Image
        >>> from flowvision.data import augment_and_mix_transform
        >>> augment_and_mix_transform("augmix-m5-w4-d2")(Image.new("RGB", (20, 10))).size
        (20, 10)
    """
    _, options = _options(config_str, "augmix", "m w d a b mstd")
    hparams = _with_defaults(hparams, magnitude_std=float(options.get("mstd", "inf")))
    return AugMixAugment(
        augmix_ops(int(options.get("m", 3)), hparams),
        alpha=float(options.get("a", 1.0)),
        width=int(options.get("w", 3)),
        depth=int(options.get("d", -1)),
        blended=bool(int(options.get("b", 0))),
    )
