"""Food-101."""

from __future__ import annotations

import json
from pathlib import Path

from flowvision.datasets.published import PublishedFile, SplitImages, numbered


class Food101(SplitImages):
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
    """

    published = (
        PublishedFile(
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
        listed, folder = self.needed()
        names_of = json.loads(listed.read_text())
        self.classes = sorted(names_of)
        self.class_to_idx = numbered(self.classes)
        pairs = [
            (folder / f"{name}.jpg", self.class_to_idx[dish])
            for dish, names in names_of.items()
            for name in names
        ]
        return [image for image, _ in pairs], [target for _, target in pairs]
