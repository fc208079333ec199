"""Features named by the v0.6.0 release notes: flowvision's transforms, augmentation and data."""

import pickle
import random
import textwrap
import warnings
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import flowvision
import oneflow as flow
from flowvision import data, transforms
from tests.flowvision.zoo import timm_module  # lets torchvision be imported, too

RNG = np.random.default_rng(0)
PHOTO = Image.fromarray(RNG.integers(0, 256, (20, 24, 3), dtype=np.uint8))


@pytest.fixture
def torchvision():
    return pytest.importorskip("torchvision")


def test_s001_88_center_crop(torchvision):
    cropped = transforms.CenterCrop(10)(PHOTO)
    assert cropped.size == (10, 10)
    want = torchvision.transforms.CenterCrop(10)(PHOTO)
    np.testing.assert_array_equal(np.asarray(cropped), np.asarray(want))


@pytest.mark.parametrize(
    ("option", "function", "value"),
    [
        ("brightness", "adjust_brightness", 1.5),
        ("contrast", "adjust_contrast", 0.5),
        ("saturation", "adjust_saturation", 1.7),
        ("hue", "adjust_hue", 0.3),
    ],
)
def test_s001_89_color_jitter(torchvision, option, function, value):
    """With a range of one value it is torchvision's change by that value."""
    got = transforms.ColorJitter(**{option: (value, value)})(PHOTO)
    want = getattr(torchvision.transforms.functional, function)(PHOTO, value)
    np.testing.assert_array_equal(np.asarray(got), np.asarray(want))
    assert np.asarray(got).tobytes() != np.asarray(PHOTO).tobytes()


def test_s001_89_color_jitter_is_random():
    results = {transforms.ColorJitter(0.5, 0.5, 0.5, 0.1)(PHOTO).tobytes() for _ in range(3)}
    assert len(results) == 3
    assert transforms.ColorJitter(0, 0, 0, 0)(PHOTO) is PHOTO


NAMES = """Compose ToTensor PILToTensor ConvertImageDtype ToPILImage Normalize Resize Scale Pad
    Lambda RandomTransforms RandomApply RandomOrder RandomChoice RandomCrop RandomHorizontalFlip
    RandomVerticalFlip RandomResizedCrop RandomSizedCrop FiveCrop TenCrop InterpolationMode
    ToNumpy"""


def test_s001_90_names():
    assert [name for name in NAMES.split() if not hasattr(transforms, name)] == []


# Transforms of the photo by either library; random ones with ranges that leave no choice.
DETERMINISTIC = {
    "Compose": lambda t, tensor: t.Compose([t.CenterCrop(8), t.Pad(3)])(PHOTO),
    "ToTensor": lambda t, tensor: t.ToTensor()(PHOTO),
    "PILToTensor": lambda t, tensor: t.PILToTensor()(PHOTO),
    "ConvertImageDtype": lambda t, tensor: t.Compose(
        [t.ToTensor(), t.ConvertImageDtype(tensor.dtype)]
    )(PHOTO),
    "ToPILImage": lambda t, tensor: t.ToPILImage()(tensor),
    "Normalize": lambda t, tensor: t.Normalize((0.5, 0.4, 0.3), (0.2, 0.3, 0.4))(
        t.ToTensor()(PHOTO)
    ),
    "Resize": lambda t, tensor: t.Resize(12)(PHOTO),
    "InterpolationMode": lambda t, tensor: t.Resize(31, t.InterpolationMode.NEAREST)(PHOTO),
    "Pad": lambda t, tensor: t.Pad((1, 2))(PHOTO),
    "Lambda": lambda t, tensor: t.Lambda(lambda image: image.rotate(90))(PHOTO),
    "RandomApply": lambda t, tensor: t.RandomApply([t.CenterCrop(8)], p=1.0)(PHOTO),
    "RandomOrder": lambda t, tensor: t.RandomOrder([t.CenterCrop(8)])(PHOTO),
    "RandomChoice": lambda t, tensor: t.RandomChoice([t.CenterCrop(8)])(PHOTO),
    "RandomHorizontalFlip": lambda t, tensor: t.RandomHorizontalFlip(1.0)(PHOTO),
    "RandomVerticalFlip": lambda t, tensor: t.RandomVerticalFlip(1.0)(PHOTO),
    "RandomCrop": lambda t, tensor: t.RandomCrop((20, 24))(PHOTO),
    "RandomResizedCrop": lambda t, tensor: t.RandomResizedCrop(
        8, scale=(1.0, 1.0), ratio=(1.2, 1.2)
    )(PHOTO),
    "FiveCrop": lambda t, tensor: t.FiveCrop(8)(PHOTO),
    "TenCrop": lambda t, tensor: t.TenCrop(8)(PHOTO),
}


