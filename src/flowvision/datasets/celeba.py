"""CelebFaces Attributes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import oneflow as flow
from flowvision.datasets.resources import (
    Resource,
    SplitImageDataset,
    check_target_types,
    one_or_all,
    read_lines,
)

_SPLITS = {"train": 0, "valid": 1, "test": 2, "all": None}
# For each kind of target: its file, and how many lines of the file are headings.
_LISTS = {
    "attr": ("list_attr_celeba.txt", 2),
    "identity": ("identity_CelebA.txt", 0),
    "bbox": ("list_bbox_celeba.txt", 2),
    "landmarks": ("list_landmarks_align_celeba.txt", 2),
}
_PARTITION = "list_eval_partition.txt"


class CelebA(SplitImageDataset):
    """202,599 photos of 10,177 faces, with 40 attributes of each.

    Liu et al., "Deep Learning Face Attributes in the Wild", https://arxiv.org/abs/1411.7766.

    Args:
        root: folder of the folder ``celeba``.
        split: ``"train"``, ``"valid"``, ``"test"`` or ``"all"``.
        target_type: ``"attr"`` (40 numbers 0 or 1), ``"identity"`` (the number of the person),
            ``"bbox"`` (x, y, width, height), ``"landmarks"`` (x and y of both eyes, the nose, and
            the corners of the mouth), or a list of these; an empty one gives None.
        transform: applied to each image.
        target_transform: applied to each target.
        download: get the files from Google Drive, 1.4 GB, if something is missing.

    Attributes:
        attr_names: names of the attributes.

    Raises:
        ValueError: an unknown `split` or `target_type`.
        RuntimeError: files are missing; or there is a `target_transform` without targets.

    Example:
        >>> from flowvision.datasets import CelebA
        >>> dataset = CelebA("data", split="valid", target_type="identity")
        >>> image, target = dataset[0]
    """

    splits = tuple(_SPLITS)
    folder_name = "celeba"
    resources = (
        Resource.on_google_drive(
            "0B7EVK8r0v71pZjFTYXZWM3FlRnM",
            "00d2c5bc6d35e252742224ab0c1e8fcb",
            "img_align_celeba.zip",
        ),
        *(
            Resource.on_google_drive(file_id, md5, name, is_archive=False)
            for file_id, md5, name in (
                (
                    "0B7EVK8r0v71pblRyaVFSWGxPY0U",
                    "75e246fa4810816ffd6ee81facbd244c",
                    "list_attr_celeba.txt",
                ),
                (
                    "1_ee_0u7vcNLOfNLegJRHmolfH5ICW-XS",
                    "32bd1bd63d3c78cd57e08160ec5ed1e2",
                    "identity_CelebA.txt",
                ),
                (
                    "0B7EVK8r0v71pbThiMVRxWXZ4dU0",
                    "00566efa6fedff7a56946cd1c10f1c16",
                    "list_bbox_celeba.txt",
                ),
                (
                    "0B7EVK8r0v71pd0FJY3Blby1HUTQ",
                    "cc24ecafdb5b50baae59b03474781f8c",
                    "list_landmarks_align_celeba.txt",
                ),
                (
                    "0B7EVK8r0v71pY0NSMzRuSXJEVkk",
                    "d32c9cbf5e040fd4025c592c306e6668",
                    "list_eval_partition.txt",
                ),
            )
        ),
    )

    def __init__(
        self,
        root: str | Path,
        split: str = "train",
        target_type: str | Sequence[str] = "attr",
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        download: bool = False,
    ) -> None:
        self.target_type = check_target_types(target_type, tuple(_LISTS))
        if not self.target_type and target_transform is not None:
            raise RuntimeError("`target_transform` needs a `target_type`, but it is empty")
        super().__init__(root, split, transform, target_transform, download)

    def needed(self) -> list[Path]:
        """Return the lists and the folder of all images."""
        lists = [name for name, _ in _LISTS.values()]
        return [self.folder / name for name in (_PARTITION, *lists, "img_align_celeba")]

    def read(self) -> tuple[list[Path], list[Any]]:
        """Return the images of the split; their attributes and landmarks are read as tables."""
        parts = [line.split() for line in read_lines(self.folder / _PARTITION)]
        split = _SPLITS[self.split]
        rows = [row for row, (_, part) in enumerate(parts) if split in (None, int(part))]
        self.attr_names = read_lines(self.folder / _LISTS["attr"][0])[1].split()
        self.annotations = {kind: self._table(*_LISTS[kind])[rows] for kind in self.target_type}
        if "attr" in self.annotations:
            self.annotations["attr"] = (self.annotations["attr"] + 1) // 2  # listed as -1 and 1
        folder = self.folder / "img_align_celeba"
        return [folder / parts[row][0] for row in rows], []

    def _table(self, name: str, num_header_lines: int) -> np.ndarray:
        lines = read_lines(self.folder / name)[num_header_lines:]
        return np.array([line.split()[1:] for line in lines], np.int64)

    def target(self, index: int) -> Any:
        """Return the annotations of an image, as int64 tensors."""
        tensors = [flow.tensor(self.annotations[kind][index]) for kind in self.target_type]
        return one_or_all(
            [
                tensor[0] if kind == "identity" else tensor
                for kind, tensor in zip(self.target_type, tensors, strict=True)
            ]
        )
