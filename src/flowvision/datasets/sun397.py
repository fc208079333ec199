"""SUN397: scenes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from flowvision.datasets.resources import ImageDataset, Resource, class_indices, read_lines


class SUN397(ImageDataset):
    """108,753 photos of 397 kinds of scenes, at least 100 of each.

    Xiao et al., "SUN Database: Large-scale Scene Recognition from Abbey to Zoo", 2010.

    Args:
        root: folder of the folder ``SUN397``.
        transform: applied to each image.
        target_transform: applied to each class number.
        download: get and unpack the archive, 37 GB, if something is missing.

    Attributes:
        classes: names of the scenes.
        class_to_idx: number of each scene.

    Raises:
        RuntimeError: files are missing.
    """

    resources = (
        Resource(
            "http://vision.princeton.edu/projects/2010/SUN/SUN397.tar.gz",
            "8ca2778205c41d23104230ba66911c7a",
        ),
    )

    def __init__(
        self,
        root: str | Path,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        folder = self.root / "SUN397"
        list_file = folder / "ClassName.txt"
        self.provide(self.root, [list_file], download)
        self.classes = [line[3:] for line in read_lines(list_file)]  # they begin with /a/, /b/ ...
        self.class_to_idx = class_indices(self.classes)
        self.images = sorted(folder.rglob("sun_*.jpg"))
        scenes = ["/".join(path.relative_to(folder).parts[1:-1]) for path in self.images]
        self.targets = [self.class_to_idx[scene] for scene in scenes]
