"""FGVC-Aircraft."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from flowvision.datasets.resources import Resource, SplitImageDataset, class_indices, read_lines
from flowvision.datasets.utils import verify_str_arg

_LISTS = {"variant": "variants", "family": "families", "manufacturer": "manufacturers"}


class FGVCAircraft(SplitImageDataset):
    """10,000 photos of aeroplanes: 100 variants of 70 families by 30 manufacturers.

    Maji et al., "Fine-Grained Visual Classification of Aircraft",
    https://arxiv.org/abs/1306.5151.

    Args:
        root: folder of the folder ``fgvc-aircraft-2013b``.
        split: ``"train"``, ``"val"``, ``"trainval"`` or ``"test"``.
        annotation_level: ``"variant"``, ``"family"`` or ``"manufacturer"``.
        transform: applied to each image.
        target_transform: applied to each class number.
        download: get and unpack the archive, 2.6 GB, if something is missing.

    Attributes:
        classes: names of the variants, families or manufacturers.
        class_to_idx: number of each.

    Raises:
        ValueError: an unknown `split` or `annotation_level`.
        RuntimeError: files are missing.

    Example:
        >>> from flowvision.datasets import FGVCAircraft
        >>> dataset = FGVCAircraft("data")
        >>> image, target = dataset[0]
    """

    splits = ("train", "val", "trainval", "test")
    # The publishers state no checksum.
    resources = (
        Resource(
            "https://www.robots.ox.ac.uk/~vgg/data/fgvc-aircraft/archives/"
            "fgvc-aircraft-2013b.tar.gz"
        ),
    )

    def __init__(
        self,
        root: str | Path,
        split: str = "trainval",
        annotation_level: str = "variant",
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        download: bool = False,
    ) -> None:
        self.annotation_level = verify_str_arg(annotation_level, "annotation_level", _LISTS)
        super().__init__(root, split, transform, target_transform, download)

    def needed(self) -> list[Path]:
        """Return the lists of classes and of images, and the folder of all images."""
        folder = self.folder / "fgvc-aircraft-2013b" / "data"
        classes = f"{_LISTS[self.annotation_level]}.txt"
        images = f"images_{self.annotation_level}_{self.split}.txt"
        return [folder / classes, folder / images, folder / "images"]

    def read(self) -> tuple[list[Path], list[int]]:
        """Return the images, and the class number of each."""
        classes, list_file, folder = self.needed()
        self.classes = read_lines(classes)
        self.class_to_idx = class_indices(self.classes)
        pairs = [line.split(" ", 1) for line in read_lines(list_file)]
        images = [folder / f"{name}.jpg" for name, _ in pairs]
        return images, [self.class_to_idx[aircraft] for _, aircraft in pairs]
