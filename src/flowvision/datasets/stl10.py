"""STL-10."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from flowvision.datasets.resources import Resource, SplitImageDataset, read_lines

_PARTS = {
    "train": ("train",),
    "train+unlabeled": ("train", "unlabeled"),
    "unlabeled": ("unlabeled",),
    "test": ("test",),
}


class STL10(SplitImageDataset):
    """Photos of ten kinds of things, 96x96 color pixels: 500 of each to train on, 800 to test.

    Coates et al., "An Analysis of Single Layer Networks in Unsupervised Feature Learning", 2011.

    Args:
        root: folder of the folder ``stl10_binary``.
        split: ``"train"``, ``"test"``, ``"unlabeled"`` or ``"train+unlabeled"``.
        folds: one of ten parts of the training images, from 0; by default all.
        transform: applied to each image.
        target_transform: applied to each class number.
        download: get and unpack the archive, 2.6 GB, if something is missing.

    Attributes:
        data: all images, a uint8 array ``[N, 3, 96, 96]``.
        labels: class numbers; -1 for images without one.
        classes: names of the classes.

    Raises:
        ValueError: an unknown `split`, or no such part.
        RuntimeError: files are missing.

    Example:
        >>> from flowvision.datasets import STL10
        >>> dataset = STL10("data")
        >>> image, target = dataset[0]
    """

    splits = tuple(_PARTS)
    resources = (
        Resource(
            "http://ai.stanford.edu/~acoates/stl10/stl10_binary.tar.gz",
            "91f7769df0f17e558f3565bffb0c7dfb",
        ),
    )

    def __init__(
        self,
        root: str | Path,
        split: str = "train",
        folds: int | None = None,
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        download: bool = False,
    ) -> None:
        if folds is not None and folds not in range(10):
            raise ValueError(f"`folds` must be an integer from 0 to 9 or None, got {folds!r}")
        self.folds = folds
        super().__init__(root, split, transform, target_transform, download)

    @property
    def _unpacked(self) -> Path:
        return self.folder / "stl10_binary"

    def needed(self) -> list[Path]:
        """Return the files of the split."""
        return [self._unpacked / f"{part}_X.bin" for part in _PARTS[self.split]]

    def read(self) -> tuple[np.ndarray, list[int]]:
        """Return the images, and the class number of each."""
        self.classes = read_lines(self._unpacked / "class_names.txt")
        parts = [self._read(part) for part in _PARTS[self.split]]
        images, labels = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        # The file lists columns, not rows.
        self.data, self.labels = images.transpose(0, 1, 3, 2), labels
        return self.data.transpose(0, 2, 3, 1), labels.tolist()

    def _read(self, part: str) -> tuple[np.ndarray, np.ndarray]:
        pixels = np.fromfile(self._unpacked / f"{part}_X.bin", np.uint8).reshape(-1, 3, 96, 96)
        if part == "unlabeled":
            return pixels, np.full(len(pixels), -1)
        labels = np.fromfile(self._unpacked / f"{part}_y.bin", np.uint8).astype(np.int64) - 1
        if part == "test" or self.folds is None:
            return pixels, labels
        indices = read_lines(self._unpacked / "fold_indices.txt")[self.folds].split()
        return pixels[np.array(indices, int)], labels[np.array(indices, int)]
