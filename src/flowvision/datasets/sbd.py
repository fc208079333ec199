"""Semantic Boundaries."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from flowvision.datasets.formats import read_matlab
from flowvision.datasets.resources import ImageDataset, Resource, read_lines
from flowvision.datasets.utils import verify_str_arg
from oneflow.data.vision.pillow import Image

_PARTS = ("cls", "img", "inst", "train.txt", "val.txt")
_NUM_CLASSES = 20


class SBDataset(ImageDataset):
    """11,355 photos of Pascal VOC 2011 with the classes of their pixels, or the outlines of these.

    Hariharan et al., "Semantic Contours from Inverse Detectors", 2011.

    Args:
        root: folder with ``img``, ``cls`` and the lists.
        image_set: ``"train"``, ``"val"`` or ``"train_noval"``: without Pascal VOC's validation.
        mode: ``"boundaries"``, an array ``[20, height, width]`` with 1 on outlines, or
            ``"segmentation"``, an image.
        download: get and unpack the archive, 1.4 GB, if something is missing.
        transforms: applied to image and target together.

    Raises:
        ValueError: an unknown `image_set` or `mode`.
        RuntimeError: files are missing.

    Example:
        >>> from flowvision.datasets import SBDataset
        >>> dataset = SBDataset("data")
        >>> image, target = dataset[0]
    """

    resources = (
        Resource(
            "https://www2.eecs.berkeley.edu/Research/Projects/CS/vision/grouping/"
            "semantic_contours/benchmark.tgz",
            "82b4d87ceb2ed10f6038a1cba92111cb",
        ),
        Resource(
            "https://www.cs.cornell.edu/~bharathh/train_noval.txt",
            "79bff800c5f0b1ec6b21080a3c066722",
            is_archive=False,
        ),
    )

    def __init__(
        self,
        root: str | Path,
        image_set: str = "train",
        mode: str = "boundaries",
        download: bool = False,
        transforms: Callable[..., Any] | None = None,
    ) -> None:
        super().__init__(root, transforms)
        self.image_set = verify_str_arg(image_set, "image_set", ("train", "val", "train_noval"))
        self.mode = verify_str_arg(mode, "mode", ("segmentation", "boundaries"))
        list_file = self.root / f"{image_set}.txt"
        if download and not list_file.exists():
            self._download()
        self.ensure_files(
            self.root, [list_file, self.root / "img", self.root / "cls"], download=False
        )
        names = read_lines(list_file)
        self.images = [self.root / "img" / f"{name}.jpg" for name in names]
        self.masks = [self.root / "cls" / f"{name}.mat" for name in names]

    def _download(self) -> None:
        archive, extra_list = self.resources
        if not (self.root / "img").exists():
            archive.download(self.root)
            for part in _PARTS:
                shutil.move(self.root / "benchmark_RELEASE" / "dataset" / part, self.root)
        if self.image_set == "train_noval":
            extra_list.download(self.root)

    def target(self, index: int) -> Any:
        """Return the classes of the pixels of a photo, or the outlines."""
        annotation = read_matlab(self.masks[index])["GTcls"][0]
        if self.mode == "segmentation":
            return Image.fromarray(annotation["Segmentation"][0])
        boundaries = annotation["Boundaries"][0]
        return np.stack([boundaries[number][0].toarray() for number in range(_NUM_CLASSES)])

    def extra_repr(self) -> str:
        """Return image set and mode."""
        return f"Image set: {self.image_set}\nMode: {self.mode}"
