"""LSUN: scenes in LMDB databases."""

from __future__ import annotations

import bisect
import io
import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from flowvision.datasets.formats import open_lmdb
from flowvision.datasets.utils import verify_str_arg
from flowvision.datasets.vision import VisionDataset
from oneflow.data.vision.datasets import require_files
from oneflow.data.vision.pillow import Image

_CATEGORIES = (
    "bedroom",
    "bridge",
    "church_outdoor",
    "classroom",
    "conference_room",
    "dining_room",
    "kitchen",
    "living_room",
    "restaurant",
    "tower",
)
_SPLITS = ("train", "val", "test")
_SOURCE = "get it with the script at https://github.com/fyu/lsun"


class LSUNClass(VisionDataset):
    """The images of one database of LSUN; targets are None.

    Args:
        root: folder of the database.
        transform: applied to each image.
        target_transform: applied to each target.

    Raises:
        RuntimeError: the database, or the package lmdb, is missing.

    Example:
        >>> from flowvision.datasets import LSUNClass
        >>> dataset = LSUNClass("data/tower_val_lmdb")
        >>> image, _ = dataset[0]
    """

    def __init__(
        self,
        root: str | Path,
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        require_files([self.root], "LSUN", _SOURCE)
        self.env = open_lmdb(self.root)
        with self.env.begin(write=False) as reader:
            self.keys = list(reader.cursor().iternext(keys=True, values=False))

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        with self.env.begin(write=False) as reader:
            content = reader.get(self.keys[index])
        return self.transformed(Image.open(io.BytesIO(content)).convert("RGB"), None)

    def __len__(self) -> int:
        return len(self.keys)


class LSUN(VisionDataset):
    """Ten kinds of scenes, 120,000 to 3,000,000 photos each; the target is the number of the kind.

    Yu et al., "LSUN: Construction of a Large-scale Image Dataset using Deep Learning with Humans in
    the Loop", https://arxiv.org/abs/1506.03365.

    Args:
        root: folder of the databases, ``bedroom_train_lmdb`` and so on.
        classes: ``"train"``, ``"val"`` or ``"test"``, or a list such as ``["bedroom_train"]``.
        transform: applied to each image.
        target_transform: applied to each target.

    Raises:
        ValueError: there is no such class.
        RuntimeError: a database, or the package lmdb, is missing.

    Example:
        >>> from flowvision.datasets import LSUN
        >>> dataset = LSUN("data", classes=["bedroom_val", "tower_val"])
        >>> dataset[2][1]  # the first image of the second class
        1
    """

    def __init__(
        self,
        root: str | Path,
        classes: str | Sequence[str] = "train",
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.classes = _class_names(classes)
        self.dbs = [LSUNClass(self.root / f"{name}_lmdb", transform) for name in self.classes]
        self.indices = list(itertools.accumulate(map(len, self.dbs)))

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        if not 0 <= index < len(self):
            raise IndexError(f"index {index} is out of range for {len(self)} images")
        number = bisect.bisect_right(self.indices, index)
        before = self.indices[number - 1] if number else 0
        image, _ = self.dbs[number][index - before]
        target = number if self.target_transform is None else self.target_transform(number)
        return image, target

    def __len__(self) -> int:
        return self.indices[-1] if self.indices else 0

    def extra_repr(self) -> str:
        """Return the classes."""
        return f"Classes: {self.classes}"


def _class_names(classes: str | Sequence[str]) -> list[str]:
    """Return the names of databases."""
    if isinstance(classes, str):
        split = verify_str_arg(classes, "classes", _SPLITS)
        return ["test"] if split == "test" else [f"{category}_{split}" for category in _CATEGORIES]
    for name in classes:
        category, _, split = verify_str_arg(name, "classes").rpartition("_")
        verify_str_arg(category, "classes", _CATEGORIES)
        verify_str_arg(split, "classes", _SPLITS)
    return list(classes)
