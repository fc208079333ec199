"""Augmentation against timm's: with the same random numbers, the same images."""

import random
import types

import numpy as np
import pytest
import torch
from PIL import Image, ImageOps

import oneflow as flow
from flowvision import data, transforms
from flowvision.data import auto_augment, mixup, transforms_factory
from tests.flowvision import zoo  # noqa: F401 - lets timm be imported

timm_data = pytest.importorskip("timm.data")

RNG = np.random.default_rng(5)
PHOTO = Image.fromarray(RNG.integers(0, 256, (24, 32, 3), dtype=np.uint8)).resize((48, 40))


@pytest.fixture(autouse=True)
def _posterize_to_nothing(monkeypatch):
    """Pillow refuses 0 bits since version 12, and with it timm's policies."""

    def posterize(image, bits):
        levels = [level & (0xFF00 >> max(bits, 0)) for level in range(256)]
        return image.point(levels * len(image.getbands()))

    patched = types.SimpleNamespace(**{**vars(ImageOps), "posterize": posterize})
    monkeypatch.setattr(timm_data.auto_augment, "ImageOps", patched)


def seeded(function, seed):
    """The result of a function that begins with the same random numbers as another one."""
    random.seed(seed)
    np.random.seed(seed)
    return function()


CONFIGS = [
    ("auto_augment_transform", "v0", {}),
    ("auto_augment_transform", "v0r", {}),
    ("auto_augment_transform", "original-mstd0.5", {}),
    ("auto_augment_transform", "originalr", {"img_mean": (1, 2, 3)}),
    ("auto_augment_transform", "3a", {}),
    ("rand_augment_transform", "rand-m9-n3-mstd0.5", {}),
    ("rand_augment_transform", "rand-m7-inc1-p0.9", {"translate_pct": 0.2}),
    ("rand_augment_transform", "rand-mstd101-n4", {}),
    ("rand_augment_transform", "rand-m20-mmax15-inc1-mstd2", {}),
    ("rand_augment_transform", "rand-tweights-n2", {"interpolation": Image.Resampling.NEAREST}),
    ("augment_and_mix_transform", "augmix-m5-w4-d2", {}),
    ("augment_and_mix_transform", "augmix-m3-mstd1-a0.5", {}),
    ("augment_and_mix_transform", "augmix-b1", {}),
]


@pytest.mark.parametrize(
    ("factory", "config", "hparams"), CONFIGS, ids=[config for _, config, _ in CONFIGS]
)
def test_automatic_augmentation(factory, config, hparams):
    ours = getattr(auto_augment, factory)(config, dict(hparams))
    theirs = getattr(timm_data.auto_augment, factory)(config, dict(hparams))
    changed = 0
    for seed in range(25):
        got = np.asarray(seeded(lambda: ours(PHOTO), seed)).astype(int)
        want = np.asarray(seeded(lambda: theirs(PHOTO), seed)).astype(int)
        # Shares of blended chains are computed in another order.
        assert np.abs(got - want).max() <= ("-b1" in config)
        changed += (got != np.asarray(PHOTO)).any()
    assert changed >= 5


@pytest.mark.parametrize("mode", ["RGB", "L"])
@pytest.mark.parametrize("name", auto_augment.NAME_TO_OP)
def test_every_change(name, mode):
    image = PHOTO.convert(mode)
    hparams = {"translate_const": 9, "img_mean": (9, 8, 7) if mode == "RGB" else 9}
    for level in (0, 3.5, 10):
        ours = auto_augment.AugmentOp(name, 1.0, level, hparams)
        theirs = timm_data.auto_augment.AugmentOp(name, 1.0, level, hparams)
        got, want = seeded(lambda f=ours: f(image), 1), seeded(lambda f=theirs: f(image), 1)
        np.testing.assert_array_equal(np.asarray(got), np.asarray(want))


@pytest.mark.parametrize(
    "make",
    [
        lambda: data.auto_augment_transform("v9"),
        lambda: data.auto_augment_transform("v0-m3"),
        lambda: data.rand_augment_transform("random-m3"),
        lambda: data.rand_augment_transform("rand-m"),
        lambda: data.rand_augment_transform("rand-tmany"),
        lambda: data.augment_and_mix_transform("augmix-n3"),
        lambda: auto_augment.AugmentOp("Sharpen"),
        lambda: data.Mixup(mixup_alpha=0.0),
        lambda: data.Mixup(mode="image"),
        lambda: data.Mixup()(flow.zeros(3, 3, 8, 8), flow.tensor([1, 2, 3])),
        lambda: data.rand_bbox_minmax((8, 8), (0.1,)),
        lambda: data.RandomErasing(mode="black"),
        lambda: data.create_transform(224, separate=True),
    ],
)
def test_wrong_values(make):
    with pytest.raises(ValueError, match=r"\w"):
        make()


MIXES = [
    {"mixup_alpha": 0.8},
    {"mixup_alpha": 0.0, "cutmix_alpha": 1.0},
    {"mixup_alpha": 0.4, "cutmix_alpha": 1.0, "switch_prob": 0.4, "prob": 0.7},
    {"mixup_alpha": 0.0, "cutmix_minmax": (0.2, 0.8), "label_smoothing": 0.0},
    {"mixup_alpha": 0.0, "cutmix_alpha": 1.0, "correct_lam": False},
]


