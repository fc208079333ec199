"""Describable Textures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from flowvision.datasets.resources import Resource, SplitImageDataset, class_indices, read_lines


class DTD(SplitImageDataset):
    """Textures by what describes them: 47 words with 120 photos each.

    Cimpoi et al., "Describing Textures in the Wild", 2014.

    Args:
        root: folder of the folder ``dtd``.
        split: ``"train"``, ``"val"`` or ``"test"``.
        partition: which of ten ways to split the photos, from 1.
        transform: applied to each image.
        target_transform: applied to each class number.
        download: get and unpack the archive, 600 MB, if something is missing.

    Attributes:
        classes: the words.
        class_to_idx: number of each word.

    Raises:
        ValueError: an unknown `split` or `partition`.
        RuntimeError: files are missing.

    Example:
        >>> from flowvision.datasets import DTD
        >>> dataset = DTD("data", split="val", partition=3)
        >>> image, target = dataset[0]
    """

    splits = ("train", "val", "test")
    folder_name = "dtd"
    resources = (
        Resource(
            "https://www.robots.ox.ac.uk/~vgg/data/dtd/download/dtd-r1.0.1.tar.gz",
            "fff73e5086ae6bdbea199a49dfb8a4c1",
        ),
    )

    def __init__(
        self,
        root: str | Path,
        split: str = "train",
        partition: int = 1,
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        download: bool = False,
    ) -> None:
        if partition not in range(1, 11):
            raise ValueError(f"`partition` must be an integer from 1 to 10, got {partition!r}")
        self.partition = partition
        super().__init__(root, split, transform, target_transform, download)

    def needed(self) -> list[Path]:
        """Return the list of the split, and the folder of all images."""
        unpacked = self.folder / "dtd"
        name = f"{self.split}{self.partition}.txt"
        return [unpacked / "labels" / name, unpacked / "images"]

    def read(self) -> tuple[list[Path], list[int]]:
        """Return the images, and the number of the word of each."""
        list_file, folder = self.needed()
        names = read_lines(list_file)
        labels = [name.partition("/")[0] for name in names]
        self.classes = sorted(set(labels))
        self.class_to_idx = class_indices(self.classes)
        return [folder / name for name in names], [self.class_to_idx[label] for label in labels]

    def extra_repr(self) -> str:
        """Return split and partition."""
        return f"Split: {self.split}, partition: {self.partition}"
