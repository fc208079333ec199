"""Transforms of images against torchvision's."""

import numpy as np
import pytest
import torch
from PIL import Image

import oneflow as flow
from flowvision import transforms
from flowvision.transforms import functional as F
from tests.flowvision import zoo  # noqa: F401 - lets torchvision be imported

torchvision = pytest.importorskip("torchvision")
TF = torchvision.transforms.functional

RNG = np.random.default_rng(3)
PHOTO = RNG.integers(0, 256, (3, 21, 30), dtype=np.uint8)
# Smooth, with flat areas, as photos have them: half of it one color.
PHOTO[:, :, :12] = np.array([20, 200, 90])[:, None, None]


def pillow(mode="RGB"):
    return Image.fromarray(PHOTO.transpose(1, 2, 0)).convert(mode)


# Each image as the pair of what flowvision and what torchvision gets.
def pair_of(array):
    return flow.from_numpy(array.copy()), torch.from_numpy(array.copy())


IMAGES = {
    "pillow": lambda: (pillow(), pillow()),
    "pillow-L": lambda: (pillow("L"), pillow("L")),
    "bytes": lambda: pair_of(PHOTO),
    "bytes-gray": lambda: pair_of(PHOTO[:1]),
    "bytes-batch": lambda: pair_of(np.stack([PHOTO, PHOTO[::-1]])),
    "float": lambda: pair_of((PHOTO / 255).astype(np.float32)),
}
TENSORS = ("bytes", "bytes-gray", "bytes-batch", "float")
CORNERS = [[0, 0], [29, 0], [29, 20], [0, 20]]
MOVED = [[3, 2], [25, 0], [28, 18], [1, 16]]

# Function, arguments, and images that torchvision's does not take or leaves as they are.
CASES = [
    ("adjust_brightness", (1.4,), {}),
    ("adjust_brightness", (0.3,), {}),
    ("adjust_brightness", (5,), {}),
    ("adjust_contrast", (0.5,), {}),
    ("adjust_contrast", (1.7,), {}),
    ("adjust_contrast", (3,), {}),
    ("adjust_saturation", (0.2,), {}),
    ("adjust_saturation", (2.5,), {}),
    ("adjust_saturation", (4,), {}),
    ("adjust_hue", (0.3,), {}),
    ("adjust_hue", (-0.5,), {}),
    ("adjust_hue", (0.0,), {}),
    ("adjust_gamma", (2.2, 1.1), {}),
    ("adjust_gamma", (2, 3), {}),
    ("adjust_sharpness", (0.0,), {}),
    ("adjust_sharpness", (2.0,), {}),
    ("adjust_sharpness", (7,), {}),
    ("rgb_to_grayscale", (), {}),
    ("rgb_to_grayscale", (3,), {"lacks": ("bytes-gray",)}),
    ("invert", (), {}),
    ("posterize", (3,), {"lacks": ("float",)}),
    ("posterize", (0,), {"lacks": ("float", "pillow", "pillow-L")}),
    ("solarize", (128,), {"lacks": ("float",)}),
    ("solarize", (0.4,), {"lacks": ("bytes", "bytes-gray", "bytes-batch", "pillow", "pillow-L")}),
    ("autocontrast", (), {}),
    ("equalize", (), {"lacks": ("float",)}),
    ("gaussian_blur", (5,), {}),
    ("gaussian_blur", ([3, 7], [0.4, 2.0]), {}),
    ("affine", (20.0, [3, -2], 1.2, [5.0, -8.0]), {}),
    ("affine", (0.0, [0, 0], 1.0, [0.0, 0.0]), {}),
    ("affine", (-70.0, [0, 4], 0.7, 10.0, "bilinear", 100), {}),
    ("affine", (10.0, [0, 0], 1.0, 0.0, "nearest", 7, [3, 4]), {}),
    ("rotate", (30.0,), {}),
    ("rotate", (80.0, "nearest", True), {}),
    ("rotate", (-130.0, "nearest", True, None, 60), {}),
    ("rotate", (-33.0, "bilinear", True, None, 60), {}),
    ("rotate", (15.0, "bilinear", False, [4, 9]), {}),
    ("perspective", (CORNERS, MOVED), {}),
    ("perspective", (CORNERS, MOVED, "nearest", 50), {}),
    ("hflip", (), {}),
    ("vflip", (), {}),
    ("crop", (2, 3, 10, 11), {}),
    ("crop", (-2, 25, 10, 11), {}),
    ("center_crop", ([8, 13],), {}),
    ("center_crop", ([24, 35],), {}),
    ("center_crop", ([20, 33],), {}),
    ("pad", ([2],), {}),
    ("pad", ([2, 3], 9), {}),
    ("pad", ([1, 2, 3, 4], 0, "edge"), {}),
    ("pad", ([1, 2, 3, 4], 0, "reflect"), {}),
    ("pad", ([1, 2, 3, 4], 0, "symmetric"), {}),
    ("pad", ([-2, 3, -1, 0], 5), {}),
    ("pad", ([-2, 3, -1, 0], 0, "edge"), {}),
    ("resize", ([10, 17],), {}),
    ("resize", (12,), {}),
    ("resize", ([50],), {}),
    ("resize", (18, "bilinear", 20), {}),
    ("resize", ([10, 41], "nearest"), {}),
    ("resize", ([33, 17], "nearest-exact"), {"lacks": ("pillow", "pillow-L")}),
    ("resize", ([10, 17], "bicubic"), {}),
    ("resize", ([40, 50], "bicubic", None, False), {"lacks": ("pillow", "pillow-L")}),
    ("resize", ([10, 17], "lanczos"), {"lacks": TENSORS}),
    ("resize", ([10, 17], "bilinear", None, False), {"lacks": ("pillow", "pillow-L")}),
    ("resized_crop", (1, 2, 15, 16, [8, 9]), {}),
    ("five_crop", ([8, 10],), {}),
    ("ten_crop", ([8, 10], True), {}),
    ("get_dimensions", (), {}),
    ("get_image_size", (), {}),
    ("get_image_num_channels", (), {}),
]