@pytest.mark.parametrize("mode", ["batch", "pair", "elem"])
@pytest.mark.parametrize("options", MIXES)
def test_mixup(options, mode):
    images = RNG.random((6, 3, 16, 20)).astype(np.float32)
    labels = np.array([0, 3, 9, 3, 1, 2])
    ours = data.Mixup(**options, mode=mode, num_classes=10)
    theirs = timm_data.Mixup(**options, mode=mode, num_classes=10)
    for seed in range(6):
        given = flow.from_numpy(images)
        x, target = seeded(lambda given=given: ours(given, flow.from_numpy(labels)), seed)
        want, want_target = seeded(
            lambda: theirs(torch.from_numpy(images.copy()), torch.from_numpy(labels)), seed
        )
        np.testing.assert_allclose(x.numpy(), want.numpy(), atol=1e-6)
        np.testing.assert_allclose(target.numpy(), want_target.numpy(), atol=1e-6)
        np.testing.assert_allclose(target.numpy().sum(1), 1, atol=1e-5)
        np.testing.assert_array_equal(given.numpy(), images)
    ours.mixup_enabled = False
    x, _ = ours(flow.from_numpy(images), flow.from_numpy(labels))
    np.testing.assert_array_equal(x.numpy(), images)


def test_boxes_of_cutmix():
    for name, arguments in (
        ("rand_bbox", ((3, 20, 30), 0.4, 0.1)),
        ("rand_bbox", ((3, 20, 30), 0.4, 0.0, 5)),
        ("rand_bbox_minmax", ((20, 30), (0.2, 0.7))),
        ("cutmix_bbox_and_lam", ((20, 30), 0.3, None, True, 4)),
    ):
        got = seeded(lambda n=name, a=arguments: getattr(mixup, n)(*a), 2)
        want = seeded(lambda n=name, a=arguments: getattr(timm_data.mixup, n)(*a), 2)
        for one, other in zip(got, want, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("options", [{}, {"max_count": 4, "min_area": 0.1}, {"num_splits": 2}])
def test_erasing(options):
    images = np.ones((6, 3, 20, 30), np.float32)
    ours = data.RandomErasing(0.7, **options)
    theirs = timm_data.random_erasing.RandomErasing(0.7, **options, device="cpu")
    for seed in range(10):
        got = seeded(lambda: ours(flow.from_numpy(images)), seed)
        want = seeded(lambda: theirs(torch.from_numpy(images.copy())), seed)
        np.testing.assert_array_equal(got.numpy(), want.numpy())
        got = seeded(lambda: ours(flow.from_numpy(images[0])), seed)
        want = seeded(lambda: theirs(torch.from_numpy(images[0].copy())), seed)
        if not options.get("num_splits"):
            np.testing.assert_array_equal(got.numpy(), want.numpy())


def test_erasing_with_noise():
    image = flow.zeros(3, 60, 60)
    noise = data.RandomErasing(1.0, 0.3, 0.4, mode="pixel")(image).numpy()
    drawn = noise[noise != 0]
    assert 0.3 * noise.size <= drawn.size <= 0.4 * noise.size
    assert abs(drawn.mean()) < 0.1
    assert abs(drawn.std() - 1) < 0.1
    color = data.RandomErasing(1.0, 0.3, 0.4, mode="rand")(image).numpy()
    assert [len(np.unique(channel)) for channel in color] == [2, 2, 2]
    several = data.RandomErasing(1.0, 0.3, 0.4, mode="rand", min_count=3)(image).numpy()
    assert len(np.unique(several[0])) >= 3


def test_pipelines():
    photo = PHOTO.resize((64, 50))
    for options in ({}, {"crop_pct": 0.6}, {"interpolation": "bicubic"}):
        got = data.create_transform((3, 32, 32), **options)(photo)
        want = timm_data.create_transform((3, 32, 32), **options)(photo)
        np.testing.assert_allclose(got.numpy(), want.numpy(), atol=1e-6)
    got = data.create_transform((3, 32, 40), is_training=True, no_aug=True)(photo)
    want = timm_data.create_transform((3, 32, 40), is_training=True, no_aug=True)(photo)
    np.testing.assert_allclose(got.numpy(), want.numpy(), atol=1e-6)
    train = data.create_transform(
        32, True, vflip=0.5, auto_augment="rand-m9", interpolation="random", re_prob=0.5
    )
    names = [type(transform).__name__ for transform in train.transforms]
    assert names == [
        "RandomResizedCropAndInterpolation",
        "RandomHorizontalFlip",
        "RandomVerticalFlip",
        "RandAugment",
        "ToTensor",
        "Normalize",
        "RandomErasing",
    ]
    assert {train(photo).shape for _ in range(5)} == {(3, 32, 32)}
    for augmentation in ("augmix-m3", "original", None):
        parts = data.create_transform(32, True, auto_augment=augmentation, separate=True)
        assert transforms.Compose(parts)(photo).shape == (3, 32, 32)
    assert data.create_transform(32, use_prefetcher=True)(photo).dtype == np.uint8
    with pytest.raises(NotImplementedError, match="TensorFlow"):
        data.create_transform(32, tf_preprocessing=True)
    assert transforms_factory.transforms_noaug_train(16, "random")(photo).shape == (3, 16, 16)


def test_constants():
    for name in dir(data.constants):
        if name.isupper():
            assert getattr(data.constants, name) == getattr(timm_data.constants, name)
