"""ImageNet's 1,000 classes, unpacked into one folder per class."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from oneflow.data.vision.datasets import ImageFolder, load_image, require_files

_SOURCE = "get the archives from https://image-net.org/challenges/LSVRC/2012 and unpack them"


class ImageNet(ImageFolder):
    """ImageNet 2012: photos of 1,000 kinds of things.

    Args:
        root: folder with ``train`` and ``val``, each with one folder per class, named by WordNet
            number (``n01440764``).
        split: ``"train"`` or ``"val"``.
        download: an error says where to get the files, which asks for an account.
        transform: applied to each image.
        target_transform: applied to each class number.
        loader: loads a file, default as a Pillow image.

    Attributes:
        wnids: WordNet numbers of the classes.

    Raises:
        ValueError: an unknown `split`.
        RuntimeError: the files are missing; says where to get them.

    Example:
        >>> from oneflow.utils.vision.datasets import ImageNet
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
        loader: Callable[[str], Any] = load_image,
    ) -> None:
        if split not in ("train", "val"):
            raise ValueError(
                f"Unknown value '{split}' for argument split; expected 'train' or 'val'"
            )
        folder = Path(root).expanduser() / split
        if download:
            raise RuntimeError(f"ImageNet is not for free download; {_SOURCE}")
        require_files([folder], "ImageNet", _SOURCE)
        super().__init__(folder, transform, target_transform, loader)
        self.split = split
        self.wnids = self.classes
