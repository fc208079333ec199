"""Features named by the v0.6.0 release notes: flowvision's transforms, augmentation and data."""

import pickle
import textwrap
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import flowvision
import oneflow as flow
from flowvision import data, transforms
from tests.flowvision import zoo  # noqa: F401 - lets torchvision be imported

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


def test_s001_89_color_jitter():
    jittered = transforms.ColorJitter(0.5, 0.5, 0.5, 0.1)(PHOTO)
    assert (jittered.size, jittered.mode) == (PHOTO.size, PHOTO.mode)
    assert np.asarray(jittered).tobytes() != np.asarray(PHOTO).tobytes()
    assert transforms.ColorJitter(0, 0, 0, 0)(PHOTO) is PHOTO


NAMES = """Compose ToTensor PILToTensor ConvertImageDtype ToPILImage Normalize Resize Scale Pad
    Lambda RandomTransforms RandomApply RandomOrder RandomChoice RandomCrop RandomHorizontalFlip
    RandomVerticalFlip RandomResizedCrop RandomSizedCrop FiveCrop TenCrop InterpolationMode
    ToNumpy"""


def test_s001_90_other_transforms(torchvision):
    assert [name for name in NAMES.split() if not hasattr(transforms, name)] == []
    for name, arguments in (
        ("ToTensor", ()),
        ("PILToTensor", ()),
        ("Resize", (12,)),
        ("Pad", ((1, 2),)),
        ("FiveCrop", (8,)),
        ("TenCrop", (8,)),
        ("RandomHorizontalFlip", (1.0,)),
        ("RandomVerticalFlip", (1.0,)),
        ("RandomCrop", ((20, 24),)),
    ):
        got = getattr(transforms, name)(*arguments)(PHOTO)
        want = getattr(torchvision.transforms, name)(*arguments)(PHOTO)
        for one, other in zip(
            got if isinstance(got, tuple) else [got],
            want if isinstance(want, tuple) else [want],
            strict=True,
        ):
            np.testing.assert_array_equal(np.asarray(one), np.asarray(other))


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
    assert all(0 <= each < 10 for each in found["found"])
    assert flowvision.get_image_backend() == "PIL"


def test_s001_92_mixup():
    x, target = flow.rand(4, 3, 8, 8), flow.tensor([1, 2, 3, 4])
    mixed, shares = data.Mixup(mixup_alpha=1.0, num_classes=10)(x, target)
    assert shares.shape == (4, 10)
    np.testing.assert_allclose(shares.numpy().sum(1), np.ones(4), rtol=1e-6)
    both = np.stack([x.numpy(), x.flip(0).numpy()])
    assert (mixed.numpy() >= both.min(0) - 1e-6).all()
    assert (mixed.numpy() <= both.max(0) + 1e-6).all()


def test_s001_93_cutmix():
    x, target = flow.rand(4, 3, 16, 16), flow.tensor([1, 2, 3, 4])
    cut = data.Mixup(mixup_alpha=0.0, cutmix_alpha=1.0, num_classes=10)
    taken = []
    for _ in range(5):
        mixed = cut(x, target)[0].numpy()
        own, other = mixed == x.numpy(), mixed == x.flip(0).numpy()
        assert (own | other).all()
        taken.append(other.mean())
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
    "transform",
    [
        pytest.param(lambda: data.auto_augment_transform("original", {}), id="s001_95"),
        pytest.param(lambda: data.rand_augment_transform("rand-m9-n3-mstd0.5", {}), id="s001_96"),
        pytest.param(lambda: data.augment_and_mix_transform("augmix-m5-w4-d2", {}), id="s001_97"),
    ],
)
def test_automatic_augmentation(transform):
    images = [transform()(PHOTO) for _ in range(10)]
    assert {image.size for image in images} == {PHOTO.size}
    assert len({image.tobytes() for image in images}) > 1
    for kind in (data.AutoAugment, data.RandAugment, data.AugMixAugment):
        assert callable(kind)


def test_s001_111_address():
    page = Path(flowvision.__file__).with_name("README.md").read_text()
    assert "https://github.com/Oneflow-Inc/vision" in page
