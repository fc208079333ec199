"""CIFAR-10 and CIFAR-100."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from oneflow.checkpoint.load_errors import load_errors
from oneflow.checkpoint.numpy_pickle import read_numpy_pickle
from oneflow.data.vision.archive import download_and_extract_archive
from oneflow.data.vision.datasets import VisionDataset, require_files
from oneflow.data.vision.pillow import Image


class CIFAR10(VisionDataset):
    """Small photos of ten kinds of things, 32x32 color pixels: 50,000 to train on, 10,000 to test.

    Args:
        root: folder that contains ``cifar-10-batches-py``, unpacked, or the archive goes to.
        train: the images to train on.
        transform: applied to each image, a Pillow image.
        target_transform: applied to each class number.
        download: get and unpack the archive, about 170 MB, if files are missing.
        source_url: its address, by default the publishers'.

    Attributes:
        data: all images, a uint8 array ``[N, 32, 32, 3]``.
        targets: class numbers.
        classes: names of the classes.

    Raises:
        RuntimeError: a file is missing or damaged.
        ConnectionError: it cannot be downloaded.

    Example:
        >>> from flowvision.datasets import CIFAR10
        >>> dataset = CIFAR10("data")
        >>> image, target = dataset[0]
        >>> image.size, dataset.classes[target]
        ((32, 32), 'class 3')
    """

    _folder = "cifar-10-batches-py"
    _files: ClassVar[dict[bool, list[str]]] = {
        True: [f"data_batch_{n}" for n in range(1, 6)],
        False: ["test_batch"],
    }
    _meta, _labels, _names = "batches.meta", "labels", "label_names"
    url = "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz"
    tgz_md5 = "c58f30108f718f92721af3b95e74349a"

    def __init__(
        self,
        root: str | Path,
        train: bool = True,
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        download: bool = False,
        source_url: str | None = None,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.train = train
        self.url = source_url or self.url
        files = self._needed()
        if download:
            self.download()
        require_files(files, type(self).__name__, f"get it with download=True, or from {self.url}")
        batches = [self._read(file) for file in files[:-1]]
        self.data = np.concatenate([array for array, _ in batches])
        self.targets: list[int] = [label for _, labels in batches for label in labels]
        with load_errors(files[-1], "it is damaged"):
            self.classes: list[str] = list(read_numpy_pickle(files[-1])[self._names])
        self.class_to_idx = {name: index for index, name in enumerate(self.classes)}

    def _needed(self) -> list[Path]:
        names = (*self._files[self.train], self._meta)
        return [self.root / self._folder / name for name in names]

    def download(self) -> None:
        """Download and unpack the archive, unless its files are there.

        Raises:
            ConnectionError: it cannot be downloaded.
            RuntimeError: its content has another MD5.
        """
        if not all(file.exists() for file in self._needed()):
            download_and_extract_archive(self.url, self.root, md5=self.tgz_md5)

    def _read(self, file: Path) -> tuple[np.ndarray, list[int]]:
        """Pixels and class numbers in a file."""
        with load_errors(file, "it is damaged"):
            batch = read_numpy_pickle(file)
            array = batch["data"].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
            labels = [int(label) for label in batch[self._labels]]
            if len(labels) != len(array):
                raise ValueError(f"it has {len(array)} images and {len(labels)} labels")
            return np.ascontiguousarray(array), labels

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        return self.transformed(Image.fromarray(self.data[index]), self.targets[index])

    def __len__(self) -> int:
        return len(self.data)


class CIFAR100(CIFAR10):
    """Small photos of a hundred kinds of things; arguments and attributes as for `CIFAR10`.

    `root` contains ``cifar-100-python``, unpacked.

    Example:
        >>> from flowvision.datasets import CIFAR100
        >>> dataset = CIFAR100("data")
        >>> image, target = dataset[0]
    """

    _folder = "cifar-100-python"
    _files: ClassVar[dict[bool, list[str]]] = {True: ["train"], False: ["test"]}
    _meta, _labels, _names = "meta", "fine_labels", "fine_label_names"
    url = "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz"
    tgz_md5 = "eb9058c3a382ffc7106e4002c42a8d85"
