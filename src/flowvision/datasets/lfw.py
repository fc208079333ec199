"""Labeled Faces in the Wild."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from flowvision.datasets.resources import ImageDataset, class_indices, read_lines
from flowvision.datasets.utils import verify_str_arg

_DIRS = {
    "original": "lfw",
    "funneled": "lfw_funneled",
    "deepfunneled": "lfw-deepfunneled",
}
_LISTS = {"10fold": "", "train": "DevTrain", "test": "DevTest"}


class _LFW(ImageDataset):
    """13,233 faces of 5,749 people, as they are named by a list."""

    source = (
        "its publishers removed it from http://vis-www.cs.umass.edu/lfw; copies are at "
        "https://www.kaggle.com/datasets/jessicali9530/lfw-dataset"
    )
    _view = ""
    _name_files: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self,
        root: str | Path,
        split: str = "10fold",
        image_set: str = "funneled",
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        download: bool = False,
    ) -> None:
        folder = Path(root).expanduser() / "lfw-py"
        super().__init__(folder, transform=transform, target_transform=target_transform)
        self.split = verify_str_arg(split, "split", _LISTS)
        self.image_set = verify_str_arg(image_set, "image_set", _DIRS)
        self.images_dir = self.root / _DIRS[image_set]
        self.labels_file = self.root / f"{self._view}{_LISTS[split]}.txt"
        names = [self.root / name for name in self._name_files]
        self.ensure_files(self.root, [self.labels_file, self.images_dir, *names], download)
        self.read()

    def read(self) -> None:
        """Set the images and their targets."""
        raise NotImplementedError(f"{type(self).__name__} must define `read`")

    def _face(self, name: str, number: int | str) -> Path:
        return self.images_dir / name / f"{name}_{int(number):04d}.jpg"

    def extra_repr(self) -> str:
        """Return alignment and split."""
        return f"Alignment: {self.image_set}\nSplit: {self.split}"


class LFWPeople(_LFW):
    """Faces of 5,749 people; the target is the number of the person.

    Huang et al., "Labeled Faces in the Wild", 2007.

    Args:
        root: folder of the folder ``lfw-py``.
        split: ``"10fold"`` (all), ``"train"`` or ``"test"``.
        image_set: ``"original"``, ``"funneled"`` or ``"deepfunneled"``: how faces are aligned.
        transform: applied to each image.
        target_transform: applied to each target.
        download: an error says where to get the files.

    Attributes:
        class_to_idx: number of each person, by ``lfw-names.txt``.

    Raises:
        ValueError: an unknown `split` or `image_set`.
        RuntimeError: files are missing; says where to get them.

    Example:
        >>> from flowvision.datasets import LFWPeople
        >>> dataset = LFWPeople("data")
        >>> image, target = dataset[0]
    """

    _view = "people"
    _name_files = ("lfw-names.txt",)

    def read(self) -> None:
        """Set the images and their targets."""
        names = read_lines(self.root / "lfw-names.txt")
        self.class_to_idx = class_indices(line.split()[0] for line in names)
        # Lines without a name say how many folds or people follow.
        rows = [line.split() for line in read_lines(self.labels_file)]
        samples = [
            (self._face(name, number), self.class_to_idx[name])
            for name, count in (row for row in rows if len(row) == 2)
            for number in range(1, int(count) + 1)
        ]
        self.images = [image for image, _ in samples]
        self.targets = [target for _, target in samples]


class LFWPairs(_LFW):
    """Pairs of faces, each with 1 if they are of one person, and else 0.

    Huang et al., "Labeled Faces in the Wild", 2007.

    Args:
        root: folder of the folder ``lfw-py``.
        split: ``"10fold"`` (all), ``"train"`` or ``"test"``.
        image_set: ``"original"``, ``"funneled"`` or ``"deepfunneled"``: how faces are aligned.
        transform: applied to each image.
        target_transform: applied to each target.
        download: an error says where to get the files.

    Attributes:
        pair_names: the names of both people.

    Raises:
        ValueError: an unknown `split` or `image_set`.
        RuntimeError: files are missing; says where to get them.

    Example:
        >>> from flowvision.datasets import LFWPairs
        >>> dataset = LFWPairs("data")
        >>> first, second, is_same = dataset[0]
    """

    _view = "pairs"

    def read(self) -> None:
        """Set the pairs of images and their targets."""
        rows = [line.split("\t") for line in read_lines(self.labels_file)]
        # One person with two numbers, or two people with a number each; the rest counts lines.
        pairs = [
            (row[0], row[1], row[0], row[2]) if len(row) == 3 else row
            for row in rows
            if len(row) in (3, 4)
        ]
        self.pair_names = [(first, second) for first, _, second, _ in pairs]
        self.images = [(self._face(a, i), self._face(b, j)) for a, i, b, j in pairs]
        self.targets = [int(first == second) for first, second in self.pair_names]

    def __getitem__(self, index: int) -> tuple[Any, Any, Any]:
        first, second = map(self.load, self.images[index])
        if self.transform is not None:
            first, second = self.transform(first), self.transform(second)
        target = self.targets[index]
        if self.target_transform is not None:
            target = self.target_transform(target)
        return first, second, target
