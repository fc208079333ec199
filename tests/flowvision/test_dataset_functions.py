"""Functions below the data sets: archives of ImageNet, files in the IDX format, registries."""

from __future__ import annotations

import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import torch

import oneflow as flow
from flowvision import datasets
from flowvision.datasets import folder, imagenet, mnist, utils, voc
from flowvision.layers.blocks import _utils
from flowvision.utils.base_registry import Registry
from tests.flowvision.dataset_files import write_image
from tests.flowvision.torchvision_operators import torchvision

_WNIDS = ["n01", "n02"]
_NAMES = {"n01": ("tench", "Tinca tinca"), "n02": ("goldfish",)}


def _pack(path: Path, source: Path) -> None:
    mode = "w:gz" if path.suffix == ".gz" else "w"
    with tarfile.open(path, mode) as archive:
        for member in sorted(source.iterdir()):
            archive.add(member, member.name)


def _write_devkit(root: Path) -> None:
    data = root / "parts" / "ILSVRC2012_devkit_t12" / "data"
    data.mkdir(parents=True)
    # Two classes, and one above them, which is no class of its own.
    kind = [("ILSVRC2012_ID", "O"), ("WNID", "O"), ("words", "O"), ("gloss", "O"), ("n", "O")]
    rows = [
        (1, "n01", "tench, Tinca tinca", "a fish", 0),
        (2, "n02", "goldfish", "a fish", 0),
        (3, "n00", "fish", "an animal", 2),
    ]
    scipy.io.savemat(data / "meta.mat", {"synsets": np.array(rows, dtype=kind)})
    (data / "ILSVRC2012_validation_ground_truth.txt").write_text("2\n1\n2\n")
    _pack(root / "ILSVRC2012_devkit_t12.tar.gz", root / "parts")


def _write_archives(root: Path) -> None:
    """The three archives of ImageNet, of a few small images."""
    _write_devkit(root)
    for wnid in _WNIDS:
        write_image(root / wnid / f"{wnid}_1.JPEG")
        write_image(root / "val_images" / f"ILSVRC2012_val_{wnid}.JPEG")
        (root / "classes").mkdir(exist_ok=True)
        _pack(root / "classes" / f"{wnid}.tar", root / wnid)
    write_image(root / "val_images" / "ILSVRC2012_val_n03.JPEG")
    _pack(root / "ILSVRC2012_img_train.tar", root / "classes")
    _pack(root / "ILSVRC2012_img_val.tar", root / "val_images")


@pytest.fixture
def archives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    _write_archives(tmp_path)
    md5 = {
        part: (name, utils.calculate_md5(tmp_path / name))
        for part, (name, _) in imagenet.ARCHIVE_META.items()
    }
    monkeypatch.setattr(imagenet, "ARCHIVE_META", md5)
    monkeypatch.setattr(torchvision.datasets.imagenet, "ARCHIVE_META", md5)
    return tmp_path


def test_imagenet_is_unpacked_as_by_torchvision(archives: Path) -> None:
    for split in ("train", "val"):
        ours = datasets.ImageNet(archives, split)
        files = {path.relative_to(archives) for path in (archives / split).rglob("*.JPEG")}
        assert {path.parent.name for path in files} == set(_WNIDS)
        theirs_root = archives / f"theirs_{split}"
        theirs_root.mkdir()
        for name, _ in imagenet.ARCHIVE_META.values():
            (theirs_root / name).symlink_to(archives / name)
        theirs = torchvision.datasets.ImageNet(str(theirs_root), split)
        for name in ("wnids", "wnid_to_idx", "classes", "class_to_idx", "targets"):
            assert getattr(ours, name) == getattr(theirs, name), name
        assert [Path(path).name for path, _ in ours.samples] == [
            Path(path).name for path, _ in theirs.samples
        ]
        assert imagenet.load_meta_file(theirs_root) == imagenet.load_meta_file(archives)


def test_imagenet_without_the_devkit_is_named_by_numbers(tmp_path: Path) -> None:
    write_image(tmp_path / "val" / "n01" / "1.JPEG")
    assert datasets.ImageNet(tmp_path, "val").classes == ["n01"]
    with pytest.raises(ValueError, match="'test' for argument split"):
        datasets.ImageNet(tmp_path, "test")


def test_archives_of_imagenet_are_checked(archives: Path) -> None:
    with pytest.raises(RuntimeError, match=r"meta\.bin is not in"):
        imagenet.load_meta_file(archives)
    with pytest.raises(ValueError, match="3 images, but 1 WordNet numbers"):
        imagenet.parse_val_archive(archives, wnids=["n01"])
    path = archives / "ILSVRC2012_img_train.tar"
    path.write_bytes(path.read_bytes()[:-600])
    with pytest.raises(RuntimeError, match=r"ILSVRC2012_img_train\.tar is not in .* or its MD5"):
        imagenet.parse_train_archive(archives)
    with pytest.raises(RuntimeError, match=r"other\.tar\.gz is not in"):
        imagenet.parse_devkit_archive(archives, "other.tar.gz")


