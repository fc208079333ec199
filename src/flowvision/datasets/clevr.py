"""CLEVR: computed pictures of simple things."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from flowvision.datasets.resources import Resource, SplitImageDataset


class CLEVRClassification(SplitImageDataset):
    """Computed pictures of three to ten simple things; the target is how many there are.

    Johnson et al., "CLEVR: A Diagnostic Dataset for Compositional Language and Elementary Visual
    Reasoning", https://arxiv.org/abs/1612.06890.

    Args:
        root: folder of the folder ``clevr``.
        split: ``"train"``, ``"val"`` or ``"test"``, whose targets are None.
        transform: applied to each image.
        target_transform: applied to each target.
        download: get and unpack the archive, 18 GB, if something is missing.

    Raises:
        ValueError: an unknown `split`.
        RuntimeError: files are missing.

    Example:
        >>> from flowvision.datasets import CLEVRClassification
        >>> dataset = CLEVRClassification("data")
        >>> image, target = dataset[0]
    """

    splits = ("train", "val", "test")
    folder_name = "clevr"
    resources = (
        Resource(
            "https://dl.fbaipublicfiles.com/clevr/CLEVR_v1.0.zip",
            "b11922020e72d0cd9154779b2d3d07d2",
        ),
    )

    def needed(self) -> list[Path]:
        """Return the folder of the split's images."""
        return [self.folder / "CLEVR_v1.0" / "images" / self.split]

    def read(self) -> tuple[list[Path], list[Any]]:
        """Return the images, and how many things each shows."""
        images = sorted(self.needed()[0].iterdir())
        if self.split == "test":
            return images, [None] * len(images)
        file = self.folder / "CLEVR_v1.0" / "scenes" / f"CLEVR_{self.split}_scenes.json"
        counts = {
            entry["image_filename"]: len(entry["objects"])
            for entry in json.loads(file.read_text())["scenes"]
        }
        return images, [counts[image.name] for image in images]
