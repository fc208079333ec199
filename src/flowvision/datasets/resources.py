"""The base of data sets that are downloaded as archives of images and lists: their resources."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from flowvision.datasets.folder import ImageFolder
from flowvision.datasets.utils import (
    download_and_extract_archive,
    download_url,
    google_drive_url,
    verify_str_arg,
)
from flowvision.datasets.vision import VisionDataset
from oneflow.data.vision.datasets import load_image, require_files
from oneflow.data.vision.image import pillow

# Paths of files, or pixels.
Images = Sequence[Any] | np.ndarray


@dataclass(frozen=True)
class Resource:
    """A file that a data set is downloaded as.

    Attributes:
        url: its address.
        md5: the MD5 of its content; None if nobody states it.
        name: what it is kept as, by default the address's last part.
        is_archive: unpack it beside itself.
        folder: folder below it that it is unpacked into.
    """

    url: str
    md5: str | None = None
    name: str | None = None
    is_archive: bool = True
    folder: str = ""

    @classmethod
    def on_google_drive(
        cls, file_id: str, md5: str, name: str, is_archive: bool = True
    ) -> Resource:
        """Return the description of a file on Google Drive."""
        return cls(google_drive_url(file_id), md5, name, is_archive)

    def download(self, folder: Path) -> None:
        """Download it into a folder, compare its MD5 and unpack it.

        Raises:
            ConnectionError: the address cannot be reached.
            RuntimeError: the content has another MD5, or cannot be unpacked.
        """
        if self.is_archive:
            target = folder / self.folder
            download_and_extract_archive(self.url, folder, target, self.name, self.md5)
        else:
            download_url(self.url, folder, self.name, self.md5)


def provide(
    name: str,
    folder: Path,
    needed: Sequence[Path],
    resources: Sequence[Resource],
    download: bool,
    source: str = "",
) -> None:
    """Download the resources of a data set if something is missing.

    Args:
        name: the data set's.
        folder: where the files go.
        needed: files and folders that must be there in the end.
        resources: the files.
        download: get them; without it, what is missing is an error.
        source: says where to get a data set that cannot be downloaded.

    Raises:
        RuntimeError: something is missing; says what, and where to get it.
    """
    missing = [path for path in needed if not path.exists()]
    if missing and download and resources:
        folder.mkdir(parents=True, exist_ok=True)
        for each in resources:
            each.download(folder)
    if not source:
        source = f"get it with download=True, or from {', '.join(each.url for each in resources)}"
    require_files(needed, name, source)


class ImageDataset(VisionDataset):
    """Base class of data sets that are lists of images with targets.

    Attributes:
        resources: the files that `download` gets.
        source: says where to get a data set that cannot be downloaded.
        images: paths of files, or arrays.
        targets: what belongs to each of them.
    """

    resources: ClassVar[Sequence[Resource]] = ()
    source: ClassVar[str] = ""
    images: Images = ()
    targets: Sequence[Any] = ()

    def provide(
        self,
        folder: Path,
        needed: Iterable[Path],
        download: bool,
        resources: Sequence[Resource] | None = None,
    ) -> None:
        """Download what is missing, see the function of this name."""
        files = self.resources if resources is None else resources
        provide(type(self).__name__, folder, list(needed), files, download, self.source)

    def load(self, image: Any) -> Any:
        """Return an entry of `images` as a Pillow image."""
        return load_image(image) if isinstance(image, str | Path) else pillow().fromarray(image)

    def target(self, index: int) -> Any:
        """Return what belongs to an image."""
        return self.targets[index]

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        return self.transformed(self.load(self.images[index]), self.target(index))

    def __len__(self) -> int:
        return len(self.images)


class SplitImageDataset(ImageDataset):
    """Base class of data sets whose images are divided into splits.

    A subclass states `splits` and `folder_name`, and defines `needed` and `read`.

    Args:
        root: folder of the data set's folder.
        split: one of `splits`.
        transform: applied to each image, a Pillow image.
        target_transform: applied to each target.
        download: get and unpack the resources, if something is missing.

    Attributes:
        splits: names of the splits.
        folder_name: the data set's folder below `root`.

    Raises:
        ValueError: an unknown `split`.
        RuntimeError: files are missing or damaged.
        ConnectionError: they cannot be downloaded.
    """

    splits: ClassVar[tuple[str, ...]] = ("train", "test")
    folder_name: ClassVar[str] = ""

    def __init__(
        self,
        root: str | Path,
        split: str = "train",
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.split = verify_str_arg(split, "split", self.splits)
        self.folder = self.root / self.folder_name
        self.provide(self.folder, self.needed(), download, self.archives())
        self.images, self.targets = self.read()

    def archives(self) -> Sequence[Resource]:
        """Return what `download` gets: if it differs between splits, not `resources`."""
        return self.resources

    def needed(self) -> list[Path]:
        """Return files and folders that must be there."""
        raise NotImplementedError(f"{type(self).__name__} must define `needed`")

    def read(self) -> tuple[Images, Sequence[Any]]:
        """Return the images of the split, and their targets."""
        raise NotImplementedError(f"{type(self).__name__} must define `read`")

    def extra_repr(self) -> str:
        """Return the split."""
        return f"Split: {self.split}"


class ImageFolderDataset(ImageFolder):
    """Base class of data sets with one folder of images per class.

    Args:
        folder: the data set's folder.
        images: the folder of the class folders.
        resource: the archive.
        download: get and unpack it, if the images are missing.
        transform: applied to each image.
        target_transform: applied to each class number.
    """

    def __init__(
        self,
        folder: Path,
        images: Path,
        resource: Resource,
        download: bool,
        transform: Callable | None,
        target_transform: Callable | None,
    ) -> None:
        provide(type(self).__name__, folder, [images], [resource], download)
        super().__init__(images, transform, target_transform)


def check_target_types(given: str | Sequence[str], valid: Sequence[str]) -> list[str]:
    """Return the kinds of targets that are asked for, as a list.

    Raises:
        ValueError: there is no such kind.
    """
    kinds = [given] if isinstance(given, str) else list(given)
    return [verify_str_arg(kind, "target_type", valid) for kind in kinds]


def one_or_all(values: Sequence[Any]) -> Any:
    """Return a single value by itself, several as a tuple, and None for none."""
    return tuple(values) if len(values) > 1 else values[0] if values else None


def class_indices(names: Iterable[str]) -> dict[str, int]:
    """Return the number of each class: its position."""
    return {name: number for number, name in enumerate(names)}


def read_lines(path: Path) -> list[str]:
    """Return the lines of a text file without spaces around them, empty ones left out."""
    return [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
