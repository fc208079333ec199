"""Data sets in their published formats: the same images and targets as torchvision's."""

from __future__ import annotations

import contextlib
import importlib
import io
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from flowvision import datasets
from flowvision.datasets import utils
from flowvision.datasets.resources import ImageDataset, Resource
from tests.flowvision.dataset_files import WRITERS, write_image
from tests.flowvision.torchvision_operators import torchvision

# The options to try of each data set; {root} stands for its folder.
CASES: list[tuple[str, dict[str, Any]]] = [
    ("Caltech101", {"target_type": ["category", "annotation"]}),
    ("Caltech256", {}),
    ("CelebA", {"split": "all", "target_type": ["attr", "identity", "bbox", "landmarks"]}),
    ("CelebA", {"split": "valid"}),
    ("CelebA", {"target_type": []}),
    ("Cityscapes", {"target_type": ["instance", "polygon"]}),
    ("Cityscapes", {"target_type": "color"}),
    ("CLEVRClassification", {}),
    ("CLEVRClassification", {"split": "test"}),
    ("Country211", {}),
    ("DTD", {"split": "val", "partition": 3}),
    ("EuroSAT", {}),
    ("FER2013", {}),
    ("FER2013", {"split": "test"}),
    ("FGVCAircraft", {}),
    ("FGVCAircraft", {"annotation_level": "manufacturer"}),
    ("Flickr8k", {"ann_file": "{root}/page.html"}),
    ("Flickr30k", {"ann_file": "{root}/captions.token"}),
    ("Flowers102", {}),
    ("Flowers102", {"split": "test"}),
    ("Food101", {}),
    ("GTSRB", {}),
    ("GTSRB", {"split": "test"}),
    ("INaturalist", {"target_type": ["full", "kingdom", "genus"]}),
    ("INaturalist", {"version": "2018", "target_type": "super"}),
    ("INaturalist", {"version": "2017"}),
    ("Kitti", {}),
    ("Kitti", {"train": False}),
    ("LFWPeople", {}),
    ("LFWPeople", {"split": "train"}),
    ("LFWPairs", {}),
    ("LFWPairs", {"split": "test"}),
    ("Omniglot", {}),
    ("OxfordIIITPet", {"target_types": ["category", "binary-category", "segmentation"]}),
    ("OxfordIIITPet", {"target_types": []}),
    ("PhotoTour", {"name": "liberty"}),
    ("PhotoTour", {"name": "liberty", "train": False}),
    ("Places365", {"small": True}),
    ("Places365", {"split": "test"}),
    ("RenderedSST2", {"split": "val"}),
    ("SBDataset", {}),
    ("SBDataset", {"mode": "segmentation"}),
    ("SBU", {"download": False}),
    ("SEMEION", {"download": False}),
    ("StanfordCars", {}),
    ("StanfordCars", {"split": "test"}),
    ("STL10", {}),
    ("STL10", {"folds": 3}),
    ("STL10", {"split": "test"}),
    ("STL10", {"split": "unlabeled"}),
    ("STL10", {"split": "train+unlabeled"}),
    ("SUN397", {}),
    ("SVHN", {}),
    ("USPS", {"train": False}),
    ("WIDERFace", {}),
    ("WIDERFace", {"split": "test"}),
]


def _plain(value: Any) -> Any:
    """Images, tensors and arrays as lists; gray images as coloured ones are."""
    if isinstance(value, Image.Image):
        return np.asarray(value.convert("RGB")).tolist()
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value]
    return value.tolist() if hasattr(value, "tolist") else value


def _entries(dataset: Any) -> list:
    """All entries, in an order that does not depend on that of files in folders."""
    return sorted((_plain(dataset[index]) for index in range(len(dataset))), key=str)


