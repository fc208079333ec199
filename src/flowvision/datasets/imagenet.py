"""ImageNet, in one folder per class, or in the archives of its publishers."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import oneflow as flow
from flowvision.datasets.folder import default_loader
from flowvision.datasets.formats import read_matlab
from flowvision.datasets.resources import read_lines
from flowvision.datasets.utils import check_integrity, extract_archive
from oneflow.utils.vision import datasets

# The file name and the MD5 of each archive.
ARCHIVE_META = {
    "train": ("ILSVRC2012_img_train.tar", "1d675b47d978889d74fa0da5fadfb00e"),
    "val": ("ILSVRC2012_img_val.tar", "29b22e2961454d5413ddabcf34fc5622"),
    "devkit": ("ILSVRC2012_devkit_t12.tar.gz", "fa75699e90414af021442c21a62c3abf"),
}
META_FILE = "meta.bin"


class ImageNet(datasets.ImageNet):
    """ImageNet 2012: photos of 1,000 kinds of things.

    Russakovsky et al., "ImageNet Large Scale Visual Recognition Challenge",
    https://arxiv.org/abs/1409.0575.

    Args:
        root: folder with ``train`` and ``val``, each with one folder per class, named by WordNet
            number (``n01440764``); or with the archives, which are unpacked.
        split: ``"train"`` or ``"val"``.
        download: an error says where to get the archives, which asks for an account.
        transform: applied to each image.
        target_transform: applied to each class number.
        loader: loads a file, default as a Pillow image.

    Attributes:
        wnids: WordNet numbers of the classes.
        wnid_to_idx: class number of each.
        classes: tuples of the names of each class, if the archive ``devkit`` was unpacked; else the
            WordNet numbers.
        class_to_idx: class number of each name.

    Raises:
        ValueError: an unknown `split`.
        RuntimeError: files are missing or damaged; says where to get them.

    Example:
        >>> from flowvision.datasets import ImageNet
        >>> dataset = ImageNet("data", split="val")
        >>> dataset.wnids
        ['n01440764', 'n01443537']
    """

    def __init__(
        self,
        root: str | Path,
        split: str = "train",
        download: Any = None,
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        loader: Callable[[str], Any] = default_loader,
    ) -> None:
        folder = Path(root).expanduser()
        _unpack(folder, split)
        super().__init__(folder, split, download, transform, target_transform, loader)
        self.wnid_to_idx = self.class_to_idx
        if (folder / META_FILE).is_file():
            names = load_meta_file(folder)[0]
            self.classes = [names[wnid] for wnid in self.wnids]
            self.class_to_idx = {
                name: number for number, names in enumerate(self.classes) for name in names
            }


def _unpack(root: Path, split: str) -> None:
    """Unpack the archives that are needed for a split and are there."""
    if split not in ("train", "val") or (root / split).exists():
        return
    archive_paths = {name for name, (file, _) in ARCHIVE_META.items() if (root / file).is_file()}
    if "devkit" in archive_paths and not (root / META_FILE).is_file():
        parse_devkit_archive(root)
    if split == "train" and "train" in archive_paths:
        parse_train_archive(root)
    if split == "val" and "val" in archive_paths and (root / META_FILE).is_file():
        parse_val_archive(root)


def load_meta_file(
    root: str | Path, file: str | None = None
) -> tuple[dict[str, tuple[str, ...]], list[str]]:
    """Return the names of each class by WordNet number, and the numbers of the val images.

    Args:
        root: folder of the file that `parse_devkit_archive` writes.
        file: its name, by default `META_FILE`.

    Raises:
        RuntimeError: the file is missing.
    """
    path = Path(root) / (file or META_FILE)
    if not path.is_file():
        raise RuntimeError(
            f"the meta file {path.name} is not in `{path.parent}`; `parse_devkit_archive` makes it"
        )
    names, wnids = flow.load(path)
    return names, wnids


def parse_devkit_archive(root: str | Path, file: str | None = None) -> None:
    """Write the names of the classes and the classes of the val images into `META_FILE`.

    Args:
        root: folder of the archive, and of the file.
        file: the archive's name, by default that of the publishers.

    Raises:
        RuntimeError: the archive is missing or damaged.
    """
    archive = _archive(root, "devkit", file)
    with tempfile.TemporaryDirectory() as folder:
        extract_archive(archive, folder)
        data = Path(folder) / "ILSVRC2012_devkit_t12" / "data"
        rows = read_matlab(data / "meta.mat", squeeze=True)["synsets"]
        numbers = read_lines(data / "ILSVRC2012_validation_ground_truth.txt")
    # A row is a number, a WordNet number, names, a description, and how many kinds there are of it.
    leaves = [row for row in rows if not int(row[4])]
    wnids = {int(row[0]): str(row[1]) for row in leaves}
    names = {str(row[1]): tuple(str(row[2]).split(", ")) for row in leaves}
    flow.save((names, [wnids[int(number)] for number in numbers]), Path(root) / META_FILE)


def parse_train_archive(root: str | Path, file: str | None = None, folder: str = "train") -> None:
    """Unpack the images to train on, an archive of one archive per class.

    Args:
        root: folder of the archive.
        file: its name, by default that of the publishers.
        folder: the folder of the class folders, below `root`.

    Raises:
        RuntimeError: the archive is missing or damaged.
    """
    target = Path(root) / folder
    extract_archive(_archive(root, "train", file), target)
    for archive in sorted(target.glob("*.tar")):
        extract_archive(archive, archive.with_suffix(""), remove_finished=True)


def parse_val_archive(
    root: str | Path,
    file: str | None = None,
    wnids: Sequence[str] | None = None,
    folder: str = "val",
) -> None:
    """Unpack the images to validate with, and move them into one folder per class.

    Args:
        root: folder of the archive.
        file: its name, by default that of the publishers.
        wnids: the WordNet number of each image, by default those of `load_meta_file`.
        folder: the folder of the class folders, below `root`.

    Raises:
        RuntimeError: the archive or the file with the numbers is missing or damaged.
        ValueError: there are more or fewer numbers than images.
    """
    archive = _archive(root, "val", file)
    wnids = load_meta_file(root)[1] if wnids is None else wnids
    target = Path(root) / folder
    extract_archive(archive, target)
    images = sorted(path for path in target.iterdir() if path.is_file())
    if len(images) != len(wnids):
        raise ValueError(
            f"there are {len(images)} images, but {len(wnids)} WordNet numbers, for {archive.name}"
        )
    for wnid, image in zip(wnids, images, strict=True):
        (target / wnid).mkdir(exist_ok=True)
        shutil.move(image, target / wnid / image.name)


def _archive(root: str | Path, part: str, file: str | None) -> Path:
    """Return the path of an archive whose MD5 has been compared."""
    name, md5 = ARCHIVE_META[part]
    path = Path(root) / (file or name)
    if not check_integrity(path, md5):
        raise RuntimeError(
            f"the archive {path.name} is not in `{path.parent}`, or its MD5 is not {md5}; "
            "get it from https://image-net.org/challenges/LSVRC/2012"
        )
    return path
