"""Image data sets and transforms."""

import gzip
import json
import pickle
import struct
import tarfile
import zipfile

import numpy as np
import pytest
from PIL import Image

import oneflow as flow
from oneflow.data.vision import archive
from oneflow.data.vision.datasets import load_image
from oneflow.utils.vision import datasets, transforms
from tests.flowvision.dataset_files import WRITERS

RNG = np.random.default_rng(0)
PIXELS = RNG.integers(0, 256, (6, 8, 3), dtype=np.uint8)


def images():
    """One image in the three forms: Pillow, array, tensor."""
    return [
        Image.fromarray(PIXELS),
        PIXELS,
        flow.tensor(np.ascontiguousarray(PIXELS.transpose(2, 0, 1))),
    ]


def pixels(image):
    """``[H, W, C]`` of an image in any form."""
    if isinstance(image, flow.Tensor):
        return image.numpy().transpose(1, 2, 0)
    return np.asarray(image)


all_forms = pytest.mark.parametrize("image", images(), ids=["pillow", "array", "tensor"])


# --- transforms


@all_forms
def test_crops(image):
    middle = pixels(transforms.CenterCrop((2, 4))(image))
    np.testing.assert_array_equal(middle, PIXELS[2:4, 2:6])
    beyond = pixels(transforms.CenterCrop(10)(image))
    np.testing.assert_array_equal(beyond[2:8, 1:9], PIXELS)
    assert beyond[0].sum() == 0
    five = transforms.FiveCrop(3)(image)
    np.testing.assert_array_equal(pixels(five[3]), PIXELS[3:, 5:])
    ten = transforms.TenCrop((2, 3), vertical_flip=True)(image)
    assert len(ten) == 10
    np.testing.assert_array_equal(pixels(ten[5]), PIXELS[::-1][:2, :3])


@all_forms
def test_mirrors(image):
    mirrored = transforms.RandomHorizontalFlip(p=1.0)(image)
    np.testing.assert_array_equal(pixels(mirrored), PIXELS[:, ::-1])
    upside_down = transforms.RandomVerticalFlip(p=1.0)(image)
    np.testing.assert_array_equal(pixels(upside_down), PIXELS[::-1])
    assert transforms.RandomHorizontalFlip(p=0.0)(image) is image


@all_forms
@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
def test_borders(image, mode):
    padded = pixels(transforms.Pad((1, 2, 3, 0), padding_mode=mode)(image))
    borders = ((2, 0), (1, 3), (0, 0))
    np.testing.assert_array_equal(padded, np.pad(PIXELS, borders, mode=mode))
    filled = pixels(transforms.Pad(1, fill=7)(image))
    np.testing.assert_array_equal(
        filled, np.pad(PIXELS, ((1, 1), (1, 1), (0, 0)), constant_values=7)
    )


@all_forms
def test_sizes(image):
    assert pixels(transforms.Resize((3, 5))(image)).shape == (3, 5, 3)
    assert pixels(transforms.Resize(3)(image)).shape == (3, 4, 3)
    nearest = transforms.Resize((12, 16), transforms.InterpolationMode.NEAREST)(image)
    np.testing.assert_array_equal(pixels(nearest), PIXELS.repeat(2, 0).repeat(2, 1))


@all_forms
def test_random_crops(image):
    flow.manual_seed(0)
    crop = transforms.RandomCrop(4)
    found = [pixels(crop(image)) for _ in range(8)]
    assert {tensor.shape for tensor in found} == {(4, 4, 3)}
    assert len({array.tobytes() for array in found}) > 1
    assert pixels(transforms.RandomCrop(9, pad_if_needed=True)(image)).shape == (9, 9, 3)
    assert pixels(transforms.RandomCrop(7, padding=1)(image)).shape == (7, 7, 3)
    with pytest.raises(ValueError, match="larger than input"):
        transforms.RandomCrop(9)(image)
    resized = transforms.RandomResizedCrop((3, 4))(image)
    assert pixels(resized).shape == (3, 4, 3)


