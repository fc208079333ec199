"""Random erasing of batches of normalised images."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np

import oneflow as flow
from oneflow.data.vision.image import constant_like

_MODES = ("const", "rand", "pixel")


class RandomErasing:
    """Overwrite random rectangles of tensor images with zeros or noise.

    The paper: Zhong et al., "Random Erasing Data Augmentation", 2017. Zeros are the mean of images
    that have been normalised. `transforms.RandomErasing` has torchvision's arguments.

    Args:
        probability: the probability that an image is changed.
        min_area: smallest share of the image.
        max_area: largest share of the image; of all rectangles together.
        min_aspect: smallest height divided by width.
        max_aspect: largest one, by default ``1 / min_aspect``.
        mode: ``"const"`` zeros, ``"rand"`` one random color, ``"pixel"`` noise.
        min_count: fewest rectangles.
        max_count: most rectangles, by default `min_count`.
        num_splits: leave the first of so many parts of a batch as it is.
        device: accepted for programs for timm; the result is where the images are.

    Raises:
        ValueError: another mode.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.data import RandomErasing
        >>> RandomErasing(1.0)(flow.ones(3, 32, 32)).min().item()
        0.0
    """

    def __init__(
        self,
        probability: float = 0.5,
        min_area: float = 0.02,
        max_area: float = 1 / 3,
        min_aspect: float = 0.3,
        max_aspect: float | None = None,
        mode: str = "const",
        min_count: int = 1,
        max_count: int | None = None,
        num_splits: int = 0,
        device: Any = None,
    ) -> None:
        if mode.lower() not in _MODES:
            raise ValueError(f"mode should be one of {', '.join(_MODES)}, got {mode!r}")
        self.probability = probability
        self.min_area = min_area
        self.max_area = max_area
        self.log_aspect_ratio = math.log(min_aspect), math.log(max_aspect or 1 / min_aspect)
        self.mode = mode.lower()
        self.min_count = min_count
        self.max_count = max_count or min_count
        self.num_splits = num_splits

    def __call__(self, input: flow.Tensor) -> flow.Tensor:
        """Return the changed images; the given ones stay as they are.

        Args:
            input: ``[C, H, W]`` or ``[N, C, H, W]``.
        """
        batch = input.unsqueeze(0) if input.ndim == 3 else input
        count, channels, height, width = batch.shape
        first = count // self.num_splits if self.num_splits > 1 else 0
        masks = np.zeros((count, 1, height, width), bool)
        colors = np.zeros((count, channels, *self._color_size(height, width)), np.float32)
        for index in range(first, count):
            self._erase(masks[index, 0], colors[index])
        if not masks.any():
            return input
        written = constant_like(input, colors).to(input.dtype)
        return flow.where(constant_like(input, masks), written, batch).reshape(*input.shape)

    def _color_size(self, height: int, width: int) -> tuple[int, int]:
        is_many = self.mode != "const" and (self.mode == "pixel" or self.max_count > 1)
        return (height, width) if is_many else (1, 1)

    def _erase(self, mask: np.ndarray, colors: np.ndarray) -> None:
        """Draw rectangles of one image into its mask, and their colors."""
        if random.random() > self.probability:
            return
        height, width = mask.shape
        count = self.min_count
        if self.min_count != self.max_count:
            count = random.randint(self.min_count, self.max_count)
        for _ in range(count):
            for _ in range(10):
                area = random.uniform(self.min_area, self.max_area) * height * width / count
                aspect = math.exp(random.uniform(*self.log_aspect_ratio))
                h, w = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
                if w < width and h < height:
                    top, left = random.randint(0, height - h), random.randint(0, width - w)
                    mask[top : top + h, left : left + w] = True
                    self._color(colors, slice(top, top + h), slice(left, left + w))
                    break

    def _color(self, colors: np.ndarray, rows: slice, columns: slice) -> None:
        if self.mode == "const":
            return
        part = colors if colors.shape[1:] == (1, 1) else colors[:, rows, columns]
        size = part.shape if self.mode == "pixel" else (len(part), 1, 1)
        part[:] = np.random.standard_normal(size)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(p={self.probability}, mode={self.mode}, "
            f"count=({self.min_count}, {self.max_count}))"
        )
