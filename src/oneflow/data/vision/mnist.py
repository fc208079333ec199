"""MNIST and data sets in its format."""

from __future__ import annotations

import gzip
import math
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from oneflow.checkpoint.load_errors import load_errors
from oneflow.data.vision.archive import download_from_mirrors
from oneflow.data.vision.datasets import VisionDataset, require_files
from oneflow.data.vision.pillow import Image
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import import_array

# The number of bytes to which one byte may be decompressed.
_MAX_COMPRESSED = 1032
_ELEMENT_TYPES = {8: ">u1", 9: ">i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}


def read_idx(path: Path) -> np.ndarray:
    """The array in a file in the IDX format, which may be compressed.

    Raises:
        RuntimeError: the file is damaged.
    """
    with load_errors(path, "it is damaged, or not a file in the IDX format"):
        open_file = gzip.open if path.suffix == ".gz" else open
        with open_file(path, "rb") as file:
            _, kind, ndim = struct.unpack(">HBB", file.read(4))
            shape = struct.unpack(f">{ndim}I", file.read(4 * ndim))
            element = np.dtype(_ELEMENT_TYPES[kind])
            size = math.prod(shape) * element.itemsize
            if size > _MAX_COMPRESSED * path.stat().st_size:
                raise ValueError(f"its size does not fit {shape}")
            content = file.read(size + 1)
        if len(content) != size:
            raise ValueError(f"its size does not fit {shape}")
        return np.frombuffer(content, element).reshape(shape).astype(element.newbyteorder("="))


class MNIST(VisionDataset):
    """Handwritten digits: 60,000 images to train on and 10,000 to test, 28x28 gray pixels.

    Args:
        root: folder that contains ``MNIST/raw`` with the files, or the files themselves, compressed
            or not.
        train: the images to train on.
        transform: applied to each image, a Pillow image.
        target_transform: applied to each digit.
        download: get the files that are missing, about 11 MB.
        source_url: the folder on the network to get them from, by default the publishers'.

    Attributes:
        data: all images, a uint8 tensor ``[N, 28, 28]``.
        targets: all digits, an int64 tensor ``[N]``.
        classes: names of the classes.

    Raises:
        RuntimeError: a file is missing or damaged.
        ConnectionError: it cannot be downloaded.

    Example:
        >>> from flowvision.datasets import MNIST
        >>> dataset = MNIST("data")
        >>> image, target = dataset[0]
    """

    classes: ClassVar[list[str]] = [
        "0 - zero",
        "1 - one",
        "2 - two",
        "3 - three",
        "4 - four",
        "5 - five",
        "6 - six",
        "7 - seven",
        "8 - eight",
        "9 - nine",
    ]
    mirrors: Sequence[str] = [
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
        "http://yann.lecun.com/exdb/mnist/",
    ]
    # Each file with its MD5.
    resources: ClassVar[list[tuple[str, str]]] = [
        ("train-images-idx3-ubyte.gz", "f68b3c2dcbeaaa9fbdd348bbdeb94873"),
        ("train-labels-idx1-ubyte.gz", "d53e105ee54ea40749a09fcbcd1e9432"),
        ("t10k-images-idx3-ubyte.gz", "9fb629c4189551a2d022fa330f9573f3"),
        ("t10k-labels-idx1-ubyte.gz", "ec29112dd5afa0611ce80d1b7f02629c"),
    ]

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
        if source_url is not None:
            self.mirrors = [source_url]
        if download:
            self.download()
        part = "train" if train else "t10k"
        images = self._file(f"{part}-images-idx3-ubyte")
        labels = self._file(f"{part}-labels-idx1-ubyte")
        source = f"get it with download=True, or from {self.mirrors[0]}"
        require_files([images, labels], type(self).__name__, source)
        self._images, self._labels = read_idx(images), read_idx(labels).astype(np.int64)

    @property
    def raw_folder(self) -> str:
        """Folder that downloads go to."""
        return str(self.root / type(self).__name__ / "raw")

    def download(self) -> None:
        """Get the files of this part that are missing."""
        for name, md5 in self.resources:
            selected = name.startswith("train" if self.train else "t10k")
            if selected and not self._file(name.removesuffix(".gz")).exists():
                download_from_mirrors(self.mirrors, self.raw_folder, name, md5)

    def _file(self, name: str) -> Path:
        """The file, wherever it is; if it is nowhere, where it should be."""
        raw = Path(self.raw_folder)
        for folder in (raw, self.root):
            for file in (folder / name, folder / f"{name}.gz"):
                if file.exists():
                    return file
        return raw / f"{name}.gz"

    @property
    def data(self) -> Tensor:
        """The images of all samples."""
        return import_array(self._images)

    @property
    def targets(self) -> Tensor:
        """The classes of all samples."""
        return import_array(self._labels)

    @property
    def class_to_idx(self) -> dict[str, int]:
        """Number of each class."""
        return {name: index for index, name in enumerate(self.classes)}

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        image = Image.fromarray(self._images[index])
        return self.transformed(image, int(self._labels[index]))

    def __len__(self) -> int:
        return len(self._images)


class FashionMNIST(MNIST):
    """Pieces of clothing in the format of MNIST; arguments and attributes as there.

    Example:
        >>> from flowvision.datasets import FashionMNIST
        >>> dataset = FashionMNIST("data")
        >>> image, target = dataset[0]
    """

    classes: ClassVar[list[str]] = [
        "T-shirt/top",
        "Trouser",
        "Pullover",
        "Dress",
        "Coat",
        "Sandal",
        "Shirt",
        "Sneaker",
        "Bag",
        "Ankle boot",
    ]
    mirrors: Sequence[str] = ["http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"]
    resources: ClassVar[list[tuple[str, str]]] = [
        ("train-images-idx3-ubyte.gz", "8d4fb7e6c68d591d4c3dfef9ec88bf0d"),
        ("train-labels-idx1-ubyte.gz", "25c81989df183df01b3e8a0aad5dffbe"),
        ("t10k-images-idx3-ubyte.gz", "bef4ecab320f06d8554ea6380940ec79"),
        ("t10k-labels-idx1-ubyte.gz", "bb300cfdad3c16e7a12a480ee83cd310"),
    ]
