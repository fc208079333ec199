"""The German Traffic Sign Recognition Benchmark."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from flowvision.datasets.folder import make_dataset
from flowvision.datasets.resources import Resource, SplitImageDataset

_URL = "https://sid.erda.dk/public/archives/daaeac0d7ce1152aea9b61d9f1e19370"


class GTSRB(SplitImageDataset):
    """Photos of 43 kinds of traffic signs: 26,640 to train on, 12,630 to test.

    Stallkamp et al., "Man vs. computer: Benchmarking machine learning algorithms for traffic sign
    recognition", 2012.

    Args:
        root: folder of the folder ``gtsrb``.
        split: ``"train"`` or ``"test"``.
        transform: applied to each image.
        target_transform: applied to each class number.
        download: get and unpack the archives, 280 MB, if something is missing.

    Raises:
        ValueError: an unknown `split`.
        RuntimeError: files are missing.

    Example:
        >>> from flowvision.datasets import GTSRB
        >>> dataset = GTSRB("data")
        >>> image, target = dataset[0]
    """

    folder_name = "gtsrb"
    resources = (
        Resource(
            f"{_URL}/GTSRB-Training_fixed.zip",
            "513f3c79a4c5141765e10e952eaa2478",
        ),
        Resource(
            f"{_URL}/GTSRB_Final_Test_Images.zip",
            "c7e4e6327067d32654124b0fe9e82185",
        ),
        Resource(
            f"{_URL}/GTSRB_Final_Test_GT.zip",
            "fe31e9c9270bbcd7b84b7f21a9d9d9e5",
        ),
    )

    def needed(self) -> list[Path]:
        """Return the split's folder, and for the test the list of its classes."""
        if self.split == "train":
            return [self.folder / "GTSRB" / "Training"]
        return [self.folder / "GTSRB" / "Final_Test" / "Images", self.folder / "GT-final_test.csv"]

    def read(self) -> tuple[Sequence[Any], Sequence[int]]:
        """Return the images, and the class number of each."""
        folder, *list_files = self.needed()
        if not list_files:
            samples = make_dataset(folder, extensions=(".ppm",))
            return [path for path, _ in samples], [number for _, number in samples]
        with list_files[0].open(newline="") as file:
            rows = list(csv.DictReader(file, delimiter=";"))
        return [folder / row["Filename"] for row in rows], [int(row["ClassId"]) for row in rows]
