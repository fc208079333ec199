"""SUN397: scenes."""

from __future__ import annotations

from pathlib import Path

from flowvision.datasets.resources import ListImageDataset, Resource, class_indices, read_lines


class SUN397(ListImageDataset):
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

    Example:
        >>> from flowvision.datasets import SUN397
        >>> dataset = SUN397("data")
        >>> image, target = dataset[0]
    """

    resources = (
        Resource(
            "http://vision.princeton.edu/projects/2010/SUN/SUN397.tar.gz",
            "8ca2778205c41d23104230ba66911c7a",
        ),
    )

    def needed(self) -> list[Path]:
        """Return the list of classes."""
        return [self.folder / "SUN397" / "ClassName.txt"]

    def read(self) -> tuple[list[Path], list[int]]:
        """Return the images, and the class number of each."""
        (list_file,) = self.needed()
        self.classes = [line[3:] for line in read_lines(list_file)]  # they begin with /a/, /b/ ...
        self.class_to_idx = class_indices(self.classes)
        images = sorted(list_file.parent.rglob("sun_*.jpg"))
        names = ["/".join(path.relative_to(list_file.parent).parts[1:-1]) for path in images]
        return images, [self.class_to_idx[name] for name in names]