@pytest.mark.parametrize("name", DETERMINISTIC)
def test_s001_90_equals_torchvision(torchvision, name):
    compute = DETERMINISTIC[name]
    got, want = (
        compute(lib.transforms, lib.transforms.PILToTensor()(PHOTO))
        for lib in (flowvision, torchvision)
    )
    got, want = (target if isinstance(target, tuple) else (target,) for target in (got, want))
    for one, other in zip(got, want, strict=True):
        assert isinstance(one, Image.Image) == isinstance(other, Image.Image)
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), rtol=1e-6, atol=1e-6)


def test_s001_90_random_choices():
    flips = [transforms.RandomHorizontalFlip(1.0), transforms.RandomVerticalFlip(1.0)]
    one, other = ({flip(PHOTO).tobytes()} for flip in flips)
    both = {flips[1](flips[0](PHOTO)).tobytes()}

    def results(transform):
        return {transform(PHOTO).tobytes() for _ in range(30)}

    assert results(transforms.RandomChoice(flips)) == one | other
    assert results(transforms.RandomOrder(flips)) == both
    order = [transforms.Pad((0, 1)), transforms.CenterCrop(20)]
    assert len(results(transforms.RandomOrder(order))) == 2
    assert results(transforms.RandomApply(flips)) == both | {PHOTO.tobytes()}
    assert issubclass(transforms.RandomChoice, transforms.RandomTransforms)


def test_s001_90_random_crops():
    pixels = np.asarray(PHOTO)
    windows = np.lib.stride_tricks.sliding_window_view(pixels, (8, 8), (0, 1))
    places = {window.transpose(1, 2, 0).tobytes() for row in windows for window in row}
    crops = {transforms.RandomCrop(8)(PHOTO).tobytes() for _ in range(10)}
    assert len(crops) > 5
    assert crops <= places
    sizes = {transforms.RandomResizedCrop(8)(PHOTO).tobytes() for _ in range(5)}
    assert len(sizes) > 2


