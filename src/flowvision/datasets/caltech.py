"""Caltech 101 and Caltech 256."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from flowvision.datasets.formats import read_matlab
from flowvision.datasets.resources import (
    ImageDataset,
    Resource,
    check_target_types,
    list_class_files,
    one_or_all,
)
from flowvision.datasets.utils import list_dir

# Four classes have another name among the outlines.
_ANNOTATION_NAMES = {
    "Faces": "Faces_2",
    "Faces_easy": "Faces_3",
    "Motorbikes": "Motorbikes_16",
    "airplanes": "Airplanes_Side_2",
}


class Caltech101(ImageDataset):
    """Photos of 101 kinds of things, 40 to 800 of each.

    Fei-Fei et al., "Learning Generative Visual Models from Few Training Examples", 2004.

    Args:
        root: folder of the folder ``caltech101``.
        target_type: ``"category"``, the class number, ``"annotation"``, the outline as an array
            ``[2, points]``, or a list of both.
        transform: applied to each image.
        target_transform: applied to each target.
        download: get and unpack the archive, 130 MB, if something is missing. The archives in it
            must be unpacked, too.

    Attributes:
        categories: names of the classes.

    Raises:
        ValueError: an unknown `target_type`.
        RuntimeError: files are missing.

    Example:
        >>> from flowvision.datasets import Caltech101
        >>> dataset = Caltech101("data")
        >>> image, target = dataset[0]
    """

    resources = (
        Resource(
            "https://data.caltech.edu/records/mzrjq-6wc02/files/caltech-101.zip",
            "3138e1922a9193bfa496528edbbc45d0",
        ),
    )

    def __init__(
        self,
        root: str | Path,
        target_type: str | Sequence[str] = "category",
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        download: bool = False,
    ) -> None:
        folder = Path(root).expanduser() / "caltech101"
        super().__init__(folder, transform=transform, target_transform=target_transform)
        self.target_type = check_target_types(target_type, ("category", "annotation"))
        images = self.root / "101_ObjectCategories"
        self.ensure_files(self.root, [images], download)
        # This folder is no class: it holds whatever the search engine returned.
        self.categories = [name for name in list_dir(images) if name != "BACKGROUND_Google"]
        self.images, self.y = list_class_files(images, self.categories, ".jpg")

    def target(self, index: int) -> Any:
        """Return the class number of an image, its outline, or both."""
        read = {"category": lambda: self.y[index], "annotation": lambda: self._annotation(index)}
        return one_or_all([read[kind]() for kind in self.target_type])

    def _annotation(self, index: int) -> Any:
        name = self.categories[self.y[index]]
        file = self.images[index].name.replace("image", "annotation").replace(".jpg", ".mat")
        path = self.root / "Annotations" / _ANNOTATION_NAMES.get(name, name) / file
        return read_matlab(path)["obj_contour"]


class Caltech256(ImageDataset):
    """30,607 photos of 257 kinds of things, at least 80 of each; the target is the class number.

    Griffin et al., "Caltech-256 Object Category Dataset", 2007.

    Args:
        root: folder of the folder ``caltech256``.
        transform: applied to each image.
        target_transform: applied to each class number.
        download: get and unpack the archive, 1.2 GB, if something is missing.

    Attributes:
        categories: names of the classes.

    Raises:
        RuntimeError: files are missing.

    Example:
        >>> from flowvision.datasets import Caltech256
        >>> dataset = Caltech256("data")
        >>> image, target = dataset[0]
    """

    resources = (
        Resource(
            "https://data.caltech.edu/records/nyy15-4j048/files/256_ObjectCategories.tar",
            "67b4f42ca05d46448c6bb8ecd2220f6d",
        ),
    )

    def __init__(
        self,
        root: str | Path,
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        download: bool = False,
    ) -> None:
        folder = Path(root).expanduser() / "caltech256"
        super().__init__(folder, transform=transform, target_transform=target_transform)
        images = self.root / "256_ObjectCategories"
        self.ensure_files(self.root, [images], download)
        self.categories = list_dir(images)
        self.images, self.y = list_class_files(images, self.categories, ".jpg")
        self.targets = self.y
