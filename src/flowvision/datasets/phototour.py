"""Patches of photos of three places, and which of them show the same."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import oneflow as flow
from flowvision.datasets.resources import Resource, ensure_files, read_lines
from flowvision.datasets.utils import list_files, verify_str_arg
from flowvision.datasets.vision import VisionDataset
from oneflow.data.vision.pillow import Image

_SIDE = 64
_HARRIS_URL, _ORIGINAL_URL = (
    "http://matthewalunbrown.com/patchdata",
    "http://icvl.ee.ic.ac.uk/vbalnt",
)
# The archive's folder on the network and MD5, mean and deviation of the patches, their number.
_PLACES = {
    "notredame": (_ORIGINAL_URL, "509eda8535847b8c0a90bbb210c83484", 0.4854, 0.1864, 468159),
    "yosemite": (_ORIGINAL_URL, "533b2e8eb7ede31be40abc317b2fd4f0", 0.4844, 0.1818, 633587),
    "liberty": (_ORIGINAL_URL, "fdd9152f138ea5ef2091746689176414", 0.4437, 0.2019, 450092),
    "notredame_harris": (_HARRIS_URL, "69f8c90f78e171349abdf0307afefe4d", 0.4854, 0.1864, 325295),
    "yosemite_harris": (_HARRIS_URL, "a73253d1c6fbd3ba2613c45065c00d46", 0.4844, 0.1818, 450912),
    "liberty_harris": (_HARRIS_URL, "c731fcfb3abb4091110d0ae8c7ba182c", 0.4437, 0.2019, 379587),
}
_INFO, _MATCHES = "info.txt", "m50_100000_100000_0.txt"


class PhotoTour(VisionDataset):
    """Gray patches of 64x64 pixels around points of three places, from many photos.

    Winder and Brown, "Learning Local Image Descriptors", 2007. An entry is a patch, a uint8 tensor
    ``[64, 64]``; for the test two patches and an int64 tensor: 1 if both show the same point, and
    else 0.

    Args:
        root: folder of the place's folder.
        name: ``"notredame"``, ``"yosemite"`` or ``"liberty"``, or one of them with ``_harris``.
        train: the patches, instead of pairs of them.
        transform: applied to each patch.
        download: get and unpack the archive, if something is missing.

    Attributes:
        data: all patches, a uint8 tensor ``[N, 64, 64]``.
        labels: the number of the point of each patch.
        matches: int64 tensor ``[pairs, 3]``: two patches, and 1 if they match.
        mean: mean of all pixels, in [0, 1].
        std: their standard deviation.

    Raises:
        ValueError: an unknown `name`.
        RuntimeError: files are missing.

    Example:
        >>> from flowvision.datasets import PhotoTour
        >>> dataset = PhotoTour("data", name="liberty")
        >>> patches = dataset[0]
    """

    def __init__(
        self,
        root: str | Path,
        name: str,
        train: bool = True,
        transform: Callable[..., Any] | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform)
        self.name = verify_str_arg(name, "name", _PLACES)
        self.train = train
        base_url, md5, self.mean, self.std, count = _PLACES[name]
        self.data_dir = self.root / name
        needed = [self.data_dir / _INFO, self.data_dir / _MATCHES]
        archive = Resource(f"{base_url}/{name}.zip", md5, folder=name)
        ensure_files("PhotoTour", self.root, needed, [archive], download)
        self.data = read_image_file(self.data_dir, "bmp", count)
        self.labels = read_info_file(self.data_dir, _INFO)
        self.matches = read_matches_files(self.data_dir, _MATCHES)

    def __getitem__(self, index: int) -> Any:
        if self.train:
            return self._patch(index)
        first, second, is_match = self.matches[index]
        return self._patch(int(first)), self._patch(int(second)), is_match

    def _patch(self, index: int) -> Any:
        patch = self.data[index]
        return patch if self.transform is None else self.transform(patch)

    def __len__(self) -> int:
        return len(self.data if self.train else self.matches)

    def extra_repr(self) -> str:
        """Return the split."""
        return f"Split: {'Train' if self.train else 'Test'}"


def read_image_file(data_dir: str | Path, image_ext: str, n: int) -> flow.Tensor:
    """Return the first `n` patches of the images in a folder, row by row: uint8 ``[n, 64, 64]``."""
    patches = []
    for path in list_files(data_dir, image_ext, prefix=True):
        with Image.open(path) as image:
            pixels = np.asarray(image.convert("L"))
        rows, columns = (size // _SIDE for size in pixels.shape)
        tiled = pixels.reshape(rows, _SIDE, columns, _SIDE).transpose(0, 2, 1, 3)
        patches.append(tiled.reshape(-1, _SIDE, _SIDE))
    images = np.concatenate(patches) if patches else np.zeros((0, _SIDE, _SIDE), np.uint8)
    return flow.tensor(images[:n])


def read_info_file(data_dir: str | Path, info_file: str) -> flow.Tensor:
    """Return the number of the point of each patch: the first word of each line."""
    return flow.tensor([int(line.split()[0]) for line in read_lines(Path(data_dir) / info_file)])


def read_matches_files(data_dir: str | Path, matches_file: str) -> flow.Tensor:
    """Return int64 ``[pairs, 3]``: the numbers of two patches, and 1 if their points are one."""
    rows = [line.split() for line in read_lines(Path(data_dir) / matches_file)]
    return flow.tensor([[int(row[0]), int(row[3]), int(row[1] == row[4])] for row in rows])
