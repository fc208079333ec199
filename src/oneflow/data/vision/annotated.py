"""Photos with annotations: Pascal VOC and COCO."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from oneflow.data.vision.archive import download_and_extract_archive
from oneflow.data.vision.datasets import VisionDataset, load_image, require_files
from oneflow.data.vision.pillow import Image


@dataclass(frozen=True)
class _Archive:
    """A published archive: its address, its MD5 and the folder of the photos in it."""

    url: str
    md5: str
    folder: str


_URL = "http://host.robots.ox.ac.uk/pascal/VOC"
VOC_FILES = {
    "2012": _Archive(
        f"{_URL}/voc2012/VOCtrainval_11-May-2012.tar",
        "6cd6e144f989b92b3379bac3b3de84fd",
        "VOCdevkit/VOC2012",
    ),
    "2011": _Archive(
        f"{_URL}/voc2011/VOCtrainval_25-May-2011.tar",
        "6c3384ef61512963050cb5d687e5bf1e",
        "TrainVal/VOCdevkit/VOC2011",
    ),
    "2010": _Archive(
        f"{_URL}/voc2010/VOCtrainval_03-May-2010.tar",
        "da459979d0c395079b5c75ee67908abb",
        "VOCdevkit/VOC2010",
    ),
    "2009": _Archive(
        f"{_URL}/voc2009/VOCtrainval_11-May-2009.tar",
        "a3e00b113cfcfebf17e343f59da3caa1",
        "VOCdevkit/VOC2009",
    ),
    "2008": _Archive(
        f"{_URL}/voc2008/VOCtrainval_14-Jul-2008.tar",
        "2629fa636546599198acfcfbfcf1904a",
        "VOCdevkit/VOC2008",
    ),
    "2007": _Archive(
        f"{_URL}/voc2007/VOCtrainval_06-Nov-2007.tar",
        "c52e279531787c972589f7e41ab4ae64",
        "VOCdevkit/VOC2007",
    ),
    "2007-test": _Archive(
        f"{_URL}/voc2007/VOCtest_06-Nov-2007.tar",
        "b6e924de25625d8de591ea690078ad9f",
        "VOCdevkit/VOC2007",
    ),
}
VERSIONS = tuple(sorted({key[:4] for key in VOC_FILES}))


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
        if year not in VERSIONS:
            raise ValueError(
                f"Unknown value '{year}' for argument year; expected one of {VERSIONS}"
            )
        self.year = year
        archive = VOC_FILES["2007-test" if (year, image_set) == ("2007", "test") else year]
        folder = self.root / archive.folder
        split_file = folder / "ImageSets" / self._splits / f"{image_set}.txt"
        if download and not split_file.exists():
            download_and_extract_archive(archive.url, self.root, md5=archive.md5)
        source = f"get it with download=True, or from {archive.url}"
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
        root: folder that contains ``VOCdevkit``, unpacked, or the archive goes to.
        year: 2007 to 2012.
        image_set: ``"train"``, ``"val"``, ``"trainval"`` or ``"test"``.
        download: get and unpack the archive, up to 2 GB, if files are missing.
        transform: applied to each photo.
        target_transform: applied to each image of classes.
        transforms: applied to both together.

    Raises:
        RuntimeError: the files are missing; says where to get them.
        ConnectionError: they cannot be downloaded.

    Example:
        >>> from flowvision.datasets import VOCSegmentation
        >>> dataset = VOCSegmentation("data", year="2007", image_set="train")
        >>> photo, classes = dataset[0]
        >>> photo.size == classes.size
        True
    """

    _splits, _targets, _suffix = "Segmentation", "SegmentationClass", ".png"

    @property
    def masks(self) -> list[str]:
        """Paths of the images of classes."""
        return [str(path) for path in self._targets_of]

    def _read(self, path: Path) -> Any:
        with path.open("rb") as file:
            return Image.open(file).copy()


class VOCDetection(_VOC):
    """Photos of Pascal VOC, each with a dict of the objects in it.

    Args:
        root: folder that contains ``VOCdevkit``, unpacked, or the archive goes to.
        year: 2007 to 2012.
        image_set: ``"train"``, ``"val"``, ``"trainval"`` or ``"test"``.
        download: get and unpack the archive, up to 2 GB, if files are missing.
        transform: applied to each photo.
        target_transform: applied to each dict.
        transforms: applied to both together.

    Raises:
        RuntimeError: the files are missing; says where to get them.
        ConnectionError: they cannot be downloaded.

    Example:
        >>> from flowvision.datasets import VOCDetection
        >>> dataset = VOCDetection("data", year="2007", image_set="train")
        >>> photo, about = dataset[0]
        >>> about["annotation"]["object"][0]["name"]
        'chair'
    """

    _splits, _targets, _suffix = "Main", "Annotations", ".xml"

    @property
    def annotations(self) -> list[str]:
        """Paths of the annotations."""
        return [str(path) for path in self._targets_of]

    def _read(self, path: Path) -> Any:
        return self.parse_voc_xml(ElementTree.parse(path).getroot())

    @staticmethod
    def parse_voc_xml(node: ElementTree.Element) -> dict[str, Any]:
        """Return an element as a dictionary; a subclass may read others."""
        return parse_voc_xml(node)


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
    return {node.tag: {n: part[0] if len(part) == 1 else part for n, part in parts.items()}}


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
        ValueError: it has annotations of images that it does not list.

    Example:
        >>> from flowvision.datasets import CocoDetection
        >>> dataset = CocoDetection("data/photos", "data/annotations.json")
        >>> photo, objects = dataset[0]
        >>> objects[0]["bbox"]
        [0, 0, 1, 1]
    """

    def __init__(
        self,
        root: str | Path,
        annFile: str | Path,
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
        transforms: Callable[..., Any] | None = None,
    ) -> None:
        super().__init__(root, transforms, transform, target_transform)
        require_files([Path(annFile)], "COCO", "get it from https://cocodataset.org/#download")
        content = json.loads(Path(annFile).read_text())
        self._photos = {photo["id"]: photo["file_name"] for photo in content["images"]}
        self.ids = sorted(self._photos)
        self._targets_of: dict[int, list] = {number: [] for number in self.ids}
        for annotation in content["annotations"]:
            if annotation["image_id"] not in self._targets_of:
                raise ValueError(
                    f"`{annFile}` has an annotation of the image {annotation['image_id']}, "
                    "which it does not list"
                )
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
    """Photos of COCO, each with a list of its captions; arguments as for `CocoDetection`.

    Example:
        >>> from flowvision.datasets import CocoCaptions
        >>> dataset = CocoCaptions("data/photos", "data/annotations.json")
        >>> photo, captions = dataset[0]
        >>> captions
        ['noise']
    """

    def _target(self, annotations: list[dict]) -> list:
        return [annotation["caption"] for annotation in annotations]
