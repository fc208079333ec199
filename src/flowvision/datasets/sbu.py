"""SBU: photos with captions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from flowvision.datasets.resources import ImageDataset, Resource
from flowvision.datasets.utils import download_url


class SBU(ImageDataset):
    """Photos of Flickr with a caption each: a million addresses; many photos are gone.

    Ordonez et al., "Im2Text: Describing Images Using 1 Million Captioned Photographs", 2011.

    Args:
        root: folder of the folder ``dataset``.
        transform: applied to each image.
        target_transform: applied to each caption.
        download: get the list and then each photo that is still there, if the list is missing.

    Attributes:
        photos: names of the photos that are there.
        captions: what is said of each.

    Raises:
        RuntimeError: the list is missing.

    Example:
        >>> from flowvision.datasets import SBU
        >>> dataset = SBU("data", download=False)
        >>> image, target = dataset[0]
    """

    resources = (
        Resource(
            "https://www.cs.rice.edu/~vo9/sbucaptions/SBUCaptionedPhotoDataset.tar.gz",
            "9aec147b3488753cf758b4d493422285",
        ),
    )

    def __init__(
        self,
        root: str | Path,
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        download: bool = True,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        folder = self.root / "dataset"
        urls, captions = (
            folder / f"SBU_captioned_photo_dataset_{what}.txt" for what in ("urls", "captions")
        )
        is_new = download and not urls.exists()
        self.ensure_files(self.root, [urls, captions], download)
        # Their lines belong together, empty ones, too.
        url_lines, lines = (path.read_text("utf-8").splitlines() for path in (urls, captions))
        if is_new:
            _download_images(url_lines, folder)
        pairs = [
            (url.strip().rpartition("/")[2], text.strip())
            for url, text in zip(url_lines, lines, strict=True)
            if (folder / url.strip().rpartition("/")[2]).is_file()
        ]
        self.photos = [photo for photo, _ in pairs]
        self.captions = self.targets = [text for _, text in pairs]
        self.images = [folder / photo for photo in self.photos]


def _download_images(urls: list[str], folder: Path) -> None:
    for url in urls:
        try:
            download_url(url.strip(), folder)
        except (ConnectionError, RuntimeError):
            continue  # Its owner may have removed it.
