"""USPS: handwritten digits."""

from __future__ import annotations

import bz2
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from flowvision.datasets.resources import ImageDataset, Resource

_URL = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multiclass"
_FILES = {
    True: ("usps.bz2", "ec16c51db3855ca6c91edd34d0e9b197"),
    False: ("usps.t.bz2", "8ea070ee2aca1ac39742fdd1ef5ed118"),
}


class USPS(ImageDataset):
    """Handwritten digits of post codes, 16x16 gray pixels: 7,291 to train on, 2,007 to test.

    Hull, "A database for handwritten text recognition research", 1994.

    Args:
        root: folder of the files ``usps.bz2`` and ``usps.t.bz2``.
        train: the images to train on.
        transform: applied to each image.
        target_transform: applied to each digit.
        download: get the file, up to 7 MB, if it is missing.

    Attributes:
        data: all images, a uint8 array ``[N, 16, 16]``.
        targets: the digits.

    Raises:
        RuntimeError: the file is missing.

    Example:
        >>> from flowvision.datasets import USPS
        >>> dataset = USPS("data", train=False)
        >>> image, target = dataset[0]
    """

    def __init__(
        self,
        root: str | Path,
        train: bool = True,
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        name, md5 = _FILES[train]
        resource = Resource(f"{_URL}/{name}", md5, is_archive=False)
        self.ensure_files(self.root, [self.root / name], download, [resource])
        with bz2.open(self.root / name, "rt") as file:
            rows = [line.split() for line in file]
        # Each line is the class from 1, then position and value of each pixel, from -1 to 1.
        values = [[float(pixel.partition(":")[2]) for pixel in row[1:]] for row in rows]
        pixels = (np.array(values, np.float32).reshape(-1, 16, 16) + 1) / 2 * 255
        self.images = self.data = pixels.astype(np.uint8)
        self.targets = [int(float(row[0])) - 1 for row in rows]