def torch_arguments(name, arguments):
    """The same arguments with torchvision's own interpolation modes."""
    modes = {mode.value: mode for mode in torchvision.transforms.InterpolationMode}
    return [
        modes.get(argument, argument) if isinstance(argument, str) else argument
        for argument in arguments
    ]


def assert_same(got, want, name):
    if isinstance(want, tuple):
        assert len(got) == len(want)
        for one, other in zip(got, want, strict=True):
            assert_same(one, other, name)
        return
    if isinstance(want, Image.Image):
        assert isinstance(got, Image.Image)
        assert (got.mode, got.size) == (want.mode, want.size)
        np.testing.assert_array_equal(np.asarray(got), np.asarray(want))
        return
    if not isinstance(want, torch.Tensor):
        assert got == want
        return
    assert tuple(got.shape) == tuple(want.shape)
    assert str(got.dtype).split(".")[-1] == str(want.dtype).split(".")[-1]
    difference = np.abs(got.numpy().astype(np.float64) - want.numpy().astype(np.float64))
    if want.dtype == torch.uint8:
        # A sum that lies at a half is rounded either way.
        assert difference.max(initial=0) <= 1
        assert (difference > 0).mean() <= 5e-3
    else:
        assert difference.max(initial=0) <= 5e-6 * max(1.0, want.numpy().max())


@pytest.mark.one_in(2)
@pytest.mark.parametrize("kind", IMAGES)
@pytest.mark.parametrize(
    ("name", "arguments", "options"), CASES, ids=[f"{n}{i}" for i, (n, *_) in enumerate(CASES)]
)
def test_functions(name, arguments, options, kind):
    if kind in options.get("lacks", ()):
        pytest.skip("torchvision has no such thing for this image")
    image, other = IMAGES[kind]()
    got = getattr(F, name)(image, *arguments)
    assert_same(got, getattr(TF, name)(other, *torch_arguments(name, arguments)), name)


# --- conversions

