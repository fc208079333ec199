"""Random rectangles of images."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np


def random_box(
    height: int,
    width: int,
    area: Sequence[float],
    ratio: Sequence[float],
    random: np.random.Generator,
    attempts: int = 10,
) -> tuple[int, int, int, int]:
    """Return a random rectangle (top, left, height, width).

    Args:
        height: the height of the image.
        width: the width of the image.
        area: range of the rectangle's share of the area.
        ratio: range of its width divided by its height.
        random: the random numbers.
        attempts: draws before the largest rectangle in the middle is taken whose form is allowed.
    """
    low, high = math.log(ratio[0]), math.log(ratio[1])
    for _ in range(attempts):
        target_area = height * width * random.uniform(area[0], area[1])
        form = math.exp(random.uniform(low, high))
        w, h = round(math.sqrt(target_area * form)), round(math.sqrt(target_area / form))
        if 0 < w <= width and 0 < h <= height:
            top, left = random.integers(height - h + 1), random.integers(width - w + 1)
            return int(top), int(left), h, w
    form = min(max(width / height, ratio[0]), ratio[1])
    w, h = min(width, round(height * form)), min(height, round(width / form))
    return (height - h) // 2, (width - w) // 2, h, w