def _trust_any_content(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Let torchvision take files whose MD5 is not that of the published ones."""
    theirs = importlib.import_module(getattr(torchvision.datasets, name).__module__)
    if hasattr(theirs, "check_integrity"):
        monkeypatch.setattr(theirs, "check_integrity", lambda path, md5=None: Path(path).is_file())
    if hasattr(theirs, "list_dir"):  # which is in no order, and so are their classes
        monkeypatch.setattr(theirs, "list_dir", utils.list_dir)
    # Some ask for the packed files, too.
    if name in ("LFWPeople", "LFWPairs", "Omniglot", "SBU", "WIDERFace", "Places365"):
        owner = getattr(torchvision.datasets, name)
        monkeypatch.setattr(owner, "_check_integrity", lambda *_: True)


# torchvision leaves files open.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(("name", "options"), CASES, ids=lambda value: str(value)[:60])
def test_entries_are_torchvisions(
    name: str, options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    WRITERS[name](tmp_path)
    options = {
        key: option.format(root=tmp_path) if isinstance(option, str) else option
        for key, option in options.items()
    }
    ours = getattr(datasets, name)(tmp_path, **options)
    _trust_any_content(monkeypatch, name)
    theirs = getattr(torchvision.datasets, name)(str(tmp_path), **options)
    found = _entries(ours)
    assert len(found) > 0
    assert found == _entries(theirs)
    assert repr(ours).startswith(f"Dataset {name}\n    Number of datapoints: {len(found)}\n")
    for names in ("classes", "class_to_idx", "categories", "attr_names"):
        if hasattr(ours, names) and hasattr(theirs, names):
            assert list(getattr(ours, names)) == list(getattr(theirs, names))


@pytest.mark.parametrize(("name", "options"), CASES, ids=lambda value: str(value)[:60])
def test_what_is_missing_is_named(name: str, options: dict[str, Any], tmp_path: Path) -> None:
    options = {"download": False, **options} if name in ("SBU", "SEMEION") else options
    with pytest.raises(RuntimeError, match=r"is missing; .*(download=True|get|ask|copy|copies)"):
        getattr(datasets, name)(tmp_path / "nothing", **options)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("DTD", {"split": "all"}, "Unknown value 'all' for argument split"),
        ("DTD", {"partition": 11}, "from 1 to 10"),
        ("STL10", {"folds": 10}, "from 0 to 9"),
        ("CelebA", {"target_type": "age"}, "Unknown value 'age' for argument target_type"),
        ("Cityscapes", {"mode": "fine", "split": "train_extra"}, "'train', 'test', 'val'"),
        ("PhotoTour", {"name": "paris"}, "Unknown value 'paris'"),
        ("LSUN", {"classes": ["garage_train"]}, "'garage'"),
        ("INaturalist", {"version": "2018", "target_type": "genus"}, "'genus'"),
        ("SVHN", {"split": 3}, "Expected type str"),
    ],
)
def test_unknown_options_are_refused(
    name: str, options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=message):
        getattr(datasets, name)(tmp_path, **options)


def test_transforms(tmp_path: Path) -> None:
    WRITERS["DTD"](tmp_path)
    options = {"split": "val", "partition": 3}
    data = datasets.DTD(tmp_path, **options, transform=np.array, target_transform=str)
    assert data[0][0].shape == (7, 9, 3)
    assert data[0][1] == "0"
    data.transform = lambda image: image.size
    assert data[0][0] == (9, 7)
    assert "Split: val, partition: 3" in repr(data)
    WRITERS["Kitti"](tmp_path)
    both = datasets.Kitti(tmp_path, transforms=lambda image, target: (target, image.size))
    assert both[0][1] == (9, 7)
    with pytest.raises(ValueError, match="Only transforms or"):
        datasets.Kitti(tmp_path, transforms=str, transform=str)
    with pytest.raises(RuntimeError, match="target_type"):
        datasets.CelebA(tmp_path, target_type=[], target_transform=str)


def test_damaged_lists_and_images_are_named(tmp_path: Path) -> None:
    WRITERS["SVHN"](tmp_path)
    (tmp_path / "train_32x32.mat").write_bytes(b"MATLAB 5.0" + bytes(100))
    with pytest.raises(OSError, match=r"train_32x32\.mat"):
        datasets.SVHN(tmp_path)
    WRITERS["Omniglot"](tmp_path)
    data = datasets.Omniglot(tmp_path)
    data.images[0].write_bytes(data.images[0].read_bytes()[:60])
    with pytest.raises(OSError, match=r"cannot read the image .*0001_01\.png"):
        data[0]
    WRITERS["INaturalist"](tmp_path)
    (tmp_path / "2021_train" / "00003_Other").mkdir()
    with pytest.raises(RuntimeError, match="should begin with 00003"):
        datasets.INaturalist(tmp_path)
    (tmp_path / "2018" / "Aves" / "5").mkdir()
    with pytest.raises(RuntimeError, match="no folder of the species 3"):
        datasets.INaturalist(tmp_path, "2018")


def test_names_of_species(tmp_path: Path) -> None:
    WRITERS["INaturalist"](tmp_path)
    data = datasets.INaturalist(tmp_path)
    assert data.category_name("genus", 1) == "Aix"
    assert data.category_name("full", 2).endswith("Zea_mays")
    for kind, number in (("colour", 0), ("kingdom", 2)):
        with pytest.raises(ValueError, match="Invalid category"):
            data.category_name(kind, number)


def test_random_images() -> None:
    data = datasets.FakeData(3, (1, 5, 4), num_classes=2, transform=np.array)
    assert len(data) == 3
    assert data[2][0].shape == (5, 4)
    assert (data[0][0] != data[1][0]).any()
    assert {
        datasets.FakeData(50, num_classes=2, image_size=(3, 1, 1))[i][1] for i in range(50)
    } == {0, 1}
    shifted = datasets.FakeData(3, (1, 5, 4), num_classes=2, transform=np.array, random_offset=1)
    assert (shifted[0][0] == data[1][0]).all()
    with pytest.raises(IndexError, match="out of range"):
        data[3]


# --- downloads, from a folder instead of the network


class _Spots(ImageDataset):
    """Images that are published as an archive."""

    def __init__(self, root: Path, resource: Resource, download: bool) -> None:
        super().__init__(root)
        self.ensure_files(self.root, [self.root / "spots"], download, [resource])
        self.images = sorted((self.root / "spots").iterdir())
        self.targets = [0] * len(self.images)


def test_archives_are_downloaded_checked_and_unpacked(tmp_path: Path) -> None:
    write_image(tmp_path / "spots" / "1.png")
    archive = Path(shutil.make_archive(str(tmp_path / "spots"), "zip", tmp_path, "spots"))
    md5 = utils.calculate_md5(archive)
    good, other = (Resource(archive.as_uri(), checksum) for checksum in (md5, "0" * 32))
    with pytest.raises(RuntimeError, match=r"spots is missing; get it with .*or from file:"):
        _Spots(tmp_path / "data", good, download=False)
    with pytest.raises(RuntimeError, match=r"MD5 .* not 0000.* removed"):
        _Spots(tmp_path / "data", other, download=True)
    assert len(_Spots(tmp_path / "data", good, download=True)) == 1
    archive.unlink()  # Nothing is asked for twice.
    assert len(_Spots(tmp_path / "data", good, download=True)) == 1
    with pytest.raises((ConnectionError, RuntimeError)):
        _Spots(tmp_path / "more", good, download=True)


def test_every_resource_has_an_address_and_most_a_checksum() -> None:
    resources = [
        resource
        for name in dir(datasets)
        for resource in getattr(getattr(datasets, name), "resources", ())
        if isinstance(resource, Resource)
    ]
    assert len(resources) > 25
    without = [resource.url for resource in resources if resource.md5 is None]
    assert len(without) == 3, without  # KITTI's two, and FGVC-Aircraft's
    assert all(resource.md5 is None or len(resource.md5) == 32 for resource in resources)
    assert len({resource.url for resource in resources}) == len(resources)


def test_downloads_of_several_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each asks for its resources, whatever their addresses answer."""
    asked: list[str] = []

    def write(self: Resource, folder: Path) -> None:
        asked.append(self.url)
        assert folder.is_relative_to(tmp_path)
        if "2018" in self.url:
            write_image(folder / "train_val2018" / "Aves" / "0" / "x.jpg")

    monkeypatch.setattr(Resource, "download", write)
    for name, count in (("CelebA", 6), ("WIDERFace", 4), ("PCAM", 2), ("OxfordIIITPet", 2)):
        asked.clear()
        with pytest.raises(RuntimeError, match="is missing"):
            getattr(datasets, name)(tmp_path, download=True)
        assert len(asked) == count
    assert all("drive.usercontent.google.com" in url or "robots" in url for url in asked)
    assert len(datasets.INaturalist(tmp_path, "2018", download=True)) == 1


# --- files that other packages read


def test_pcam(tmp_path: Path) -> None:
    WRITERS["PCAM"](tmp_path)
    ours = datasets.PCAM(tmp_path, "val")
    assert _entries(ours) == _entries(torchvision.datasets.PCAM(str(tmp_path), "val"))


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_lsun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # torchvision writes a file there
    WRITERS["LSUN"](tmp_path)
    classes = ["bedroom_val", "tower_val"]
    ours = datasets.LSUN(tmp_path, classes)
    found = _entries(ours)
    assert [target for _, target in found].count(0) == 2
    del ours
    assert found == _entries(torchvision.datasets.LSUN(str(tmp_path), classes))


@pytest.mark.parametrize(("name", "package"), [("PCAM", "h5py"), ("LSUN", "lmdb")])
def test_missing_packages_are_named(
    name: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pcam").mkdir()
    for part in "xy":
        (tmp_path / "pcam" / f"camelyonpatch_level_2_split_train_{part}.h5").touch()
    (tmp_path / "test_lmdb").mkdir()
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(RuntimeError, match=f"pip install {package}"):
        getattr(datasets, name)(tmp_path, "test" if name == "LSUN" else "train")


# --- helpers that programs import


def test_listing_and_checking(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "a.txt").write_text("text")
    assert utils.list_dir(tmp_path) == ["b"]
    assert utils.list_files(tmp_path, ".txt", prefix=True) == [str(tmp_path / "a.txt")]
    assert utils.check_md5(tmp_path / "a.txt", "1cb251ec0d568de6a929b520c4aed8d1")
    assert utils.iterable_to_str([1, "b"]) == "'1', 'b'"
    assert utils.verify_str_arg("anything") == "anything"
    with pytest.raises(ValueError, match="mine"):
        utils.verify_str_arg("a", "b", ["c"], "mine")


def test_progress_bar_follows_what_arrives() -> None:
    with contextlib.redirect_stderr(io.StringIO()) as shown:
        update = utils.gen_bar_updater()
        update(1, 500, 2000)
        update(4, 500, 2000)
    assert "2.00k/2.00k" in shown.getvalue()


def test_what_has_been_removed_is_downloaded_again(tmp_path: Path) -> None:
    (tmp_path / "there.txt").write_text("text")

    class Texts(ImageDataset):
        resources = (Resource((tmp_path / "there.txt").as_uri(), is_archive=False),)

        def __init__(self, root: Path) -> None:
            super().__init__(root)
            self.ensure_files(root, [root / "there.txt"], download=True)

    got = tmp_path / "got"
    texts = Texts(got)
    (got / "there.txt").unlink()
    texts.download()
    assert (got / "there.txt").read_text() == "text"
    assert utils.check_md5(
        got / "there.txt", utils.calculate_md5(got / "there.txt"), chunk_size=4096
    )


def test_google_drive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "there.txt").write_text("text")
    monkeypatch.setattr(utils, "google_drive_url", lambda name: (tmp_path / name).as_uri())
    utils.download_file_from_google_drive("there.txt", tmp_path / "got", "kept.txt")
    assert (tmp_path / "got" / "kept.txt").read_text() == "text"