MODES = ("RGB", "L", "1", "P", "RGBA", "LA", "CMYK", "YCbCr", "HSV", "I", "F", "I;16")


def of_mode(mode):
    if mode == "I;16":
        return Image.fromarray(PHOTO[0].astype(np.uint16) * 200)
    return pillow("L").convert(mode) if mode in ("I", "F") else pillow(mode)


ELEMENTS = ("bool", "uint8", "int16", "int32", "int64", "float32", "float64")


@pytest.mark.parametrize("dtype", ELEMENTS)
def test_arrays_of_every_dtype_become_tensors(dtype):
    array = (PHOTO.transpose(1, 2, 0) > 100).astype(dtype) * np.ones((), dtype)
    assert_same(F.to_tensor(array), TF.to_tensor(array), dtype)


@pytest.mark.parametrize("mode", MODES)
def test_images_of_every_mode(mode):
    """Palettes, four colors, 16 bits: what becomes of them is what torchvision makes of them."""
    image = of_mode(mode)
    assert_same(F.pil_to_tensor(image), TF.pil_to_tensor(image), mode)
    assert_same(F.to_tensor(image), TF.to_tensor(image), mode)
    assert_same(F.hflip(image), TF.hflip(image), mode)
    assert_same(F.center_crop(image, [40, 10]), TF.center_crop(image, [40, 10]), mode)
    assert_same(F.pad(image, [1, 2], 3), TF.pad(image, [1, 2], 3), mode)
    if mode not in ("YCbCr", "HSV", "CMYK", "I;16"):  # torchvision turns these into others
        edge = [1, 2], 3, "edge"
        assert_same(F.pad(image, *edge), TF.pad(image, *edge), mode)
    assert_same(F.resize(image, [9, 10]), TF.resize(image, [9, 10]), mode)
    assert_same(F.rotate(image, 20.0), TF.rotate(image, 20.0), mode)


@pytest.mark.parametrize(
    ("array", "mode"),
    [
        (PHOTO, None),
        (PHOTO, "HSV"),
        (PHOTO[:1], None),
        (PHOTO[0], None),
        (PHOTO[:2], None),
        (np.concatenate([PHOTO, PHOTO[:1]]), None),
        (np.concatenate([PHOTO, PHOTO[:1]]), "CMYK"),
        ((PHOTO / 255).astype(np.float32), None),
        (PHOTO[:1].astype(np.int32) * 1000, None),
        (PHOTO[:1].astype(np.int16), None),
        (PHOTO[:1].astype(np.float32), "F"),
    ],
)
def test_tensors_as_pillow_images(array, mode):
    image, other = pair_of(array)
    assert_same(F.to_pil_image(image, mode), TF.to_pil_image(other, mode), mode)
    if array.ndim == 3:
        array = array.transpose(1, 2, 0)
    assert_same(F.to_pil_image(array, mode), TF.to_pil_image(array, mode), mode)


@pytest.mark.parametrize(
    ("array", "mode", "error"),
    [
        (PHOTO, "L", ValueError),
        (PHOTO[0].astype(np.int64), None, TypeError),
        (np.zeros((5, 3, 3), np.uint8), None, ValueError),
        (np.zeros((1, 1, 3, 3), np.uint8), None, ValueError),
        (PHOTO[0].astype(np.float32), "RGB", ValueError),
    ],
)
def test_tensors_that_are_no_images(array, mode, error):
    with pytest.raises(error):
        F.to_pil_image(flow.from_numpy(array), mode)


DTYPES = ("uint8", "int8", "int16", "int32", "int64", "float32", "float64")


@pytest.mark.parametrize("after", DTYPES)
@pytest.mark.parametrize("before", DTYPES)
def test_dtypes_of_images(before, after):
    if before.startswith("float"):
        array = RNG.random((3, 4, 5)).astype(before)
    else:
        array = RNG.integers(0, np.iinfo(before).max, (3, 4, 5), dtype=before)
    image, other = pair_of(array)
    try:
        want = TF.convert_image_dtype(other, getattr(torch, after))
    except RuntimeError:
        with pytest.raises(RuntimeError, match="safely"):
            F.convert_image_dtype(image, getattr(flow, after))
        return
    assert_same(F.convert_image_dtype(image, getattr(flow, after)), want, after)


