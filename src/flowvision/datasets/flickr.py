"""Flickr8k and Flickr30k: photos with five captions each."""

from __future__ import annotations

from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from flowvision.datasets.resources import ImageDataset, read_lines


class Flickr8kParser(HTMLParser):
    """The captions in the page of Flickr8k: a table with links to photos and lists of captions.

    Args:
        root: folder of the photos.

    Attributes:
        annotations: the captions of each photo's path; photos that are gone are left out.
    """

    def __init__(self, root: str | Path) -> None:
        super().__init__()
        self.root = Path(root)
        self.annotations: dict[str, list[str]] = {}
        self._in_table = False
        self._tag: str | None = None
        self._photo: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Remember where in the page this is."""
        self._tag = tag
        self._in_table = self._in_table or tag == "table"

    def handle_endtag(self, tag: str) -> None:
        """Remember where in the page this is."""
        self._tag = None
        self._in_table = self._in_table and tag != "table"

    def handle_data(self, data: str) -> None:
        """Take a link as the next photo, an entry of a list as one of its captions."""
        if not self._in_table:
            return
        if data == "Image Not Found":
            self._photo = None
        elif self._tag == "a":
            number = data.split("/")[-2]
            images = sorted(self.root.glob(f"{number}_*.jpg"))
            self._photo = str(images[0]) if images else None
            if self._photo is not None:
                self.annotations[self._photo] = []
        elif self._tag == "li" and self._photo is not None:
            self.annotations[self._photo].append(data.strip())


class Flickr8k(ImageDataset):
    """8,000 photos with five captions each, a list of texts.

    Hodosh et al., "Framing Image Description as a Ranking Task", 2013.

    Args:
        root: folder of the photos.
        ann_file: the page with the captions.
        transform: applied to each image.
        target_transform: applied to each list of captions.

    Raises:
        RuntimeError: the page is missing.

    Example:
        >>> from flowvision.datasets import Flickr8k
        >>> dataset = Flickr8k("data", ann_file="data/page.html")
        >>> image, target = dataset[0]
    """

    source = "ask for it at https://forms.illinois.edu/sec/1713398"

    def __init__(
        self,
        root: str | Path,
        ann_file: str | Path,
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.ann_file = Path(ann_file).expanduser()
        self.ensure_files(self.root, [self.ann_file], download=False)
        self.annotations = self.read()
        self.ids = sorted(self.annotations)
        # Flickr8k's are known by their paths, as in torchvision.
        self.images = [self.root / Path(name).name for name in self.ids]
        self.targets = [self.annotations[name] for name in self.ids]

    def read(self) -> dict[str, list[str]]:
        """Return the captions of each photo."""
        parser = Flickr8kParser(self.root)
        parser.feed(self.ann_file.read_text(encoding="utf-8"))
        return parser.annotations


class Flickr30k(Flickr8k):
    """31,783 photos with five captions each, a list of texts.

    Young et al., "From image descriptions to visual denotations", 2014.

    Args:
        root: folder of the photos.
        ann_file: the list of the captions: ``photo.jpg#0``, a tabulator and the text.
        transform: applied to each image.
        target_transform: applied to each list of captions.

    Raises:
        RuntimeError: the list is missing.

    Example:
        >>> from flowvision.datasets import Flickr30k
        >>> dataset = Flickr30k("data", ann_file="data/captions.token")
        >>> image, target = dataset[0]
    """

    def read(self) -> dict[str, list[str]]:
        """Return the captions of each photo."""
        captions: dict[str, list[str]] = {}
        for line in read_lines(self.ann_file):
            photo, text = line.split("\t")
            captions.setdefault(photo.rpartition("#")[0], []).append(text)
        return captions
