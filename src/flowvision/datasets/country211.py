"""Country211: photos by the country that they were taken in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from flowvision.datasets.resources import ImageFolderDataset, Resource
from flowvision.datasets.utils import verify_str_arg


class Country211(ImageFolderDataset):
    """Photos from 211 countries: 150 of each to train on, 50 to validate, 100 to test.

    Radford et al., "Learning Transferable Visual Models From Natural Language Supervision",
    https://arxiv.org/abs/2103.00020.

    Args:
        root: folder of the folder ``country211``.
        split: ``"train"``, ``"valid"`` or ``"test"``.
        transform: applied to each image.
        target_transform: applied to each class number.
        download: get and unpack the archive, 11 GB, if the images are missing.

    Raises:
        ValueError: an unknown `split`.
        RuntimeError: the images are missing.
    """

    def __init__(
        self,
        root: str | Path,
        split: str = "train",
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        download: bool = False,
    ) -> None:
        verify_str_arg(split, "split", ("train", "valid", "test"))
        folder = Path(root).expanduser()
        images = folder / "country211" / split
        super().__init__(folder, images, _ARCHIVE, download, transform, target_transform)


_ARCHIVE = Resource(
    "https://openaipublic.azureedge.net/clip/data/country211.tgz",
    "84988d7644798601126c29e9877aab6a",
)
