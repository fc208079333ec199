"""Food-101."""

from __future__ import annotations

import json
from pathlib import Path

from flowvision.datasets.resources import Resource, SplitImageDataset, class_indices


class Food101(SplitImageDataset):
    """101 dishes with 1,000 photos each: 750 to train on, 250 checked ones to test.

    Bossard et al., "Food-101 - Mining Discriminative Components with Random Forests", 2014.

    Args:
        root: folder of the folder ``food-101``.
        split: ``"train"`` or ``"test"``.
        transform: applied to each image.
        target_transform: applied to each class number.
        download: get and unpack the archive, 5 GB, if something is missing.

    Attributes:
        classes: names of the dishes.
        class_to_idx: number of each dish.

    Raises:
        ValueError: an unknown `split`.
        RuntimeError: files are missing.

    Example:
        >>> from flowvision.datasets import Food101
        >>> dataset = Food101("data")
        >>> image, target = dataset[0]
    """

    resources = (
        Resource(
            "http://data.vision.ee.ethz.ch/cvl/food-101.tar.gz",
            "85eeb15f3717b99a5da872d97d918f87",
        ),
    )

    def needed(self) -> list[Path]:
        """Return the list of the split, and the folder of all images."""
        unpacked = self.folder / "food-101"
        return [unpacked / "meta" / f"{self.split}.json", unpacked / "images"]

    def read(self) -> tuple[list[Path], list[int]]:
        """Return the images, and the number of the dish of each."""
        list_file, folder = self.needed()
        names_of = json.loads(list_file.read_text())
        self.classes = sorted(names_of)
        self.class_to_idx = class_indices(self.classes)
        pairs = [
            (folder / f"{name}.jpg", self.class_to_idx[category])
            for category, names in names_of.items()
            for name in names
        ]
        return [image for image, _ in pairs], [target for _, target in pairs]