def test_s001_90_of_earlier_versions(torchvision):
    """torchvision has these no longer, or never had them."""
    np.testing.assert_array_equal(transforms.ToNumpy()(PHOTO), np.asarray(PHOTO).transpose(2, 0, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they name those that took their place
        scale = transforms.Scale(12)
        crop = transforms.RandomSizedCrop(8, scale=(1.0, 1.0), ratio=(1.2, 1.2))
    for transform, twin in (
        (scale, torchvision.transforms.Resize(12)),
        (crop, torchvision.transforms.Resize((8, 8))),
    ):
        np.testing.assert_array_equal(np.asarray(transform(PHOTO)), np.asarray(twin(PHOTO)))


SCRIPT = """
    import flowvision as torchvision

    transform = torchvision.transforms.Compose([
        torchvision.transforms.Resize((32, 32)),
        torchvision.transforms.RandomHorizontalFlip(),
        torchvision.transforms.ToTensor(),
        torchvision.transforms.Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5)),
    ])
    cifar = torchvision.datasets.CIFAR10(folder, train=True, transform=transform)
    photos = torchvision.datasets.ImageFolder(folder / "photos", transform)
    model = torchvision.models.resnet50(num_classes=len(cifar.classes))
    model.eval()
    batch = next(iter(loader([cifar[0][0], photos[0][0]], batch_size=2)))
    found = model(batch).argmax(1).tolist()
"""


def test_s001_91_direct_replacement(tmp_path):
    folder = tmp_path / "cifar-10-batches-py"
    folder.mkdir()
    batch = {"data": RNG.integers(0, 256, (2, 3072), dtype=np.uint8), "labels": [3, 1]}
    for name in [f"data_batch_{n}" for n in range(1, 6)]:
        (folder / name).write_bytes(pickle.dumps(batch, protocol=2))
    names = {"label_names": [f"class {n}" for n in range(10)]}
    (folder / "batches.meta").write_bytes(pickle.dumps(names, protocol=2))
    (tmp_path / "photos" / "noise").mkdir(parents=True)
    PHOTO.save(tmp_path / "photos" / "noise" / "1.png")
    found = {"folder": tmp_path, "loader": flow.utils.data.DataLoader}
    exec(textwrap.dedent(SCRIPT), found)
    assert len(found["cifar"]) == 10
    assert len(found["found"]) == 2
    # The first image is the batch's first row, normalized, perhaps flipped.
    image = batch["data"][0].reshape(3, 32, 32) / 255 * 2 - 1
    seen = found["cifar"][0][0].numpy()
    flipped = np.allclose(seen[:, 0, 0], image[:, 0, -1], atol=1e-6)
    np.testing.assert_allclose(seen, image[:, :, ::-1] if flipped else image, atol=1e-6)
    assert [label for _, label in found["cifar"]][:2] == [3, 1]
    assert found["photos"][0][1] == 0
    assert all(0 <= index < 10 for index in found["found"])
    assert flowvision.get_image_backend() == "PIL"


def shares_of(lam, smoothing=0.1):
    """The targets for labels 1, 2, 3, 4 of 10, and those of the batch in reverse, by `lam`."""
    low = smoothing / 10
    own = np.full((4, 10), low)
    own[np.arange(4), [1, 2, 3, 4]] = 1 - smoothing + low
    return own * lam + own[::-1] * (1 - lam)


def test_s001_92_mixup():
    x, target = flow.rand(4, 3, 8, 8), flow.tensor([1, 2, 3, 4])
    own, other = x.numpy(), x.flip(0).numpy()
    found = set()
    for _ in range(3):
        mixed, shares = data.Mixup(mixup_alpha=1.0, num_classes=10)(x, target)
        lam = ((mixed.numpy() - other) * (own - other)).sum() / ((own - other) ** 2).sum()
        found.add(round(float(lam), 4))
        np.testing.assert_allclose(
            mixed.numpy(), own * lam + other * (1 - lam), rtol=1e-4, atol=1e-5
        )
        np.testing.assert_allclose(shares.numpy(), shares_of(lam), rtol=1e-3, atol=1e-4)
    assert len(found) == 3


def test_s001_93_cutmix():
    x, target = flow.rand(4, 3, 16, 16), flow.tensor([1, 2, 3, 4])
    cut = data.Mixup(mixup_alpha=0.0, cutmix_alpha=1.0, num_classes=10)
    taken = []
    for _ in range(5):
        mixed, shares = (tensor.numpy() for tensor in cut(x, target))
        own, other = mixed == x.numpy(), mixed == x.flip(0).numpy()
        assert (own | other).all()
        taken.append(other.mean())
        np.testing.assert_allclose(shares, shares_of(own.mean()), rtol=1e-3, atol=1e-4)
    assert max(taken) > 0
    assert data.rand_bbox((8, 8), 0.5)[1] <= 8


def test_s001_94_random_erasing():
    erased = data.RandomErasing(1.0, mode="const", device="cpu")(flow.ones(3, 32, 32)).numpy()
    rows, columns = (np.flatnonzero((erased == 0).all(0).any(axis)) for axis in (1, 0))
    assert rows.size > 0
    box = erased[:, rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    assert (box == 0).all()
    assert erased.sum() == erased.size - box.size


@pytest.mark.parametrize(
    ("name", "config"),
    [
        pytest.param("auto_augment_transform", "original", id="s001_95"),
        pytest.param("rand_augment_transform", "rand-m9-n3-mstd0.5", id="s001_96"),
        pytest.param("augment_and_mix_transform", "augmix-m5-w4-d2", id="s001_97"),
    ],
)
def test_automatic_augmentation(name, config):
    """With equal random numbers the images are timm's."""
    images = []
    for library in (data, timm_module("data.auto_augment")):
        transform = getattr(library, name)(config, {})
        random.seed(0)
        np.random.seed(0)
        images.append([transform(PHOTO) for _ in range(10)])
    for mine, theirs in zip(*images, strict=True):
        assert mine.size == PHOTO.size
        np.testing.assert_array_equal(np.asarray(mine), np.asarray(theirs))
    assert len({image.tobytes() for image in images[0]}) > 1


def test_s001_111_address():
    page = Path(flowvision.__file__).with_name("README.md").read_text()
    assert "https://github.com/Oneflow-Inc/vision" in page