# --- transforms as objects

# One of each that leaves nothing to chance.
CERTAIN = [
    ("CenterCrop", (10,), {}),
    ("Resize", (12,), {"max_size": 15}),
    ("Pad", ((1, 2),), {"fill": 4, "padding_mode": "constant"}),
    ("FiveCrop", (8,), {}),
    ("TenCrop", ((8, 9),), {"vertical_flip": True}),
    ("Grayscale", (3,), {}),
    ("RandomHorizontalFlip", (1.0,), {}),
    ("RandomVerticalFlip", (1.0,), {}),
    ("RandomGrayscale", (1.0,), {}),
    ("RandomInvert", (1.0,), {}),
    ("RandomPosterize", (2, 1.0), {}),
    ("RandomSolarize", (100, 1.0), {}),
    ("RandomAdjustSharpness", (1.5, 1.0), {}),
    ("RandomAutocontrast", (1.0,), {}),
    ("RandomEqualize", (1.0,), {}),
    ("RandomRotation", ((30, 30),), {"expand": True}),
    ("RandomAffine", ((10, 10),), {"scale": (0.8, 0.8), "shear": (5, 5, 3, 3), "fill": 9}),
    ("GaussianBlur", (3, (0.7, 0.7)), {}),
    ("ColorJitter", ((1.5, 1.5),), {}),
    ("ColorJitter", (), {"hue": (0.2, 0.2)}),
    ("RandomCrop", ((21, 30),), {}),
    ("RandomResizedCrop", ((8, 9),), {"scale": (1.0, 1.0), "ratio": (30 / 21, 30 / 21)}),
]


@pytest.mark.parametrize("kind", ["pillow", "bytes"])
@pytest.mark.parametrize(
    ("name", "arguments", "options"), CERTAIN, ids=[name for name, *_ in CERTAIN]
)
def test_transforms_without_chance(name, arguments, options, kind):
    image, other = IMAGES[kind]()
    got = getattr(transforms, name)(*arguments, **options)(image)
    assert_same(got, getattr(torchvision.transforms, name)(*arguments, **options)(other), name)


def test_every_transform_of_torchvision_is_there():
    lacking = {
        name for name in torchvision.transforms.transforms.__all__ if not hasattr(transforms, name)
    }
    assert not lacking
    functions = {
        name
        for name, variable in vars(TF).items()
        if callable(variable) and variable.__module__ == TF.__name__ and not name.startswith("_")
    }
    assert {name for name in functions if not hasattr(F, name)} == set()


def flattened(drawn):
    """The numbers in what `get_params` returns, tensors left out."""
    if isinstance(drawn, int | float):
        return [float(drawn)]
    if isinstance(drawn, list | tuple):
        return [number for draw in drawn for number in flattened(draw)]
    return []


# Arguments of `get_params`: an image where it wants one.
DRAWN = [
    ("RandomCrop", (8, 9)),
    ("RandomResizedCrop", ((0.08, 1.0), (0.75, 4 / 3))),
    ("RandomResizedCrop", ((0.9, 1.0), (3.0, 4.0))),
    ("RandomErasing", ((0.02, 0.33), (0.3, 3.3), [0.0])),
    ("ColorJitter", ((0.5, 1.5), (0.2, 3.0), None, (-0.1, 0.4))),
    ("RandomRotation", ([-10.0, 50.0],)),
    ("RandomAffine", ((-5.0, 5.0), (0.3, 0.1), (0.5, 1.5), (-4.0, 4.0, 0.0, 2.0), (30, 21))),
    ("RandomPerspective", (30, 21, 0.6)),
    ("GaussianBlur", (0.1, 2.0)),
]


