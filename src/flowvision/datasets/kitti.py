"""KITTI: streets with boxes around cars and people."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from flowvision.datasets.resources import ImageDataset, Resource, read_lines
from flowvision.datasets.utils import list_files

_URL = "https://s3.eu-central-1.amazonaws.com/avg-kitti"


class Kitti(ImageDataset):
    """Streets from a car: 7,481 photos to train on, 7,518 to test.

    Geiger et al., "Are we ready for Autonomous Driving? The KITTI Vision Benchmark Suite", 2012.
    A target is a list of dictionaries with ``type``, ``truncated``, ``occluded``, ``alpha``,
    ``bbox`` (x1, y1, x2, y2), ``dimensions``, ``location`` and ``rotation_y``; None for the test.

    Args:
        root: folder of the folder ``Kitti/raw``.
        train: the photos to train on.
        transform: applied to each image.
        target_transform: applied to each target.
        transforms: applied to image and target together, instead of the other two.
        download: get and unpack the archives, 12 GB, if something is missing.

    Raises:
        RuntimeError: files are missing.

    Example:
        >>> from flowvision.datasets import Kitti
        >>> dataset = Kitti("data")
        >>> image, target = dataset[0]
    """

    # The publishers state no checksums.
    resources = (
        Resource(f"{_URL}/data_object_image_2.zip"),
        Resource(f"{_URL}/data_object_label_2.zip"),
    )

    def __init__(
        self,
        root: str | Path,
        train: bool = True,
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        transforms: Callable[..., Any] | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transforms, transform, target_transform)
        self.train = train
        raw = self.root / "Kitti" / "raw"
        part = raw / ("training" if train else "testing")
        images, labels = part / "image_2", part / "label_2"
        self.ensure_files(raw, [images, labels] if train else [images], download)
        self.images = [images / name for name in list_files(images, ".png")]
        self.targets = [labels / f"{image.stem}.txt" if train else None for image in self.images]

    def target(self, index: int) -> Any:
        """Return what the boxes of a photo are."""
        labels = self.targets[index]
        return None if labels is None else [_box(line.split(" ")) for line in read_lines(labels)]


def _box(fields: list[str]) -> dict[str, Any]:
    return {
        "type": fields[0],
        "truncated": float(fields[1]),
        "occluded": int(fields[2]),
        "alpha": float(fields[3]),
        "bbox": [float(field) for field in fields[4:8]],
        "dimensions": [float(field) for field in fields[8:11]],
        "location": [float(field) for field in fields[11:14]],
        "rotation_y": float(fields[14]),
    }
