"""Places365: scenes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from flowvision.datasets.folder import default_loader
from flowvision.datasets.resources import ImageDataset, Resource, read_lines
from flowvision.datasets.utils import verify_str_arg

_URL = "http://data.csail.mit.edu/places/places365"
_LISTS = {
    "standard": "35a0585fee1fa656440f3ab298f8479c",
    "challenge": "70a8307e459c3de41690a7c76c931734",
}
# The archive of the images and its MD5, of the large and of the small (256x256) ones.
_IMAGES = {
    ("train-standard", False): (
        "train_large_places365standard.tar",
        "67e186b496a84c929568076ed01a8aa1",
    ),
    ("train-challenge", False): (
        "train_large_places365challenge.tar",
        "605f18e68e510c82b958664ea134545f",
    ),
    ("val", False): ("val_large.tar", "9b71c4993ad89d2d8bcbdc4aef38042f"),
    ("test", False): ("test_large.tar", "41a4b6b724b1d2cd862fb3871ed59913"),
    ("train-standard", True): (
        "train_256_places365standard.tar",
        "53ca1c756c3d1e7809517cc47c5561c5",
    ),
    ("train-challenge", True): (
        "train_256_places365challenge.tar",
        "741915038a5e3471ec7332404dfb64ef",
    ),
    ("val", True): ("val_256.tar", "e27b17d8d44f4af9a78502beb927f808"),
    ("test", True): ("test_256.tar", "f532f6ad7b582262a2ec8009075e186b"),
}


class Places365(ImageDataset):
    """Photos of 365 kinds of scenes: 1.8 million, or 8 million with the challenge's.

    Zhou et al., "Places: A 10 million Image Database for Scene Recognition", 2017.

    Args:
        root: folder of the lists and of the folders of images.
        split: ``"train-standard"``, ``"train-challenge"``, ``"val"`` or ``"test"``, whose targets
            are None.
        small: the images of 256x256 pixels, instead of the large ones.
        download: get and unpack the archives, up to 476 GB, if something is missing.
        transform: applied to each image.
        target_transform: applied to each class number.
        loader: loads a file, default as a Pillow image.

    Attributes:
        classes: names of the scenes, sorted.
        class_to_idx: number of each scene.
        imgs: path and class number of each image.

    Raises:
        ValueError: an unknown `split`.
        RuntimeError: files are missing.

    Example:
        >>> from flowvision.datasets import Places365
        >>> dataset = Places365("data", small=True)
        >>> image, target = dataset[0]
    """

    def __init__(
        self,
        root: str | Path,
        split: str = "train-standard",
        small: bool = False,
        download: bool = False,
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        loader: Callable[[str], Any] = default_loader,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.split = verify_str_arg(
            split, "split", list(dict.fromkeys(split_name for split_name, _ in _IMAGES))
        )
        self.small = small
        self.loader = loader
        self.classes, self.class_to_idx = self.load_categories(download)
        self.imgs, self.targets = self.load_file_list(download)
        if download:
            self.download_images()
        self.ensure_files(self.root, [self.images_dir], False, [self._archive()])
        self.images = [path for path, _ in self.imgs]

    @property
    def variant(self) -> str:
        """``"challenge"`` or ``"standard"``."""
        return "challenge" if "challenge" in self.split else "standard"

    @property
    def images_dir(self) -> Path:
        """The folder of the images."""
        size = "256" if self.small else "large"
        is_train = self.split.startswith("train")
        return self.root / (f"data_{size}_{self.variant}" if is_train else f"{self.split}_{size}")

    def _archive(self) -> Resource:
        name, md5 = _IMAGES[self.split, self.small]
        return Resource(f"{_URL}/{name}", md5)

    def _list(self, name: str, download: bool) -> list[list[str]]:
        """Return the words of the lines of a list."""
        lists = Resource(f"{_URL}/filelist_places365-{self.variant}.tar", _LISTS[self.variant])
        self.ensure_files(self.root, [self.root / name], download, [lists])
        return [line.split() for line in read_lines(self.root / name)]

    def load_categories(self, download: bool = True) -> tuple[list[str], dict[str, int]]:
        """Return the names of the scenes, sorted, and their numbers."""
        rows = self._list("categories_places365.txt", download)
        class_to_idx = {name: int(number) for name, number in rows}
        return sorted(class_to_idx), class_to_idx

    def load_file_list(
        self, download: bool = True
    ) -> tuple[list[tuple[str, int | None]], list[int | None]]:
        """Return path and class number of each image, and the class numbers alone."""
        rows = self._list(f"places365_{self.split.replace('-', '_')}.txt", download)
        targets = [int(row[1]) if len(row) > 1 else None for row in rows]
        paths = [str(self.images_dir / row[0].lstrip("/")) for row in rows]
        return list(zip(paths, targets, strict=True)), targets

    def download_images(self) -> None:
        """Get and unpack the images, unless their folder is there."""
        self.ensure_files(self.root, [self.images_dir], True, [self._archive()])

    def load(self, image: str) -> Any:
        """Return an image as `loader` loads it."""
        return self.loader(image)
