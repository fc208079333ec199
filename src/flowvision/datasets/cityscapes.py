"""Cityscapes."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from flowvision.datasets.resources import ImageDataset, check_target_types, one_or_all
from flowvision.datasets.utils import extract_archive, list_dir, list_files, verify_str_arg
from oneflow.data.vision.pillow import Image

_SUFFIXES = {
    "instance": "instanceIds.png",
    "semantic": "labelIds.png",
    "color": "color.png",
    "polygon": "polygons.json",
}
_SPLITS = {"fine": ("train", "test", "val"), "coarse": ("train", "train_extra", "val")}


class Cityscapes(ImageDataset):
    """Streets of 50 cities, 2048x1024 pixels, with the kind of thing at each pixel.

    Cordts et al., "The Cityscapes Dataset for Semantic Urban Scene Understanding",
    https://arxiv.org/abs/1604.01685.

    Args:
        root: folder with ``leftImg8bit`` and ``gtFine`` or ``gtCoarse``, or with their archives,
            which are unpacked.
        split: ``"train"``, ``"val"``, ``"test"`` (if fine) or ``"train_extra"`` (if coarse).
        mode: ``"fine"`` or ``"coarse"`` outlines.
        target_type: ``"instance"``, ``"semantic"`` or ``"color"``, images, ``"polygon"``, a
            dictionary, or a list of these.
        transform: applied to each image.
        target_transform: applied to each target.
        transforms: applied to image and target together, instead of the other two.

    Raises:
        ValueError: an unknown `split`, `mode` or `target_type`.
        RuntimeError: files are missing; says where to get them, which asks for an account.

    Example:
        >>> from flowvision.datasets import Cityscapes
        >>> dataset = Cityscapes("data", target_type="color")
        >>> image, target = dataset[0]
    """

    source = "get the archives from https://www.cityscapes-dataset.com"

    def __init__(
        self,
        root: str | Path,
        split: str = "train",
        mode: str = "fine",
        target_type: str | Sequence[str] = "instance",
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        transforms: Callable[..., Any] | None = None,
    ) -> None:
        super().__init__(root, transforms, transform, target_transform)
        verify_str_arg(mode, "mode", _SPLITS)
        self.split = verify_str_arg(split, "split", _SPLITS[mode])
        self.target_type = check_target_types(target_type, tuple(_SUFFIXES))
        self.mode = {"fine": "gtFine", "coarse": "gtCoarse"}[mode]
        self.images_dir = self.root / "leftImg8bit" / split
        self.targets_dir = self.root / self.mode / split
        self._unpack()
        self.ensure_files(self.root, [self.images_dir, self.targets_dir], download=False)
        self.images = [
            self.images_dir / folder / file
            for folder in list_dir(self.images_dir)
            for file in list_files(self.images_dir / folder, ".png")
        ]
        self.targets = [
            [self._target_path(image, kind) for kind in self.target_type] for image in self.images
        ]

    def _unpack(self) -> None:
        part = "trainextra" if self.split == "train_extra" else "trainvaltest"
        targets = "gtFine_trainvaltest.zip" if self.mode == "gtFine" else "gtCoarse.zip"
        for folder, name in (
            (self.images_dir, f"leftImg8bit_{part}.zip"),
            (self.targets_dir, targets),
        ):
            if not folder.exists() and (self.root / name).is_file():
                extract_archive(self.root / name, self.root)

    def _target_path(self, image: Path, kind: str) -> Path:
        before = image.name.partition("_leftImg8bit")[0]
        return self.targets_dir / image.parent.name / f"{before}_{self.mode}_{_SUFFIXES[kind]}"

    def target(self, index: int) -> Any:
        """Return the targets of a photo."""
        return one_or_all([self._load_target(path) for path in self.targets[index]])

    @staticmethod
    def _load_target(path: Path) -> Any:
        if path.suffix == ".json":
            return json.loads(path.read_text())
        with Image.open(path) as image:
            image.load()
            return image

    def extra_repr(self) -> str:
        """Return split, mode and kinds of targets."""
        return f"Split: {self.split}\nMode: {self.mode}\nType: {self.target_type}"
