"""Omniglot: characters of 50 alphabets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from flowvision.datasets.resources import ImageDataset, Resource, list_class_files
from flowvision.datasets.utils import list_dir

_URL = "https://raw.githubusercontent.com/brendenlake/omniglot/master/python"
_MD5 = {
    "images_background": "68d2efa1b9178cc56df9314c21c6e718",
    "images_evaluation": "6b91aef0f799c5bb55b94e3f2daec811",
}


class Omniglot(ImageDataset):
    """1,623 characters, each written by 20 people; the target is the number of the character.

    Lake et al., "Human-level concept learning through probabilistic program induction", 2015.

    Args:
        root: folder of the folder ``omniglot-py``.
        background: the 30 alphabets to learn from, instead of the 20 to evaluate with.
        transform: applied to each image, a gray one.
        target_transform: applied to each target.
        download: get and unpack the archive, 10 MB, if something is missing.

    Raises:
        RuntimeError: files are missing.

    Example:
        >>> from flowvision.datasets import Omniglot
        >>> dataset = Omniglot("data")
        >>> image, target = dataset[0]
    """

    def __init__(
        self,
        root: str | Path,
        background: bool = True,
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        download: bool = False,
    ) -> None:
        folder = Path(root).expanduser() / "omniglot-py"
        super().__init__(folder, transform=transform, target_transform=target_transform)
        self.background = background
        name = "images_background" if background else "images_evaluation"
        self.target_folder = self.root / name
        archive = Resource(f"{_URL}/{name}.zip", _MD5[name])
        self.ensure_files(self.root, [self.target_folder], download, [archive])
        symbol_dirs = [
            f"{language}/{character}"
            for language in list_dir(self.target_folder)
            for character in list_dir(self.target_folder / language)
        ]
        self.images, self.targets = list_class_files(self.target_folder, symbol_dirs, ".png")

    def load(self, image: Path) -> Any:
        """Return a gray image."""
        return super().load(image).convert("L")
