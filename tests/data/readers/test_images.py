"""Decoding, resizing and normalising images, against Pillow and NumPy."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

import oneflow as flow
from oneflow.data.readers.image_values import decode_image, resize_image, scaled_size


def picture(height, width, seed=0):
    """An RGB image of smooth colours."""
    y, x = np.mgrid[0:height, 0:width] / max(height, width)
    waves = [np.sin(3 * x + seed), np.cos(4 * y), np.sin(5 * (x + y))]
    return np.uint8(127 * (1 + np.stack(waves, -1)))


def png(array):
    """The bytes of a file with the image."""
    file = io.BytesIO()
    Image.fromarray(array).save(file, "PNG")
    return file.getvalue()


SIZES = [(6, 8), (9, 5), (7, 7)]


@pytest.fixture
def records(tmp_path):
    """A batch of three records with images of different sizes."""
    with flow.data.OFRecordWriter(tmp_path / "part-0") as file:
        for number, size in enumerate(SIZES):
            file.write({"encoded": png(picture(*size, number)), "label": number})
    return flow.nn.OFRecordReader(tmp_path, batch_size=3)()


@pytest.mark.parametrize("color_space", ["BGR", "RGB", "GRAY"])
def test_decoder_gives_the_pixels(records, color_space):
    decoded = flow.nn.OFRecordImageDecoder("encoded", color_space)(records)
    buffers = flow.nn.OFRecordBytesDecoder("encoded")(records)
    again = flow.nn.image.decode(color_space=color_space)(buffers)
    for number, (image, other) in enumerate(zip(decoded.values(), again.values(), strict=True)):
        expected = picture(*SIZES[number], number)
        if color_space == "GRAY":
            expected = np.asarray(Image.fromarray(expected).convert("L"))[..., None]
        elif color_space == "BGR":
            expected = expected[..., ::-1]
        np.testing.assert_array_equal(image, expected)
        np.testing.assert_array_equal(other, expected)


def test_what_is_no_image():
    with pytest.raises(ValueError, match="4 bytes are no image"):
        decode_image(b"text", "RGB")
    with pytest.raises(ValueError, match="BGR, RGB, GRAY"):
        decode_image(png(picture(2, 2)), "CMYK")


def test_random_crop_is_a_part_of_the_image(records):
    def crops(seed):
        decoder = flow.nn.OFRecordImageDecoderRandomCrop(
            "encoded", "RGB", random_seed=seed, random_area=[0.2, 0.5]
        )
        return decoder(records).values()

    first = crops(1)
    for number, crop in enumerate(first):
        image = picture(*SIZES[number], number)
        assert 0 < crop.size < image.size
        windows = np.lib.stride_tricks.sliding_window_view(image, crop.shape)
        assert (windows == crop).all(axis=(-3, -2, -1)).any()
    for one, other in zip(first, crops(1), strict=True):
        np.testing.assert_array_equal(one, other)
    assert any(one.shape != other.shape for one, other in zip(first, crops(2), strict=True))


@pytest.mark.parametrize(
    ("kind", "mode"),
    [
        ("nearest_neighbor", "NEAREST"),
        ("bilinear", "BILINEAR"),
        ("bicubic", "BICUBIC"),
        ("area", "BOX"),
    ],
)
def test_resize_against_pillow(kind, mode):
    image = picture(9, 12)
    expected = np.asarray(Image.fromarray(image).resize((5, 4), Image.Resampling[mode]))
    np.testing.assert_array_equal(resize_image(image, 5, 4, kind), expected)
    floats = resize_image(image.astype(np.float32), 5, 4, kind)
    np.testing.assert_allclose(floats, expected, atol=1)
    gray = resize_image(image[..., :1], 5, 4, kind)
    np.testing.assert_array_equal(gray[..., 0], expected[..., 0])


def test_interpolation_is_chosen():
    image = picture(6, 6)
    np.testing.assert_array_equal(
        resize_image(image, 3, 3, "auto"), resize_image(image, 3, 3, "area")
    )
    np.testing.assert_array_equal(
        resize_image(image, 9, 9, "auto"), resize_image(image, 9, 9, "bilinear")
    )
    with pytest.raises(ValueError, match="interpolation_type"):
        resize_image(image, 3, 3, "magic")


@pytest.mark.parametrize(
    ("size", "options", "expected"),
    [
        ((8, 4), (6, 0, 0, "shorter"), (12, 6)),
        ((4, 8), (6, 0, 0, "shorter"), (6, 12)),
        ((8, 4), (6, 0, 10, "shorter"), (10, 5)),
        ((8, 4), (6, 0, 0, "longer"), (6, 3)),
        ((8, 4), (6, 4, 0, "longer"), (8, 4)),
        ((5, 5), (3, 0, 0, "shorter"), (3, 3)),
        ((1000, 1), (2, 0, 4, "shorter"), (4, 1)),
    ],
)
def test_sizes_that_keep_the_form(size, options, expected):
    assert scaled_size(*size, *options) == expected


def test_resize_to_one_size(records):
    images = flow.nn.OFRecordImageDecoder("encoded", "RGB")(records)
    resized, scale, sizes = flow.nn.image.Resize((4, 3), interpolation_type="bilinear")(images)
    assert sizes is None
    assert (resized.shape, resized.dtype) == ((3, 3, 4, 3), flow.uint8)
    for number, (height, width) in enumerate(SIZES):
        expected = Image.fromarray(picture(height, width, number)).resize((4, 3), 2)
        np.testing.assert_array_equal(resized[number].numpy(), expected)
        np.testing.assert_allclose(scale[number].numpy(), [4 / width, 3 / height], rtol=1e-6)
    # A tensor of images is resized as well.
    assert flow.image.resize(resized, 2)[0].shape == (3, 2, 2, 3)


def test_resize_that_keeps_the_form(records):
    images = flow.nn.OFRecordImageDecoder("encoded", "RGB")(records)
    resized, scale, sizes = flow.image.resize(images, 10, keep_aspect_ratio=True)
    assert [tensor.shape[:2] for tensor in resized.values()] == [(10, 13), (18, 10), (10, 10)]
    assert sizes.tolist() == [[13, 10], [10, 18], [10, 10]]
    np.testing.assert_allclose(scale[0].numpy(), [13 / 8, 10 / 6], rtol=1e-6)
    same, _, again = flow.image.target_resize(images, 10)
    assert again.tolist() == sizes.tolist()
    np.testing.assert_array_equal(same.values()[0], resized.values()[0])


def test_arguments_of_resize_in_earlier_versions(records):
    images = flow.nn.OFRecordImageDecoder("encoded", "RGB")(records)
    old = flow.image.Resize(images, color_space="RGB", interp_type="Linear", resize_x=4, resize_y=3)
    new, _, _ = flow.image.Resize(images, (4, 3), interpolation_type="bilinear")
    np.testing.assert_array_equal(old.numpy(), new.numpy())
    shorter = flow.image.Resize(images, resize_shorter=4)
    assert [min(tensor.shape[:2]) for tensor in shorter.values()] == [4, 4, 4]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "`target_size` must be"),
        ({"target_size": (2, 3), "keep_aspect_ratio": True}, "`target_size` must be"),
        ({"interp_type": "Best", "resize_x": 1, "resize_y": 1}, "Linear, NN, Cubic"),
        ({"target_size": 2, "keep_aspect_ratio": True, "resize_side": "left"}, "resize_side"),
    ],
)
def test_resize_without_a_size(options, message):
    with pytest.raises(ValueError, match=message):
        flow.image.resize(flow.zeros(1, 4, 4, 3, dtype=flow.uint8), **options)


@pytest.mark.parametrize("code", [0, 1, 16, 17])
def test_flip(records, code):
    images = flow.nn.OFRecordImageDecoder("encoded", "RGB")(records)
    flipped = flow.nn.image.flip()(images, flow.tensor([code], dtype=flow.int8)).values()
    for number, size in enumerate(SIZES):
        expected = picture(*size, number)
        expected = expected[:, ::-1] if code & 1 else expected
        np.testing.assert_array_equal(flipped[number], expected[::-1] if code & 16 else expected)
    with pytest.raises(ValueError, match="0, 1, 16 or 17"):
        flow.image.flip(images, 2)


def test_normalize_and_align(records):
    images = flow.nn.OFRecordImageDecoder("encoded", "RGB")(records)
    normal = flow.nn.image.normalize(std=(2, 3, 4), mean=(1, 2, 3))(images)
    aligned = flow.nn.image.batch_align((12, 12, 3), flow.float32, 4)(normal)
    assert aligned.shape == (3, 12, 8, 3)
    for number, (height, width) in enumerate(SIZES):
        expected = (np.float32(picture(height, width, number)) - [1, 2, 3]) / [2, 3, 4]
        np.testing.assert_allclose(aligned[number, :height, :width].numpy(), expected, rtol=1e-5)
        assert aligned[number, height:].sum() == aligned[number, :, width:].sum() == 0
    with pytest.raises(ValueError, match="larger than"):
        flow.image.batch_align(images, (8, 8, 3), flow.uint8, 2)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("as_tensor", [False, True])
def test_crop_mirror_normalize(records, layout, as_tensor):
    images = flow.nn.OFRecordImageDecoder("encoded", "RGB")(records)
    if as_tensor:
        images = flow.image.resize(images, (7, 7), interpolation_type="bilinear")[0]
    mean, std = [1.0, 2.0, 3.0], [2.0, 3.0, 4.0]
    normalize = flow.nn.CropMirrorNormalize(
        "RGB", layout, 4, 5, 1.0, 0.0, mean, std, output_dtype=flow.float32
    )
    mirror = flow.tensor([0, 1, 0], dtype=flow.int8)
    result = normalize(images, mirror).numpy()
    if layout == "NCHW":
        result = result.transpose(0, 2, 3, 1)
    assert result.shape == (3, 4, 5, 3)
    for number, size in enumerate(SIZES):
        image = images[number].numpy() if as_tensor else picture(*size, number)
        crop = image[image.shape[0] - 4 :, :5]
        crop = crop[:, ::-1] if number == 1 else crop
        np.testing.assert_allclose(result[number], (np.float32(crop) - mean) / std, rtol=1e-5)


def test_crops_that_do_not_fit(records):
    images = flow.nn.OFRecordImageDecoder("encoded")(records)
    with pytest.raises(ValueError, match="values of one tensor must have the shape"):
        flow.image.crop_mirror_normalize(images)
    with pytest.raises(ValueError, match="cannot crop 8 x 4 out of an image of 6 x 8"):
        flow.image.crop_mirror_normalize(images, crop_h=8, crop_w=4)
    with pytest.raises(ValueError, match="output_layout"):
        flow.nn.CropMirrorNormalize(output_layout="CHW")


def test_decoder_with_crop_and_size(records):
    files = flow.nn.OFRecordBytesDecoder("encoded")(records)
    decoder = flow.nn.OFRecordImageGpuDecoderRandomCropResize(4, 3, seed=1)
    again = flow.nn.OFRecordImageGpuDecoderRandomCropResize(4, 3, seed=1)
    images = decoder(files)
    assert (images.shape, images.dtype) == ((3, 3, 4, 3), flow.uint8)
    np.testing.assert_array_equal(images.numpy(), again(files).numpy())


def test_pipeline_in_a_graph_gives_what_eager_mode_does(tmp_path):
    with flow.data.OFRecordWriter(tmp_path / "part-0") as file:
        for number, size in enumerate(SIZES):
            file.write({"encoded": png(picture(*size, number)), "label": number})

    class Pipeline(flow.nn.Module):
        def __init__(self):
            super().__init__()
            self.reader = flow.nn.OFRecordReader(tmp_path, batch_size=2)
            self.label = flow.nn.OFRecordRawDecoder("label", (), flow.int32)
            self.image = flow.nn.OFRecordImageDecoderRandomCrop("encoded", random_seed=1)
            self.resize = flow.nn.image.Resize(6, keep_aspect_ratio=True)
            self.coin = flow.nn.CoinFlip(2, random_seed=3)
            self.normalize = flow.nn.CropMirrorNormalize(crop_h=5, crop_w=5, mean=[9.0])

        def forward(self):
            records = self.reader()
            image, _, sizes = self.resize(self.image(records))
            return self.label(records), self.normalize(image, self.coin()), sizes

    class PipelineGraph(flow.nn.Graph):
        def __init__(self):
            super().__init__()
            self.pipeline = Pipeline()

        def build(self):
            return self.pipeline()

    eager, graph = Pipeline(), PipelineGraph()
    for _ in range(3):
        for one, other in zip(eager(), graph(), strict=True):
            np.testing.assert_array_equal(one.numpy(), other.numpy())


def test_images_of_unknown_size_in_a_graph(tmp_path):
    with flow.data.OFRecordWriter(tmp_path / "part-0") as file:
        file.write({"encoded": png(picture(4, 5))})

    class Reading(flow.nn.Graph):
        def __init__(self, last):
            super().__init__()
            self.reader, self.last = flow.nn.OFRecordReader(tmp_path), last

        def build(self):
            return self.last(flow.nn.OFRecordImageDecoder("encoded", "RGB")(self.reader()))

    with pytest.raises(RuntimeError, match="size of these images is not known"):
        Reading(flow.nn.CropMirrorNormalize("RGB"))()
    aligned = Reading(flow.nn.image.batch_align((8, 8, 3), flow.uint8, 2))()
    np.testing.assert_array_equal(aligned[0, :4, :5].numpy(), picture(4, 5))
    assert aligned[0, 4:].sum() == 0


def test_coins_of_the_host_flip_images_in_a_graph(tmp_path):
    with flow.data.OFRecordWriter(tmp_path / "part-0") as file:
        for number in range(4):
            file.write({"encoded": png(picture(4, 5, number))})

    class Flipping(flow.nn.Graph):
        def __init__(self):
            super().__init__()
            self.reader = flow.nn.OFRecordReader(tmp_path, batch_size=4)
            self.decode = flow.nn.OFRecordImageDecoder("encoded", "RGB")
            self.coin = flow.nn.CoinFlip(4, random_seed=1)

        def build(self):
            coin = self.coin()
            flipped = flow.image.flip(self.decode(self.reader()), coin)
            return coin, flow.tensor_buffer_to_tensor(flipped, flow.uint8, (4, 5, 3))

    graph, seen = Flipping(), []
    for _ in range(4):
        coin, images = (tensor.numpy() for tensor in graph())
        seen += coin.tolist()
        for number, (mirrored, image) in enumerate(zip(coin, images, strict=True)):
            expected = picture(4, 5, number)
            np.testing.assert_array_equal(image, expected[:, ::-1] if mirrored else expected)
    assert set(seen) == {0, 1}


def test_coins():
    coins = flow.nn.CoinFlip(10_000, random_seed=1, probability=0.3)()
    assert (coins.shape, coins.dtype) == ((10_000,), flow.int8)
    assert 0.28 < coins.float().mean().item() < 0.32
    assert flow.random.CoinFlip(4, seed=2).tolist() == flow.random.coin_flip(4, seed=2).tolist()
    with pytest.raises(ValueError, match="from 0 to 1"):
        flow.nn.CoinFlip(probability=2)()


def test_tensor_buffers():
    x = flow.arange(24).reshape(2, 3, 4)
    buffer = flow.tensor_to_tensor_buffer(x, 2)
    assert (buffer.shape, buffer.dtype) == ((2,), flow.tensor_buffer)
    assert flow.tensor_buffer_to_tensor(buffer, flow.float32, (3, 4)).tolist() == x.tolist()
    assert buffer.numpy()[1].tolist() == x[1].tolist()
    rows = flow.tensor_to_tensor_buffer(x, 1)
    assert (rows.shape, len(rows)) == ((2, 3), 6)
    assert flow.tensor_buffer_to_tensor(rows, flow.float32, (4,)).tolist() == x.tolist()
    generated = flow.gen_tensor_buffer((3,), [(2,), (1, 2)], [1.0, 2.0], flow.int32)
    parts = flow.tensor_buffer_to_list_of_tensors(
        generated, [(2,), (1, 2), (2,)], [flow.int32, flow.float32, flow.int64]
    )
    assert [part.tolist() for part in parts] == [[1, 1], [[2.0, 2.0]], [1, 1]]
    assert [part.dtype for part in parts] == [flow.int32, flow.float32, flow.int64]


@pytest.mark.parametrize(
    "call",
    [
        lambda: flow.tensor_to_tensor_buffer(flow.ones(2, 3), 2),
        lambda: flow.gen_tensor_buffer((2, 2), [(1,)], [0.0]),
        lambda: flow.gen_tensor_buffer((2,), [], [0.0]),
        lambda: flow.tensor_buffer_to_tensor(
            flow.gen_tensor_buffer((2,), [(1,)], [0.0]), flow.float32, (2,)
        ),
        lambda: flow.tensor_buffer_to_list_of_tensors(
            flow.gen_tensor_buffer((2,), [(1,)], [0.0]), [(1,)], [flow.float32]
        ),
    ],
)
def test_buffers_of_other_shapes(call):
    with pytest.raises(ValueError, match=r"shape|one dimension|there are 2 values"):
        call()