@pytest.mark.parametrize(("name", "arguments"), DRAWN, ids=[name for name, _ in DRAWN])
def test_random_numbers_have_the_distribution_of_torchvision(name, arguments):
    image, other = IMAGES["bytes"]()
    if name == "RandomCrop":
        arguments = (arguments,)
    images = name in ("RandomCrop", "RandomResizedCrop", "RandomErasing")
    draws = []
    for library, pixels in ((transforms, image), (torchvision.transforms, other)):
        draw = getattr(library, name).get_params
        given = (pixels, *arguments) if images else arguments
        draws.append(np.array([flattened(draw(*given)) for _ in range(500)]))
    ours, theirs = draws
    assert ours.shape == theirs.shape
    for column in range(ours.shape[1]):
        assert_same_distribution(ours[:, column], theirs[:, column])


def assert_same_distribution(ours, theirs):
    """The largest distance of the distribution functions (Kolmogorov and Smirnov)."""
    at = np.sort(np.concatenate([ours, theirs]))
    below = [
        np.searchsorted(np.sort(numbers), at, "right") / len(numbers) for numbers in (ours, theirs)
    ]
    # Once in 100,000 draws of equal distributions it is larger.
    limit = np.sqrt(-np.log(1e-5 / 2) * (len(ours) + len(theirs)) / (2 * len(ours) * len(theirs)))
    assert np.abs(below[0] - below[1]).max() <= limit


def test_elastic_displacements_have_the_distribution_of_torchvision():
    arguments = [40.0, 20.0], [3.0, 2.0], [60, 50]
    ours = transforms.ElasticTransform.get_params(*arguments).numpy()
    theirs = torchvision.transforms.ElasticTransform.get_params(*arguments).numpy()
    assert ours.shape == theirs.shape == (1, 60, 50, 2)
    deviations = [images.std(axis=(0, 1, 2)) for images in (ours, theirs)]
    np.testing.assert_allclose(deviations[0], deviations[1], rtol=0.3)
    steps = [np.abs(np.diff(images, axis=1)).mean(axis=(0, 1, 2)) for images in (ours, theirs)]
    np.testing.assert_allclose(steps[0], steps[1], rtol=0.3)


@pytest.mark.parametrize("kind", ["pillow", "bytes", "float"])
def test_elastic_transform_of_given_displacements(kind):
    displacement = (RNG.random((1, 21, 30, 2)) * 0.3 - 0.15).astype(np.float32)
    ours, theirs = pair_of(displacement)
    image, other = IMAGES[kind]()
    assert_same(F.elastic_transform(image, ours), TF.elastic_transform(other, theirs), kind)
    with pytest.raises(ValueError, match="displacement"):
        F.elastic_transform(image, ours[:, 1:])


def test_probabilities():
    image = flow.from_numpy(PHOTO)
    for make in (
        transforms.RandomHorizontalFlip,
        transforms.RandomInvert,
        transforms.RandomErasing,
        transforms.RandomPerspective,
        lambda p: transforms.RandomApply([transforms.RandomInvert(1.0)], p),
    ):
        transform = make(p=0.3)
        changed = sum(transform(image) is not image for _ in range(300))
        assert 55 <= changed <= 125  # 90, give or take four deviations


