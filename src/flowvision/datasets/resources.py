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
    list_files,
    verify_str_arg,
)
from flowvision.datasets.vision import VisionDataset
from oneflow.data.vision.datasets import load_image, require_files
from oneflow.data.vision.pillow import Image

# Paths of files, or pixels.
Images = Sequence[Any] | np.ndarray


@dataclass(frozen=True)
class Resource:
    """A file that a data set is downloaded as.

    Attributes:
        url: its address.
        md5: the MD5 of its content; None if nobody states it.
        name: its file name, by default the address's last part.
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


def ensure_files(
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
        for resource in resources:
            resource.download(folder)
    if not source:
        urls = ", ".join(resource.url for resource in resources)
        source = f"get it with download=True, or from {urls}"
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
    # The folder, the files that must be in it, and where they come from.
    _required: tuple[Path, list[Path], Sequence[Resource]] | None = None

    def ensure_files(
        self,
        folder: Path,
        needed: Iterable[Path],
        download: bool,
        resources: Sequence[Resource] | None = None,
    ) -> None:
        """Download missing files, see the function of this name."""
        files = self.resources if resources is None else resources
        self._required = folder, list(needed), files
        ensure_files(type(self).__name__, *self._required, download, self.source)

    def download(self) -> None:
        """Download all files again if one of them is missing.

        Raises:
            ConnectionError: an address cannot be reached.
            RuntimeError: the data set cannot be downloaded; says where to get it.
        """
        if self._required is not None:
            ensure_files(type(self).__name__, *self._required, True, self.source)

    def load(self, image: Any) -> Any:
        """Return an entry of `images` as a Pillow image."""
        return load_image(image) if isinstance(image, str | Path) else Image.fromarray(image)

    def target(self, index: int) -> Any:
        """Return what belongs to an image."""
        return self.targets[index]

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        return self.transformed(self.load(self.images[index]), self.target(index))

    def __len__(self) -> int:
        return len(self.images)


class ListImageDataset(ImageDataset):
    """Base class of data sets that are read as one list of images and one of targets.

    A subclass states `folder_name`, and defines `needed` and `read`.

    Args:
        root: folder of the data set's folder.
        transform: applied to each image, a Pillow image.
        target_transform: applied to each target.
        download: get and unpack the resources, if something is missing.

    Attributes:
        folder_name: the data set's folder below `root`.

    Raises:
        RuntimeError: files are missing or damaged.
        ConnectionError: they cannot be downloaded.
    """

    folder_name: ClassVar[str] = ""

    def __init__(
        self,
        root: str | Path,
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.folder = self.root / self.folder_name
        self.ensure_files(self.folder, self.needed(), download, self.files())
        self.images, self.targets = self.read()

    def files(self) -> Sequence[Resource]:
        """Return what `download` gets: if it differs between splits, not `resources`."""
        return self.resources

    def needed(self) -> list[Path]:
        """Return files and folders that must be there."""
        raise NotImplementedError(f"{type(self).__name__} must define `needed`")

    def read(self) -> tuple[Images, Sequence[Any]]:
        """Return the images, and their targets."""
        raise NotImplementedError(f"{type(self).__name__} must define `read`")


class SplitImageDataset(ListImageDataset):
    """Base class of such data sets whose images are divided into splits.

    Args:
        root: folder of the data set's folder.
        split: one of `splits`.
        transform: applied to each image, a Pillow image.
        target_transform: applied to each target.
        download: get and unpack the resources, if something is missing.

    Attributes:
        splits: names of the splits.

    Raises:
        ValueError: an unknown `split`.
    """

    splits: ClassVar[tuple[str, ...]] = ("train", "test")

    def __init__(
        self,
        root: str | Path,
        split: str = "train",
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        download: bool = False,
    ) -> None:
        self.split = verify_str_arg(split, "split", self.splits)
        super().__init__(root, transform, target_transform, download)

    def extra_repr(self) -> str:
        """Return the split."""
        return f"Split: {self.split}"


class ArchiveImageFolder(ImageFolder):
    """Base class of data sets that are an archive of class folders, which states `resources`.

    Args:
        folder: the folder that the archive is unpacked into.
        class_root: the folder of the class folders, below it.
        transform: applied to each image.
        target_transform: applied to each class number.
        download: get and unpack the archive, if the images are missing.

    Raises:
        RuntimeError: the images are missing.
        ConnectionError: they cannot be downloaded.
    """

    resources: ClassVar[Sequence[Resource]] = ()

    def __init__(
        self,
        folder: str | Path,
        class_root: str,
        transform: Callable[..., Any] | None,
        target_transform: Callable[..., Any] | None,
        download: bool,
    ) -> None:
        folder = Path(folder).expanduser()
        images = folder / class_root
        ensure_files(type(self).__name__, folder, [images], self.resources, download)
        super().__init__(images, transform, target_transform)


class SplitImageFolder(ArchiveImageFolder):
    """Base class of data sets that are an archive of splits with class folders.

    A subclass states `class_roots`.

    Args:
        root: folder that the archive is unpacked into.
        split: one of the keys of `class_roots`.
        transform: applied to each image.
        target_transform: applied to each class number.
        download: get and unpack the archive, if the images are missing.

    Attributes:
        class_roots: the folder of the class folders of each split.

    Raises:
        ValueError: an unknown `split`.
    """

    class_roots: ClassVar[dict[str, str]] = {}

    def __init__(
        self,
        root: str | Path,
        split: str = "train",
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        download: bool = False,
    ) -> None:
        self.split = verify_str_arg(split, "split", self.class_roots)
        super().__init__(root, self.class_roots[split], transform, target_transform, download)


def list_class_files(
    folder: Path, classes: Iterable[str], suffix: str = ""
) -> tuple[list[Path], list[int]]:
    """Return the files in the folders of some classes, and the class number of each.

    Args:
        folder: the folder of the class folders.
        classes: their names, in the order of the class numbers.
        suffix: the ending of the files.
    """
    samples = [
        (folder / name / file, number)
        for number, name in enumerate(classes)
        for file in list_files(folder / name, suffix)
    ]
    return [path for path, _ in samples], [number for _, number in samples]


def check_target_types(target_type: str | Sequence[str], valid: Sequence[str]) -> list[str]:
    """Return the requested kinds of targets as a list.

    Raises:
        ValueError: there is no such kind.
    """
    kinds = [target_type] if isinstance(target_type, str) else list(target_type)
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
