"""Street View House Numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from flowvision.datasets.formats import read_matlab
from flowvision.datasets.resources import Resource, SplitImageDataset

_URL = "http://ufldl.stanford.edu/housenumbers"
_MD5 = {
    "train": "e26dedcc434d2e4c54c9b2d4a06d8373",
    "test": "eb5a983be6a315427106f1b164d9cef3",
    "extra": "a93ce644f1a588dc4d68dda5feec44a7",
}


class SVHN(SplitImageDataset):
    """Digits of house numbers, 32x32 color pixels: 73,257 to train on, 26,032 to test.

    Netzer et al., "Reading Digits in Natural Images with Unsupervised Feature Learning", 2011.

    Args:
        root: folder of the files ``train_32x32.mat`` and so on.
        split: ``"train"``, ``"test"`` or ``"extra"``, 531,131 easier ones.
        transform: applied to each image.
        target_transform: applied to each digit.
        download: get the file of the split, up to 1.3 GB, if it is missing.

    Attributes:
        data: all images, a uint8 array ``[N, 3, 32, 32]``.
        labels: the digits.

    Raises:
        ValueError: an unknown `split`.
        RuntimeError: the file is missing.

    Example:
        >>> from flowvision.datasets import SVHN
        >>> dataset = SVHN("data")
        >>> image, target = dataset[0]
    """

    splits = tuple(_MD5)

    def files(self) -> tuple[Resource, ...]:
        """Return the file of the split."""
        name = self.needed()[0].name
        return (Resource(f"{_URL}/{name}", _MD5[self.split], is_archive=False),)

    def needed(self) -> list[Path]:
        """Return the file of the split."""
        return [self.folder / f"{self.split}_32x32.mat"]

    def read(self) -> tuple[np.ndarray, list[int]]:
        """Return the images, and their digits."""
        content = read_matlab(self.needed()[0])
        images = content["X"].transpose(3, 0, 1, 2)
        self.labels = content["y"].ravel().astype(np.int64) % 10  # zeros are listed as 10
        self.data = images.transpose(0, 3, 1, 2)
        return images, self.labels.tolist()