def test_erasing_and_whitening():
    image, other = IMAGES["float"]()
    erased = transforms.RandomErasing(1.0, value=(1.0, 2.0, 3.0))(image).numpy()
    changed = (erased != image.numpy()).any(0)
    rows, columns = np.flatnonzero(changed.any(1)), np.flatnonzero(changed.any(0))
    box = erased[:, rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    np.testing.assert_array_equal(box, np.broadcast_to([[[1.0]], [[2.0]], [[3.0]]], box.shape))
    noisy = transforms.RandomErasing(1.0, scale=(0.3, 0.33), value="random")(image).numpy()
    assert (noisy < 0).any()
    with pytest.raises(ValueError, match="value"):
        transforms.RandomErasing(1.0, value=(1.0, 2.0))(image)
    matrix, mean = RNG.random((1890, 1890)).astype(np.float32), RNG.random(1890).astype(np.float32)
    ours = transforms.LinearTransformation(flow.from_numpy(matrix), flow.from_numpy(mean))
    theirs = torchvision.transforms.LinearTransformation(
        torch.from_numpy(matrix), torch.from_numpy(mean)
    )
    np.testing.assert_allclose(ours(image).numpy(), theirs(other).numpy(), rtol=2e-4)


def test_transforms_are_modules():
    pipeline = flow.nn.Sequential(
        transforms.CenterCrop(10), transforms.ConvertImageDtype(flow.float32)
    )
    assert pipeline(flow.from_numpy(PHOTO)).shape == (3, 10, 10)
    array = transforms.ToNumpy()(pillow())
    np.testing.assert_array_equal(array, PHOTO)
    chosen = transforms.RandomChoice([transforms.RandomInvert(1.0), lambda x: x], p=[0, 1])
    image = flow.from_numpy(PHOTO)
    assert all(chosen(image) is image for _ in range(20))


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("adjust_hue", (0.2,)),
        ("gaussian_blur", (3,)),
        ("equalize", ()),
        ("rotate", (30.0, "bilinear", False, None, 7)),
        ("rotate", (30.0, "nearest", True, None, [7, 8, 9])),
    ],
)
def test_a_transform_splits_batches_of_global_tensors(name, arguments):
    placement = flow.placement("cpu", [0, 1])
    batch = flow.from_numpy(np.stack([PHOTO, PHOTO[::-1]] * 2))
    spread = batch.to_global(placement, flow.sbp.broadcast).to_global(sbp=flow.sbp.split(0))
    function = getattr(F, name)
    np.testing.assert_array_equal(
        function(spread, *arguments).numpy(), function(batch, *arguments).numpy()
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda: transforms.ColorJitter(-1.0),
        lambda: transforms.ColorJitter(hue=0.7),
        lambda: transforms.ColorJitter(contrast=(2.0, 1.0)),
        lambda: transforms.GaussianBlur(4),
        lambda: transforms.GaussianBlur(3, (2.0, 1.0)),
        lambda: transforms.RandomRotation(-3),
        lambda: transforms.RandomAffine(3, translate=(0.5, 1.5)),
        lambda: transforms.RandomAffine(3, scale=(0.0, 1.5)),
        lambda: transforms.RandomErasing(value="black"),
        lambda: transforms.RandomErasing(scale=(0.5, 0.1)),
        lambda: transforms.Resize((1, 2, 3)),
        lambda: transforms.RandomChoice([transforms.CenterCrop(1)], p=[0.5, 0.5]),
        lambda: F.adjust_hue(pillow(), 0.8),
        lambda: F.affine(pillow(), 0.0, [0, 0], -1.0, 0.0),
        lambda: F.affine(pillow(), 0.0, [0], 1.0, 0.0),
        lambda: F.perspective(pillow(), CORNERS[:3], MOVED),
        lambda: F.resize(pillow(), 10, max_size=5),
        lambda: F.resize(pillow(), [10, 10], max_size=50),
        lambda: F.resize(flow.from_numpy(PHOTO), [10, 10], "lanczos"),
        lambda: F.rotate(flow.from_numpy(PHOTO), 10, fill=[1, 2]),
        lambda: F.posterize(pillow(), 9),
        lambda: F.pad(pillow(), [1, 2, 3]),
    ],
)
def test_wrong_values(make):
    with pytest.raises(ValueError, match=r"\w"):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: F.adjust_brightness("text", 1.0),
        lambda: F.adjust_brightness(flow.zeros(2, 4, 4), 1.0),
        lambda: F.equalize(flow.zeros(3, 4, 4)),
        lambda: F.posterize(flow.zeros(3, 4, 4), 3),
        lambda: F.erase(pillow(), 0, 0, 1, 1, 0.0),
        lambda: F.to_grayscale(flow.zeros(3, 4, 4)),
        lambda: F.solarize(flow.zeros(3, 4, 4), 2.0),
    ],
)
def test_wrong_kinds(make):
    with pytest.raises(TypeError):
        make()
