"""Oxford 102 Flowers."""

from __future__ import annotations

from pathlib import Path

from flowvision.datasets.formats import read_matlab
from flowvision.datasets.resources import Resource, SplitImageDataset

_URL = "https://www.robots.ox.ac.uk/~vgg/data/flowers/102"
_NAMES_OF_SPLITS = {"train": "trnid", "val": "valid", "test": "tstid"}


class Flowers102(SplitImageDataset):
    """102 kinds of flowers with 40 to 258 photos each.

    Nilsback and Zisserman, "Automated Flower Classification over a Large Number of Classes", 2008.

    Args:
        root: folder of the folder ``flowers-102``.
        split: ``"train"``, ``"val"`` or ``"test"``.
        transform: applied to each image.
        target_transform: applied to each class number.
        download: get the files, 350 MB, if something is missing.

    Raises:
        ValueError: an unknown `split`.
        RuntimeError: files are missing.

    Example:
        >>> from flowvision.datasets import Flowers102
        >>> dataset = Flowers102("data")
        >>> image, target = dataset[0]
    """

    splits = ("train", "val", "test")
    folder_name = "flowers-102"
    resources = (
        Resource(f"{_URL}/102flowers.tgz", "52808999861908f626f3c1f4e79d11fa"),
        Resource(f"{_URL}/imagelabels.mat", "e0620be6f572b9609742df49c70aed4d", is_archive=False),
        Resource(f"{_URL}/setid.mat", "a5357ecc9cb78c4bef273ce3793fc85c", is_archive=False),
    )

    def needed(self) -> list[Path]:
        """Return the lists of classes and splits, and the folder of all images."""
        return [self.folder / name for name in ("imagelabels.mat", "setid.mat", "jpg")]

    def read(self) -> tuple[list[Path], list[int]]:
        """Return the images, and the class number of each, from 0."""
        labels, splits, folder = self.needed()
        numbers = read_matlab(splits)[_NAMES_OF_SPLITS[self.split]].ravel().tolist()
        classes = read_matlab(labels)["labels"].ravel()
        images = [folder / f"image_{number:05d}.jpg" for number in numbers]
        return images, [int(classes[number - 1]) - 1 for number in numbers]