def test_random_transforms_follow_manual_seed():
    pipeline = transforms.Compose(
        [
            transforms.RandomApply([transforms.RandomCrop(4)], p=0.5),
            transforms.RandomOrder([transforms.RandomHorizontalFlip(), transforms.Pad(1)]),
            transforms.RandomChoice([transforms.RandomVerticalFlip(), transforms.CenterCrop(3)]),
        ]
    )
    runs = []
    for _ in range(2):
        flow.manual_seed(4)
        runs.append([pipeline(PIXELS).tobytes() for _ in range(10)])
    assert runs[0] == runs[1]
    assert len(set(runs[0])) > 3


def test_to_tensor_and_back():
    tensor = transforms.ToTensor()(Image.fromarray(PIXELS))
    np.testing.assert_allclose(tensor.numpy(), PIXELS.transpose(2, 0, 1) / np.float32(255))
    assert tensor.dtype is flow.float32
    back = transforms.ToPILImage()(tensor)
    np.testing.assert_array_equal(np.asarray(back), PIXELS)
    gray = Image.fromarray(PIXELS[:, :, 0])
    assert transforms.ToTensor()(gray).shape == (1, 6, 8)
    assert transforms.ToPILImage()(transforms.PILToTensor()(gray)).mode == "L"
    assert transforms.PILToTensor()(gray).dtype is flow.uint8
    assert transforms.ToTensor()(np.ones((2, 3))).dtype is flow.float64
    wide = Image.fromarray(np.full((2, 2), 70000, np.int32))
    assert transforms.ToTensor()(wide)[0, 0, 0].item() == 70000


def test_normalize():
    image = flow.full((2, 1, 2), 3.0)
    normalized = transforms.Normalize([1.0, 2.0], [2.0, 0.5])(image)
    assert normalized.tolist() == [[[1.0, 1.0]], [[2.0, 2.0]]]
    assert image[0, 0, 0].item() == 3.0
    transforms.Normalize([1.0, 2.0], [2.0, 0.5], inplace=True)(image)
    assert image[1, 0, 0].item() == 2.0
    with pytest.raises(ValueError, match="zero"):
        transforms.Normalize([0.0], [0.0])(image)
    with pytest.raises(TypeError, match="float tensor"):
        transforms.Normalize([0.0], [1.0])(flow.ones(1, 2, 2, dtype=flow.uint8))


@pytest.mark.parametrize(
    ("before", "after", "white", "expected"),
    [
        ("uint8", "float32", 255, 1.0),
        ("float32", "uint8", 1.0, 255),
        ("uint8", "int32", 255, 255 * 2**23),
        ("int32", "uint8", 2**31 - 1, 255),
        ("float32", "float64", 0.5, 0.5),
    ],
)
def test_convert_image_dtype(before, after, white, expected):
    image = flow.full((1, 1, 1), white, dtype=getattr(flow, before))
    converted = transforms.ConvertImageDtype(getattr(flow, after))(image)
    assert converted.dtype is getattr(flow, after)
    assert converted.item() == expected


@pytest.mark.parametrize(
    "make",
    [
        lambda: transforms.ToTensor()("text"),
        lambda: transforms.PILToTensor()(PIXELS),
        lambda: transforms.ConvertImageDtype()(PIXELS),
        lambda: transforms.CenterCrop(2)([1]),
        lambda: transforms.Lambda(3),
        lambda: transforms.RandomChoice(3),
        lambda: transforms.Resize(2, "sharp"),
        lambda: transforms.Resize(2.5),
    ],
)
def test_wrong_types(make):
    with pytest.raises(TypeError):
        make()


def test_pipelines_print_their_options():
    text = repr(transforms.Compose([transforms.ToTensor(), transforms.Normalize([0.5], [0.2])]))
    assert text == "Compose(\n    ToTensor()\n    Normalize(mean=[0.5], std=[0.2])\n)"


# --- data sets


def write_idx(path, array):
    header = struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape)
    content = header + array.astype(np.uint8).tobytes()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


@pytest.mark.parametrize(("kind", "ending"), [("MNIST", ".gz"), ("FashionMNIST", "")])
def test_mnist(tmp_path, kind, ending):
    raw = tmp_path / kind / "raw"
    raw.mkdir(parents=True)
    write_idx(raw / f"train-images-idx3-ubyte{ending}", PIXELS.transpose(2, 0, 1))
    write_idx(raw / f"train-labels-idx1-ubyte{ending}", np.array([5, 0, 9]))
    data = getattr(datasets, kind)(tmp_path, transform=transforms.ToTensor(), download=True)
    assert len(data) == 3
    image, label = data[2]
    assert label == 9
    np.testing.assert_allclose(image.numpy()[0], PIXELS[:, :, 2] / np.float32(255))
    assert data.targets.tolist() == [5, 0, 9]
    assert data.data.shape == (3, 6, 8)
    assert len(data.classes) == 10
    loader = flow.utils.data.DataLoader(data, batch_size=2)
    assert [batch[0].shape for batch in loader] == [(2, 1, 6, 8), (1, 1, 6, 8)]


