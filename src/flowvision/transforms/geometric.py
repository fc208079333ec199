"""Transforms that move pixels; random ones draw from oneflow's default generator."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

import oneflow as flow
from flowvision.transforms import functional
from flowvision.transforms.functional import InterpolationMode
from oneflow.data.vision.resize import interpolation_mode
from oneflow.utils.vision.transforms import ImageTransform, random_numbers


def _angles(degrees: float | Sequence[float], name: str) -> list[float]:
    """Return a range of degrees; one number stands for both directions."""
    if isinstance(degrees, int | float):
        if degrees < 0:
            raise ValueError(f"If {name} is a single number, it must be positive.")
        return [float(-degrees), float(degrees)]
    if len(degrees) != 2:
        raise ValueError(f"{name} should be a sequence of length 2, got {degrees!r}")
    return [float(degrees[0]), float(degrees[1])]


class RandomRotation(ImageTransform):
    """The image turned by a random angle.

    Args:
        degrees: range of the angle, counterclockwise; one number d stands for (-d, d).
        interpolation: how new pixels come from old ones.
        expand: make the result large enough for all of the image.
        center: the fixed point (x, y), by default the middle.
        fill: what comes from outside of the image: a number or one per channel.
        resample: earlier name of `interpolation`.

    Example:
        >>> import oneflow as flow
        >>> from flowvision import transforms
        >>> transforms.RandomRotation((90, 90))(flow.tensor([[[1, 2], [3, 4]]]))
        tensor([[[2, 4],
                 [1, 3]]], dtype=oneflow.int64)
    """

    def __init__(
        self,
        degrees: float | Sequence[float],
        interpolation: Any = InterpolationMode.NEAREST,
        expand: bool = False,
        center: Sequence[float] | None = None,
        fill: Any = 0,
        resample: Any = None,
    ) -> None:
        super().__init__()
        self.degrees = _angles(degrees, "degrees")
        self.interpolation = interpolation_mode(interpolation if resample is None else resample)
        self.expand = expand
        self.center = center
        self.fill = fill

    @staticmethod
    def get_params(degrees: Sequence[float]) -> float:
        """Return a random angle."""
        return float(random_numbers().uniform(degrees[0], degrees[1]))

    def forward(self, img: Any) -> Any:
        angle = self.get_params(self.degrees)
        return functional.rotate(
            img, angle, self.interpolation, self.expand, self.center, self.fill
        )

    def extra_repr(self) -> str:
        center = [] if self.center is None else ["center"]
        return self.options_repr("degrees", "interpolation", "expand", *center, "fill")


class RandomAffine(ImageTransform):
    """The image turned, moved, scaled and sheared at random.

    Args:
        degrees: range of the angle; one number d stands for (-d, d).
        translate: the largest movement along x and y, as a part of the size.
        scale: range of the factor of lengths.
        shear: range of degrees along x, or ranges along x and y (four numbers); one number s
            stands for (-s, s) along x.
        interpolation: how new pixels come from old ones.
        fill: what comes from outside of the image: a number or one per channel.
        center: the fixed point (x, y), by default the middle.
        resample: earlier name of `interpolation`.
        fillcolor: earlier name of `fill`.

    Raises:
        ValueError: translations outside of [0, 1], or scales that are not positive.

    Example:
        >>> import oneflow as flow
        >>> from flowvision import transforms
        >>> transforms.RandomAffine(degrees=0, translate=(0.1, 0.1))(flow.ones(1, 4, 4)).shape
        oneflow.Size([1, 4, 4])
    """

    def __init__(
        self,
        degrees: float | Sequence[float],
        translate: Sequence[float] | None = None,
        scale: Sequence[float] | None = None,
        shear: float | Sequence[float] | None = None,
        interpolation: Any = InterpolationMode.NEAREST,
        fill: Any = 0,
        center: Sequence[float] | None = None,
        resample: Any = None,
        fillcolor: Any = None,
    ) -> None:
        super().__init__()
        if translate is not None and not all(0 <= share <= 1 for share in translate):
            raise ValueError(f"translation values should be between 0 and 1, got {translate}")
        if scale is not None and not all(factor > 0 for factor in scale):
            raise ValueError(f"scale values should be positive, got {scale}")
        self.degrees = _angles(degrees, "degrees")
        self.translate = translate
        self.scale = scale
        if isinstance(shear, Sequence) and len(shear) == 4:
            self.shear = _angles(shear[:2], "shear") + _angles(shear[2:], "shear")
        else:
            self.shear = None if shear is None else _angles(shear, "shear")
        self.interpolation = interpolation_mode(interpolation if resample is None else resample)
        self.fill = fill if fillcolor is None else fillcolor
        self.center = center

    @staticmethod
    def get_params(
        degrees: Sequence[float],
        translate: Sequence[float] | None,
        scale_ranges: Sequence[float] | None,
        shears: Sequence[float] | None,
        img_size: Sequence[int],
    ) -> tuple[float, tuple[int, int], float, tuple[float, float]]:
        """Return a random angle, translation, scale and shear.

        Args:
            degrees: range of the angle.
            translate: the largest movement along x and y, as a part of the size.
            scale_ranges: range of the factor.
            shears: range along x, or ranges along x and y.
            img_size: width and height.
        """
        random = random_numbers()
        angle = float(random.uniform(degrees[0], degrees[1]))
        moved = [0, 0]
        if translate is not None:
            limits = [part * size for part, size in zip(translate, img_size, strict=True)]
            moved = [round(random.uniform(-limit, limit)) for limit in limits]
        scale = (
            1.0 if scale_ranges is None else float(random.uniform(scale_ranges[0], scale_ranges[1]))
        )
        shear_angles = [0.0, 0.0]
        ends = [] if shears is None else list(shears)
        for axis, (low, high) in enumerate(zip(ends[::2], ends[1::2], strict=True)):
            shear_angles[axis] = float(random.uniform(low, high))
        return angle, (moved[0], moved[1]), scale, (shear_angles[0], shear_angles[1])

    def forward(self, img: Any) -> Any:
        params = self.get_params(
            self.degrees, self.translate, self.scale, self.shear, functional.get_image_size(img)
        )
        return functional.affine(img, *params, self.interpolation, self.fill, self.center)

    def extra_repr(self) -> str:
        names = ("translate", "scale", "shear", "interpolation", "fill", "center")
        defaults = (None, 0, InterpolationMode.NEAREST)
        options = (name for name in names if getattr(self, name) not in defaults)
        return self.options_repr("degrees", *options)


class RandomPerspective(ImageTransform):
    """The image seen from a random side, with a probability.

    Args:
        distortion_scale: how far its corners move inwards at most, from 0 to 1 (the middle).
        p: the probability.
        interpolation: how new pixels come from old ones.
        fill: what comes from outside of the image: a number or one per channel.

    Example:
        >>> import oneflow as flow
        >>> from flowvision import transforms
        >>> transforms.RandomPerspective(p=1.0)(flow.ones(1, 8, 8)).shape
        oneflow.Size([1, 8, 8])
    """

    def __init__(
        self,
        distortion_scale: float = 0.5,
        p: float = 0.5,
        interpolation: Any = InterpolationMode.BILINEAR,
        fill: Any = 0,
    ) -> None:
        super().__init__()
        self.distortion_scale = distortion_scale
        self.p = p
        self.interpolation = interpolation_mode(interpolation)
        self.fill = fill

    @staticmethod
    def get_params(
        width: int, height: int, distortion_scale: float
    ) -> tuple[list[list[int]], list[list[int]]]:
        """Return the corners (x, y) and where they move, from the top left one clockwise."""
        random = random_numbers()
        x = random.integers(int(distortion_scale * (width // 2)) + 1, size=4).tolist()
        y = random.integers(int(distortion_scale * (height // 2)) + 1, size=4).tolist()
        right, bottom = width - 1, height - 1
        start = [[0, 0], [right, 0], [right, bottom], [0, bottom]]
        end = [
            [x[0], y[0]],
            [right - x[1], y[1]],
            [right - x[2], bottom - y[2]],
            [x[3], bottom - y[3]],
        ]
        return start, end

    def forward(self, img: Any) -> Any:
        if random_numbers().random() >= self.p:
            return img
        width, height = functional.get_image_size(img)
        start, end = self.get_params(width, height, self.distortion_scale)
        return functional.perspective(img, start, end, self.interpolation, self.fill)

    def extra_repr(self) -> str:
        return self.options_repr("p")


class ElasticTransform(ImageTransform):
    """The image as if seen through moving water: each pixel is displaced by smooth random numbers.

    Args:
        alpha: strength of the displacements along y and x, or one number for both.
        sigma: their smoothness along x and y, or one number for both; 0 for both
            leaves noise.
        interpolation: how new pixels come from old ones.
        fill: what comes from outside of the image: a number or one per channel.

    Example:
        >>> import oneflow as flow
        >>> from flowvision import transforms
        >>> transforms.ElasticTransform(alpha=20.0)(flow.rand(3, 8, 8)).shape
        oneflow.Size([3, 8, 8])
    """

    def __init__(
        self,
        alpha: float | Sequence[float] = 50.0,
        sigma: float | Sequence[float] = 5.0,
        interpolation: Any = InterpolationMode.BILINEAR,
        fill: Any = 0,
    ) -> None:
        super().__init__()
        self.alpha = _two(alpha)
        self.sigma = _two(sigma)
        self.interpolation = interpolation_mode(interpolation)
        self.fill = [
            float(number) for number in ([fill] if isinstance(fill, int | float) else fill)
        ]

    @staticmethod
    def get_params(
        alpha: Sequence[float], sigma: Sequence[float], size: Sequence[int]
    ) -> flow.Tensor:
        """Return random displacements ``[1, H, W, 2]`` for an image of `size` (H, W)."""
        noise = random_numbers().uniform(-1, 1, (2, 1, 1, *size)).astype(np.float32)
        planes = []
        for plane, factor, deviation, length in zip(noise, alpha, sigma, size, strict=True):
            numbers = flow.from_numpy(plane)
            if deviation > 0:
                # Gaussians reach four deviations to both sides; the kernel is odd.
                width = math.floor(8 * deviation + 1) // 2 * 2 + 1
                numbers = functional.gaussian_blur(numbers, [width, width], sigma)
            planes.append(numbers * factor / length)
        return flow.cat(planes, 1).permute(0, 2, 3, 1)

    def forward(self, img: Any) -> Any:
        _, height, width = functional.get_dimensions(img)
        displacement = self.get_params(self.alpha, self.sigma, [height, width])
        return functional.elastic_transform(img, displacement, self.interpolation, self.fill)

    def extra_repr(self) -> str:
        rest = f"interpolation={self.interpolation}, fill={self.fill}"
        return f"{self.options_repr('alpha', 'sigma')}, {rest}"


def _two(value: float | Sequence[float]) -> list[float]:
    numbers = [value] if isinstance(value, int | float) else list(value)
    return [float(number) for number in (numbers * 2 if len(numbers) == 1 else numbers)]
