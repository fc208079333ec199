"""SEMEION: handwritten digits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from flowvision.datasets.resources import ImageDataset, Resource


class SEMEION(ImageDataset):
    """1,593 handwritten digits of 16x16 black and white pixels.

    https://archive.ics.uci.edu/dataset/178/semeion+handwritten+digit.

    Args:
        root: folder of the file ``semeion.data``.
        transform: applied to each image.
        target_transform: applied to each digit.
        download: get the file, 3 MB, if it is missing.

    Attributes:
        data: all images, a uint8 array ``[N, 16, 16]``.
        labels: the digits.

    Raises:
        RuntimeError: the file is missing.

    Example:
        >>> from flowvision.datasets import SEMEION
        >>> dataset = SEMEION("data", download=False)
        >>> image, target = dataset[0]
    """

    resources = (
        Resource(
            "http://archive.ics.uci.edu/ml/machine-learning-databases/semeion/semeion.data",
            "cb545d371d2ce14ec121470795a77432",
            is_archive=False,
        ),
    )

    def __init__(
        self,
        root: str | Path,
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        download: bool = True,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        file = self.root / "semeion.data"
        self.ensure_files(self.root, [file], download)
        rows = np.loadtxt(file, ndmin=2)
        self.images = self.data = (rows[:, :256] * 255).astype(np.uint8).reshape(-1, 16, 16)
        self.labels = rows[:, 256:].argmax(1)
        self.targets = self.labels.tolist()
