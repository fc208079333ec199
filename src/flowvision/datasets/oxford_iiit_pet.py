"""Oxford-IIIT Pets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from flowvision.datasets.resources import (
    ImageDataset,
    Resource,
    check_target_types,
    class_indices,
    one_or_all,
    read_lines,
)
from flowvision.datasets.utils import verify_str_arg
from oneflow.data.vision.pillow import Image

_URL = "https://www.robots.ox.ac.uk/~vgg/data/pets/data"


class OxfordIIITPet(ImageDataset):
    """37 breeds of cats and dogs, about 200 photos of each.

    Parkhi et al., "Cats and Dogs", 2012.

    Args:
        root: folder of the folder ``oxford-iiit-pet``.
        split: ``"trainval"`` or ``"test"``.
        target_types: ``"category"`` (the number of the breed), ``"binary-category"`` (0 for cats, 1
            for dogs), ``"segmentation"`` (an image of the pet's pixels), or a list of these; an
            empty one gives None.
        transforms: applied to image and target together, instead of the other two.
        transform: applied to each image.
        target_transform: applied to each target.
        download: get and unpack the archives, 800 MB, if something is missing.

    Attributes:
        classes: names of the breeds.
        class_to_idx: number of each breed.
        bin_classes: ``["Cat", "Dog"]``.
        bin_class_to_idx: number of each.

    Raises:
        ValueError: an unknown `split` or kind of target.
        RuntimeError: files are missing.

    Example:
        >>> from flowvision.datasets import OxfordIIITPet
        >>> dataset = OxfordIIITPet("data", target_types="category")
        >>> image, target = dataset[0]
    """

    resources = (
        Resource(f"{_URL}/images.tar.gz", "5c4f3ee8e5d25df40f4fd59a7f44e54c"),
        Resource(f"{_URL}/annotations.tar.gz", "95a8c909bbe2e81eed6a22bccdf3f68f"),
    )

    def __init__(
        self,
        root: str | Path,
        split: str = "trainval",
        target_types: str | Sequence[str] = "category",
        transforms: Callable[..., Any] | None = None,
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transforms, transform, target_transform)
        self.split = verify_str_arg(split, "split", ("trainval", "test"))
        kinds = ("category", "binary-category", "segmentation")
        self.target_types = check_target_types(target_types, kinds)
        folder = self.root / "oxford-iiit-pet"
        images, list_file = folder / "images", folder / "annotations" / f"{split}.txt"
        self.ensure_files(folder, [images, list_file], download)
        rows = [line.split() for line in read_lines(list_file)]  # photo, breed, cat or dog, number
        self.images = [images / f"{row[0]}.jpg" for row in rows]
        self._breeds = [int(row[1]) - 1 for row in rows]
        self._animals = [int(row[2]) - 1 for row in rows]
        self._masks = [folder / "annotations" / "trimaps" / f"{row[0]}.png" for row in rows]
        names = {number: row[0] for number, row in zip(self._breeds, rows, strict=True)}
        self.classes = [
            names[number].rpartition("_")[0].replace("_", " ").title() for number in sorted(names)
        ]
        self.class_to_idx = class_indices(self.classes)
        self.bin_classes = ["Cat", "Dog"]
        self.bin_class_to_idx = class_indices(self.bin_classes)

    def target(self, index: int) -> Any:
        """Return the targets of a photo."""
        read = {
            "category": lambda: self._breeds[index],
            "binary-category": lambda: self._animals[index],
            "segmentation": lambda: Image.open(self._masks[index]),
        }
        return one_or_all([read[kind]() for kind in self.target_types])
