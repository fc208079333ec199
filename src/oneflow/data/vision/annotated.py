"""Photos with annotations: Pascal VOC and COCO."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from oneflow.data.vision.datasets import VisionDataset, load_image, require_files
from oneflow.data.vision.image import pillow

YEARS = tuple(str(year) for year in range(2007, 2013))


class _VOC(VisionDataset):
    """A part of Pascal VOC: photos, and something about each of them."""

    _splits, _targets, _suffix = "", "", ""

    def __init__(
        self,
        root: str | Path,
        year: str = "2012",
        image_set: str = "train",
        download: bool = False,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        transforms: Callable | None = None,
    ) -> None:
        super().__init__(root, transforms, transform, target_transform)
        if year not in YEARS:
            raise ValueError(f"Unknown value '{year}' for argument year; expected one of {YEARS}")
        self.year = year
        folder = self.root / "VOCdevkit" / f"VOC{year}"
        split_file = folder / "ImageSets" / self._splits / f"{image_set}.txt"
        source = f"http://host.robots.ox.ac.uk/pascal/VOC/voc{year}"
        require_files([split_file], f"Pascal VOC {year}", source)
        names = split_file.read_text().split()
        self.images = [str(folder / "JPEGImages" / f"{name}.jpg") for name in names]
        self._targets_of = [folder / self._targets / f"{name}{self._suffix}" for name in names]

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        return self.transformed(load_image(self.images[index]), self._read(self._targets_of[index]))

    def _read(self, path: Path) -> Any:
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self.images)


class VOCSegmentation(_VOC):
    """Photos of Pascal VOC, each with an image of the classes of its pixels.

    Args:
        root: folder that contains ``VOCdevkit``, unpacked.
        year: 2007 to 2012.
        image_set: ``"train"``, ``"val"``, ``"trainval"`` or ``"test"``.
        download: accepted; nothing is downloaded.
        transform: applied to each photo.
        target_transform: applied to each image of classes.
        transforms: applied to both together.

    Raises:
        RuntimeError: the files are missing; says where to get them.
    """

    _splits, _targets, _suffix = "Segmentation", "SegmentationClass", ".png"

    @property
    def masks(self) -> list[str]:
        """Paths of the images of classes."""
        return [str(path) for path in self._targets_of]

    def _read(self, path: Path) -> Any:
        with path.open("rb") as file:
            return pillow().open(file).copy()


class VOCDetection(_VOC):
    """Photos of Pascal VOC, each with a dict of the objects in it.

    Args:
        root: folder that contains ``VOCdevkit``, unpacked.
        year: 2007 to 2012.
        image_set: ``"train"``, ``"val"``, ``"trainval"`` or ``"test"``.
        download: accepted; nothing is downloaded.
        transform: applied to each photo.
        target_transform: applied to each dict.
        transforms: applied to both together.

    Raises:
        RuntimeError: the files are missing; says where to get them.
    """

    _splits, _targets, _suffix = "Main", "Annotations", ".xml"

    @property
    def annotations(self) -> list[str]:
        """Paths of the annotations."""
        return [str(path) for path in self._targets_of]

    def _read(self, path: Path) -> Any:
        return parse_voc_xml(ElementTree.parse(path).getroot())


def parse_voc_xml(node: ElementTree.Element) -> dict[str, Any]:
    """An XML element as a dict; `object` is always a list."""
    children = list(node)
    if not children:
        return {node.tag: (node.text or "").strip()}
    parts: dict[str, list] = defaultdict(list)
    for child in children:
        for name, value in parse_voc_xml(child).items():
            parts[name].append(value)
    if node.tag == "annotation":
        parts["object"] = [parts["object"]]
    return {node.tag: {n: each[0] if len(each) == 1 else each for n, each in parts.items()}}


class CocoDetection(VisionDataset):
    """Photos of COCO, each with a list of the annotations of its objects.

    Args:
        root: folder of the photos.
        annFile: file of the annotations.
        transform: applied to each photo.
        target_transform: applied to each list.
        transforms: applied to both together.

    Raises:
        RuntimeError: the file of annotations is missing.
    """

    def __init__(
        self,
        root: str | Path,
        annFile: str | Path,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        transforms: Callable | None = None,
    ) -> None:
        super().__init__(root, transforms, transform, target_transform)
        require_files([Path(annFile)], "COCO", "https://cocodataset.org/#download")
        content = json.loads(Path(annFile).read_text())
        self._photos = {photo["id"]: photo["file_name"] for photo in content["images"]}
        self.ids = sorted(self._photos)
        self._targets_of: dict[int, list] = {number: [] for number in self.ids}
        for annotation in content["annotations"]:
            self._targets_of[annotation["image_id"]].append(annotation)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        number = self.ids[index]
        photo = load_image(self.root / self._photos[number])
        return self.transformed(photo, self._target(self._targets_of[number]))

    def _target(self, annotations: list[dict]) -> list:
        return annotations

    def __len__(self) -> int:
        return len(self.ids)


class CocoCaptions(CocoDetection):
    """Photos of COCO, each with a list of its captions; arguments as for `CocoDetection`."""

    def _target(self, annotations: list[dict]) -> list:
        return [annotation["caption"] for annotation in annotations]