@pytest.mark.parametrize("number", sorted(mnist.SN3_PASCALVINCENT_TYPEMAP))
def test_tensors_in_the_idx_format(number: int, tmp_path: Path) -> None:
    dtype, stored, _ = mnist.SN3_PASCALVINCENT_TYPEMAP[number]
    values = np.arange(6).reshape(2, 3).astype(stored)
    path = tmp_path / "tensor-idx2"
    sizes = np.array([2, 3], ">u4").tobytes()
    path.write_bytes(bytes([0, 0, number, 2]) + sizes + values.tobytes())
    ours = mnist.read_sn3_pascalvincent_tensor(path)
    theirs = torchvision.datasets.mnist.read_sn3_pascalvincent_tensor(str(path))
    assert ours.dtype == dtype
    assert ours.tolist() == theirs.tolist() == values.tolist()
    with pytest.raises(RuntimeError, match="dimensions"):
        mnist.read_label_file(path)


def test_images_and_labels_in_the_idx_format(tmp_path: Path) -> None:
    for shape, read in (((4,), mnist.read_label_file), ((2, 3, 2), mnist.read_image_file)):
        path = tmp_path / f"{len(shape)}"
        values = np.arange(np.prod(shape), dtype=np.uint8).reshape(shape)
        sizes = np.array(shape, ">u4").tobytes()
        path.write_bytes(bytes([0, 0, 8, len(shape)]) + sizes + values.tobytes())
        assert read(path).tolist() == values.tolist()
    assert mnist.read_label_file(tmp_path / "1").dtype == flow.int64
    with pytest.raises(RuntimeError, match="3 dimensions of bytes"):
        mnist.read_image_file(tmp_path / "1")
    assert mnist.get_int(b"\x01\x00\x02") == 65538


def test_archives_of_pascal_voc(tmp_path: Path) -> None:
    theirs = torchvision.datasets.voc.DATASET_YEAR_DICT
    for year, wanted in theirs.items():
        found = voc.DATASET_YEAR_DICT[year]
        assert found["md5"] == wanted["md5"]
        assert Path(found["base_dir"]) == Path(wanted["base_dir"])
        assert found["url"].endswith(found["filename"])
    assert set(voc.DATASET_YEAR_DICT) == set(theirs)
    write_image(tmp_path / "packed" / "1.png")
    _pack(tmp_path / "voc.tar", tmp_path / "packed")
    md5 = utils.calculate_md5(tmp_path / "voc.tar")
    voc.download_extract((tmp_path / "voc.tar").as_uri(), tmp_path / "voc", "kept.tar", md5)
    assert (tmp_path / "voc" / "1.png").is_file()


def test_accimage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_image(tmp_path / "1.png")
    monkeypatch.setitem(sys.modules, "accimage", None)
    with pytest.raises(RuntimeError, match="pip install accimage"):
        folder.accimage_loader(str(tmp_path / "1.png"))

    class Accimage:
        """The interface of the package, which reads JPEG only."""

        @staticmethod
        def Image(path: str) -> str:
            if not path.endswith(".jpg"):
                raise OSError("not a JPEG")
            return path

    monkeypatch.setitem(sys.modules, "accimage", Accimage)
    assert folder.accimage_loader("1.jpg") == "1.jpg"
    assert folder.accimage_loader(str(tmp_path / "1.png")).mode == "RGB"


def test_registries() -> None:
    registry: Registry = Registry("MODULE")
    assert registry.register(torch.nn.ReLU) is torch.nn.ReLU
    with pytest.raises(ValueError, match="'ReLU' is in the registry 'MODULE' already"):
        registry.register()(torch.nn.ReLU)
    with pytest.raises(KeyError, match="no object named 'GELU'"):
        registry.get("GELU")
    assert dict(registry) == {"ReLU": torch.nn.ReLU}
    assert repr(registry).startswith("Registry of MODULE:\n    ReLU: <class")


def test_boxes_of_several_images() -> None:
    boxes = [torch.rand(2, 4), torch.rand(1, 4)]
    ours = _utils.convert_boxes_to_roi_format([flow.tensor(box.numpy()) for box in boxes])
    assert ours.tolist() == torchvision.ops._utils.convert_boxes_to_roi_format(boxes).tolist()
    with pytest.raises(ValueError, match=r"\(n, 4\)"):
        _utils.check_roi_boxes_shape([flow.zeros(2, 5)])
