"""FER 2013: expressions of faces."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np

from flowvision.datasets.resources import SplitImageDataset

_USAGES = {"train": ("Training",), "test": ("PublicTest", "PrivateTest")}


class FER2013(SplitImageDataset):
    """Gray faces of 48x48 pixels by seven expressions: 28,709 to train on, 7,178 to test.

    Goodfellow et al., "Challenges in Representation Learning: A report on three machine learning
    contests", 2013.

    Args:
        root: folder of the folder ``fer2013``, which has ``fer2013.csv``, ``icml_face_data.csv``,
            or ``train.csv`` and ``test.csv``, whose targets are None.
        split: ``"train"`` or ``"test"``.
        transform: applied to each image.
        target_transform: applied to each class number.

    Raises:
        ValueError: an unknown `split`.
        RuntimeError: the file is missing; says where to get it, which asks for an account.

    Example:
        >>> from flowvision.datasets import FER2013
        >>> dataset = FER2013("data")
        >>> image, target = dataset[0]
    """

    folder_name = "fer2013"
    source = (
        "get it from https://www.kaggle.com/c/"
        "challenges-in-representation-learning-facial-expression-recognition-challenge"
    )

    def needed(self) -> list[Path]:
        """Return the first of the files that is there."""
        complete = [self.folder / name for name in ("fer2013.csv", "icml_face_data.csv")]
        return [path for path in complete if path.exists()][:1] or [
            self.folder / f"{self.split}.csv"
        ]

    def read(self) -> tuple[list[np.ndarray], list[Any]]:
        """Return the faces, and the number of the expression of each."""
        with self.needed()[0].open(newline="") as file:
            # One of the files has a space before the names of columns.
            rows = [
                {name.strip(): value for name, value in row.items()} for row in csv.DictReader(file)
            ]
        rows = [row for row in rows if row.get("Usage") in (None, *_USAGES[self.split])]
        arrays = [np.array(row["pixels"].split(), np.uint8).reshape(48, 48) for row in rows]
        return arrays, [int(row["emotion"]) if "emotion" in row else None for row in rows]