def test_missing_and_damaged_files_say_what_to_do(tmp_path):
    with pytest.raises(RuntimeError, match=r"t10k-images-idx3-ubyte.*download=True.*https"):
        datasets.MNIST(tmp_path, train=False)
    (tmp_path / "train-images-idx3-ubyte").write_bytes(b"\0\0\x08\x01\0\0\0\x05abc")
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(b"text")
    with pytest.raises(RuntimeError, match="damaged"):
        datasets.MNIST(tmp_path)


@pytest.mark.parametrize(
    ("kind", "first", "files"), [("CIFAR10", "data_batch_1", 5), ("CIFAR100", "train", 1)]
)
def test_cifar(tmp_path, kind, first, files):
    WRITERS[kind](tmp_path)
    batch = pickle.loads(next(tmp_path.rglob(first)).read_bytes())["data"]
    data = getattr(datasets, kind)(tmp_path)
    assert len(data) == 2 * files
    image, label = data[1]
    assert label == 1
    np.testing.assert_array_equal(np.asarray(image), batch[1].reshape(3, 32, 32).transpose(1, 2, 0))
    assert data.class_to_idx["class 3"] == 3
    with pytest.raises(RuntimeError, match="get "):
        getattr(datasets, kind)(tmp_path, train=False)


def test_pickles_of_python_2(tmp_path):
    # As CIFAR's own files: text where Python 3 has bytes.
    (tmp_path / "cifar-100-python").mkdir()
    array = (
        b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntS'b'\ntR(I1\n(I1\nI3072\ntcnumpy\n"
        b"dtype\n(S'u1'\nI0\nI1\ntR(I3\nS'|'\nNNNI-1\nI-1\nI0\ntbI00\nT\x00\x0c\x00\x00"
        + bytes([200]) * 3072
        + b"tb"
    )
    content = b"(dS'data'\n" + array + b"sS'fine_labels'\n(lI7\nas."
    (tmp_path / "cifar-100-python" / "train").write_bytes(content)
    (tmp_path / "cifar-100-python" / "meta").write_bytes(b"(dS'fine_label_names'\n(lS'a'\nas.")
    data = datasets.CIFAR100(tmp_path)
    assert data.targets == [7]
    assert (data.data == 200).all()


def test_image_folders(tmp_path):
    for name in ("dog/1.png", "cat/a/2.PNG", "cat/1.png", "cat/notes.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x") if path.suffix == ".txt" else Image.fromarray(PIXELS).save(path)
    data = datasets.ImageFolder(tmp_path)
    assert data.classes == ["cat", "dog"]
    assert data.targets == [0, 0, 1]
    image, target = data[2]
    assert target == 1
    np.testing.assert_array_equal(np.asarray(image), PIXELS)
    chosen = datasets.ImageFolder(tmp_path, is_valid_file=lambda path: path.endswith("1.png"))
    assert len(chosen) == 2

    class Last(datasets.ImageFolder):
        @staticmethod
        def make_dataset(*arguments):
            return datasets.ImageFolder.make_dataset(*arguments)[-1:]

    assert Last(tmp_path).samples == data.samples[-1:]
    named = datasets.DatasetFolder(tmp_path, lambda path: path, (".png",))
    assert named[0][0].endswith("1.png")
    with pytest.raises(FileNotFoundError, match="no valid file"):
        datasets.DatasetFolder(tmp_path, open, (".mp3",))
    with pytest.raises(FileNotFoundError, match="class folder"):
        datasets.ImageFolder(tmp_path / "dog")


@pytest.mark.parametrize(
    ("mode", "options"), [("L", {}), ("P", {"transparency": 3}), ("CMYK", {}), ("RGBA", {})]
)
def test_files_of_other_modes_are_in_colors(tmp_path, mode, options):
    image = Image.fromarray(PIXELS).convert(mode)
    path = tmp_path / ("a.tif" if mode == "CMYK" else "a.png")
    image.save(path, **options)
    loaded = load_image(path)
    assert loaded.mode == "RGB"
    np.testing.assert_array_equal(np.asarray(loaded), np.asarray(image.convert("RGB")))


def test_grays_of_16_bits_keep_the_upper_ones(tmp_path):
    Image.fromarray(np.array([[0, 255, 256, 65535]], np.uint16)).save(tmp_path / "a.png")
    np.testing.assert_array_equal(
        np.asarray(load_image(tmp_path / "a.png"))[0, :, 1], [0, 0, 1, 255]
    )


def test_damaged_and_huge_images_are_named(tmp_path, monkeypatch):
    Image.fromarray(PIXELS.repeat(20, 0)).save(tmp_path / "whole.png")
    Image.fromarray(PIXELS.repeat(20, 0)).save(tmp_path / "whole.jpg")
    for name in ("whole.png", "whole.jpg"):
        part = tmp_path / name.replace("whole", "part")
        part.write_bytes((tmp_path / name).read_bytes()[:-300])
        with pytest.raises(OSError, match="part"):
            load_image(part)
    (tmp_path / "text.png").write_text("no image")
    with pytest.raises(OSError, match=r"cannot read the image .*text\.png"):
        load_image(tmp_path / "text.png")
    with pytest.raises(FileNotFoundError):
        load_image(tmp_path / "none.png")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    with pytest.raises(OSError, match=r"whole\.png.*exceeds limit"):
        load_image(tmp_path / "whole.png")


def test_class_folders_without_images(tmp_path):
    for name in ("cat", "dog"):
        (tmp_path / name).mkdir()
    Image.fromarray(PIXELS).save(tmp_path / "cat" / "1.png")
    (tmp_path / "dog" / "notes.txt").write_text("x")
    with pytest.raises(FileNotFoundError, match="no valid file for the class dog"):
        datasets.ImageFolder(tmp_path)
    data = datasets.ImageFolder(tmp_path, allow_empty=True)
    assert data.classes == ["cat", "dog"]
    assert data.targets == [0]
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        datasets.ImageFolder(tmp_path / "none")


# --- downloads, from a folder instead of the network


def packed_cifar(folder):
    """A CIFAR-100 of two images as an archive; returns its MD5."""
    inner = folder / "cifar-100-python"
    inner.mkdir(parents=True)
    batch = {"data": RNG.integers(0, 256, (2, 3072), dtype=np.uint8), "fine_labels": [3, 1]}
    for name in ("train", "test"):
        (inner / name).write_bytes(pickle.dumps(batch, protocol=2))
    (inner / "meta").write_bytes(pickle.dumps({"fine_label_names": list("abcd")}, protocol=2))
    with tarfile.open(folder / "cifar.tar.gz", "w:gz") as tar:
        tar.add(inner, "cifar-100-python")
    return archive.calculate_md5(folder / "cifar.tar.gz")


def test_archives_are_downloaded_checked_and_unpacked(tmp_path, monkeypatch):
    md5 = packed_cifar(tmp_path / "site")
    source = (tmp_path / "site" / "cifar.tar.gz").as_uri()
    with pytest.raises(RuntimeError, match="MD5"):
        datasets.CIFAR100(tmp_path / "data", download=True, source_url=source)
    assert not (tmp_path / "data" / "cifar.tar.gz").exists()
    monkeypatch.setattr(datasets.CIFAR100, "tgz_md5", md5)
    data = datasets.CIFAR100(tmp_path / "data", download=True, source_url=source)
    assert data.targets == [3, 1]
    (data.root / "cifar-100-python" / "train").unlink()
    data.download()
    assert (data.root / "cifar-100-python" / "train").exists()
    (tmp_path / "site" / "cifar.tar.gz").unlink()
    assert len(datasets.CIFAR100(tmp_path / "data", False, download=True, source_url=source)) == 2


def test_mnist_is_downloaded_from_the_first_mirror_that_has_it(tmp_path, monkeypatch):
    site = tmp_path / "site"
    site.mkdir()
    write_idx(site / "t10k-images-idx3-ubyte.gz", PIXELS.transpose(2, 0, 1))
    write_idx(site / "t10k-labels-idx1-ubyte.gz", np.array([5, 0, 9]))
    files = [(path.name, archive.calculate_md5(path)) for path in sorted(site.iterdir())]
    monkeypatch.setattr(datasets.MNIST, "resources", files)
    monkeypatch.setattr(datasets.MNIST, "mirrors", [(tmp_path / "gone").as_uri(), site.as_uri()])
    assert len(datasets.MNIST(tmp_path / "data", train=False, download=True)) == 3
    (site / "t10k-labels-idx1-ubyte.gz").unlink()
    with pytest.raises(ConnectionError, match="labels"):
        datasets.MNIST(tmp_path / "more", train=False, download=True)


def test_archives_cannot_write_elsewhere(tmp_path):
    with tarfile.open(tmp_path / "evil.tar", "w") as tar:
        (tmp_path / "x").write_text("x")
        tar.add(tmp_path / "x", "../outside")
    with pytest.raises(RuntimeError, match="cannot unpack"):
        archive.extract_archive(tmp_path / "evil.tar", tmp_path / "in")
    assert not (tmp_path / "outside").exists()
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as packed:
        packed.writestr("b/c.txt", "text")
    archive.extract_archive(tmp_path / "a.zip", tmp_path / "zip", remove_finished=True)
    assert (tmp_path / "zip" / "b" / "c.txt").read_text() == "text"
    assert not (tmp_path / "a.zip").exists()
    (tmp_path / "n.gz").write_bytes(gzip.compress(b"numbers"))
    assert archive.extract_archive(tmp_path / "n.gz") == str(tmp_path / "n")
    for content, name in ((gzip.compress(b"numbers")[:-4], "cut.gz"), (b"text", "text.rar")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(RuntimeError, match="cannot unpack"):
            archive.extract_archive(tmp_path / name)


def test_imagenet(tmp_path):
    (tmp_path / "val" / "n01440764").mkdir(parents=True)
    Image.fromarray(PIXELS).save(tmp_path / "val" / "n01440764" / "1.png")
    assert datasets.ImageNet(tmp_path, "val").wnids == ["n01440764"]
    with pytest.raises(RuntimeError, match="get "):
        datasets.ImageNet(tmp_path, "train")
    with pytest.raises(RuntimeError, match="not for free download"):
        datasets.ImageNet(tmp_path, "val", download=True)


def test_pascal_voc(tmp_path):
    WRITERS["VOCDetection"](tmp_path)
    _, about = datasets.VOCDetection(tmp_path, "2007")[0]
    assert about["annotation"]["size"]["width"] == "9"
    assert about["annotation"]["object"] == [{"name": "chair"}]

    class Tags(datasets.VOCDetection):
        @staticmethod
        def parse_voc_xml(node):
            return node.tag

    assert Tags(tmp_path, "2007")[0][1] == "annotation"
    image, mask = datasets.VOCSegmentation(tmp_path, "2007", transforms=lambda a, b: (b, a))[0]
    classes = next(tmp_path.rglob("SegmentationClass/000005.png"))
    np.testing.assert_array_equal(np.asarray(image), np.asarray(Image.open(classes)))
    assert mask.size == (9, 7)
    with pytest.raises(ValueError, match="year"):
        datasets.VOCDetection(tmp_path, "1999")
    with pytest.raises(RuntimeError, match="VOCtest_06-Nov-2007"):
        datasets.VOCDetection(tmp_path, "2007", "test")


def test_coco(tmp_path):
    WRITERS["CocoDetection"](tmp_path)
    photos, annotations = tmp_path / "photos", tmp_path / "annotations.json"
    image, about = datasets.CocoDetection(photos, annotations)[0]
    assert image.size == (9, 7)
    assert about[0]["bbox"] == [0, 0, 1, 1]
    assert datasets.CocoCaptions(photos, annotations)[0][1] == ["noise"]
    content = json.loads(annotations.read_text())
    content["annotations"].append({"image_id": 8, "caption": "nothing"})
    annotations.write_text(json.dumps(content))
    with pytest.raises(ValueError, match="image 8"):
        datasets.CocoDetection(photos, annotations)


def test_image_backend():
    flow.utils.vision.set_image_backend("PIL")
    assert flow.utils.vision.get_image_backend() == "PIL"
    with pytest.raises(ValueError, match="only one"):
        flow.utils.vision.set_image_backend("accimage")
