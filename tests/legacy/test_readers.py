"""Readers, decoders and images in the bodies of jobs."""

from __future__ import annotations

import json

import numpy as np
import pytest

import oneflow as flow
import oneflow.typing as tp
from oneflow.compatible import single_client
from oneflow.data.readers.image_values import resize_image
from oneflow.data.readers.indexed import write_indexed_tokens
from tests.data.readers.test_images import SIZES, picture, png
from tests.data.readers.test_ofrecord import write_parts


@pytest.fixture
def numbers(tmp_path):
    """Two files with the numbers 0 to 3 and 4 to 7."""
    return write_parts(tmp_path, [range(4), range(4, 8)], lambda i: {"n": np.int32([i])})


def _numbers(folder, **options):
    records = flow.data.ofrecord_reader(folder, data_part_num=2, **options)
    return flow.data.OFRecordRawDecoder(records, "n", (1,), flow.int32)


def test_each_call_reads_a_batch(numbers):
    @flow.global_function()
    def job() -> tuple[tp.Numpy, tp.Numpy]:
        return _numbers(numbers, batch_size=3), _numbers(numbers, batch_size=2)

    # Each reader goes its own way.
    assert [[array.ravel().tolist() for array in job()] for _ in range(3)] == [
        [[0, 1, 2], [0, 1]],
        [[3, 4, 5], [2, 3]],
        [[6, 7, 0], [4, 5]],
    ]


def test_arguments_of_another_shape_do_not_start_readers_again(numbers):
    @flow.global_function()
    def job(x: tp.ListNumpy.Placeholder((2,))) -> tp.ListNumpy:
        return _numbers(numbers, batch_size=1) + x.sum()

    given = [np.zeros(2, np.float32)], [np.zeros(1, np.float32)]
    with pytest.warns(UserWarning, match="compiled again"):
        found = [job(seed)[0].item() for seed in (given[0], given[1], given[0])]
    assert found == [0, 1, 2]


@pytest.mark.parametrize("mirrored", [False, True])
def test_devices_share_a_batch(numbers, mirrored):
    flow.config.cpu_device_num(2)
    config = flow.FunctionConfig()
    if mirrored:
        config.default_logical_view(flow.scope.mirrored_view())

    @flow.global_function(function_config=config)
    def job() -> tp.ListNumpy:
        return _numbers(numbers, batch_size=4)

    found = [np.concatenate(job()).ravel().tolist() for _ in range(2)]
    assert found == [[0, 1, 4, 5], [2, 3, 6, 7]]


@pytest.mark.parametrize(("devices", "mirrored"), [(1, False), (2, False), (2, True)])
def test_synthetic_batches(devices, mirrored):
    flow.config.cpu_device_num(devices)
    config = flow.FunctionConfig()
    view = flow.scope.mirrored_view if mirrored else flow.scope.consistent_view
    config.default_logical_view(view())

    @flow.global_function(function_config=config)
    def job() -> tuple[tp.Numpy, tp.Numpy]:
        images = flow.data.decode_random((2, 3), flow.float, 4)
        initializer = flow.constant_initializer(7)
        labels = flow.data.decode_random((), flow.int32, 4, initializer=initializer)
        return images, labels

    (first, labels), (second, _) = job(), job()
    assert first.shape == (4, 2, 3)
    assert len(np.unique([first, second])) == 48
    assert labels.tolist() == [7] * 4
    assert labels.dtype == np.int32


def test_training_on_images(tmp_path):
    with flow.data.OFRecordWriter(tmp_path / "part-0") as file:
        for number, size in enumerate(SIZES):
            file.write({"encoded": png(picture(*size, number)), "label": number})

    @flow.global_function(type="train")
    def job() -> tuple[tp.Numpy, tp.Numpy]:
        records = flow.data.ofrecord_reader(tmp_path, batch_size=3)
        label = flow.data.ofrecord_raw_decoder(records, "label", (), flow.int32)
        image = flow.data.OFRecordImageDecoder(records, "encoded", color_space="RGB")
        image, _, _ = flow.image.Resize(image, target_size=(6, 6))
        coin = flow.random.CoinFlip(batch_size=3, seed=1)
        image = flow.image.CropMirrorNormalize(
            image, mirror_blob=coin, color_space="RGB", mean=[127.0] * 3, std=[127.0] * 3
        )
        flat = flow.reshape(image, (3, -1))
        logits = flow.layers.dense(flat, 3, name="logits")
        loss = flow.nn.sparse_softmax_cross_entropy_with_logits(label, logits)
        schedule = flow.optimizer.PiecewiseConstantScheduler([], [0.1])
        flow.optimizer.SGD(schedule, momentum=0.9).minimize(loss)
        return loss, image

    losses, images = zip(*[job() for _ in range(15)], strict=True)
    assert images[0].shape == (3, 3, 6, 6)
    assert losses[-1].mean() < 0.5 * losses[0].mean()
    # Coins are flipped anew.
    assert len({array.tobytes() for array in images}) > 1


def test_image_readers(tmp_path):
    with flow.data.OFRecordWriter(tmp_path / "part-0") as file:
        for number, size in enumerate(SIZES):
            file.write({"encoded": png(picture(*size, number)), "label": number})

    @flow.global_function()
    def job() -> tuple[tp.Numpy, ...]:
        images, labels = flow.data.ofrecord_image_classification_reader(
            tmp_path, "encoded", "label", batch_size=3
        )
        records = flow.data.ofrecord_loader(tmp_path, batch_size=3)
        files = flow.data.ofrecord_bytes_decoder(records, "encoded")
        small = flow.data.ImageDecoderRandomCropResize(files, 4, 3, seed=1)
        crops = flow.data.OFRecordImageDecoderRandomCrop(records, "encoded", "RGB", seed=2)
        return (
            flow.image.resize(images, 5)[0],
            flow.tensor_buffer_to_tensor(labels, flow.int32, (1,)),
            small,
            flow.image.resize(crops, 5)[0],
        )

    images, labels, small, crops = job()
    assert (images.shape, crops.shape) == ((3, 5, 5, 3), (3, 5, 5, 3))
    assert labels.ravel().tolist() == [0, 1, 2]
    assert (small.shape, small.dtype) == ((3, 3, 4, 3), np.uint8)
    # Random numbers go on in the next call.
    assert (job()[3] != crops).any()


def test_texts_and_annotations(tmp_path):
    write_indexed_tokens(f"{tmp_path}/texts", [np.arange(21, dtype=np.int32)])
    (tmp_path / "image.png").write_bytes(png(picture(4, 4)))
    image = {"id": 5, "file_name": "image.png", "height": 4, "width": 4}
    objects = {"image_id": 5, "category_id": 1, "bbox": [0, 0, 2, 2]}
    content = {"images": [image], "annotations": [objects], "categories": [{"id": 1}]}
    (tmp_path / "annotations.json").write_text(json.dumps(content))

    @flow.global_function()
    def job() -> tuple[tp.Numpy, ...]:
        tokens = flow.data.megatron_gpt_mmap_data_loader(
            f"{tmp_path}/texts", 10, 2, batch_size=1, shuffle=False, nd_sbp=[]
        )
        file, number, *_ = flow.data.coco_reader(tmp_path / "annotations.json", tmp_path, 1)
        return tokens, number, flow.image.resize(flow.image_decode(file), (2, 2))[0]

    found = [job() for _ in range(2)]
    assert [batch[0].tolist() for batch in found] == [[list(range(11))], [list(range(10, 21))]]
    assert (found[0][1].tolist(), found[0][2].shape) == ([5], (1, 2, 2, 3))


def test_outside_of_a_job(numbers):
    with pytest.raises(RuntimeError, match=r"ofrecord_reader\(\) belongs into the body of a job"):
        flow.data.ofrecord_reader(numbers)
    with pytest.raises(AttributeError, match="no attribute 'dice'"):
        flow.random.dice()
    assert single_client.data.ofrecord_reader is flow.data.ofrecord_reader


@pytest.mark.parametrize("layout", ["channels_last", "channels_first", "NHWC", "NCHW"])
def test_records_decoded_in_one_call(tmp_path, layout):
    with flow.data.OFRecordWriter(tmp_path / "part-0") as file:
        for number, size in enumerate(SIZES):
            file.write({"encoded": png(picture(*size, number)), "label": number, "text": "ab"})
    codec = flow.data.ImageCodec(
        [
            flow.data.ImagePreprocessor("bgr2rgb"),
            flow.data.ImageResizePreprocessor(4, 5),
            flow.data.ImagePreprocessor("mirror"),
        ]
    )
    norm = flow.data.NormByChannelPreprocessor((1, 2, 3), (2, 2, 2), layout)
    assert (codec.color_space(), codec.do_resize(), codec.do_mirror()) == ("RGB", True, True)

    @flow.global_function()
    def job() -> tuple[tp.Numpy, ...]:
        image = flow.data.BlobConf("encoded", (5, 4, 3), flow.float32, codec, [norm])
        label = flow.data.BlobConf("label", (2,), flow.int32, flow.data.RawCodec(True))
        text = flow.data.BlobConf("text", (3,), flow.uint8, flow.data.BytesListCodec())
        return flow.data.decode_ofrecord(tmp_path, (image, label, text), batch_size=3)

    images, labels, texts = job()
    if layout in ("channels_first", "NCHW"):
        assert images.shape == (3, 3, 5, 4)
        images = images.transpose(0, 2, 3, 1)
    assert labels.tolist() == [[0, 0], [1, 0], [2, 0]]
    assert texts.tolist() == [[97, 98, 0]] * 3
    for number, size in enumerate(SIZES):
        expected = (resize_image(picture(*size, number), 4, 5, "auto") - np.float32([1, 2, 3])) / 2
        assert (
            min(abs(images[number] - expected).max(), abs(images[number] - expected[:, ::-1]).max())
            < 1e-5
        )
    with pytest.raises(ValueError, match="'bgr2rgb' or 'mirror'"):
        flow.data.ImagePreprocessor("blur")
    with pytest.raises(ValueError, match="channels_last, NHWC, channels_first, NCHW"):
        flow.data.NormByChannelPreprocessor((0,), data_format="CHW").output_layout()


def test_mnist_in_batches(tmp_path):
    images = np.arange(7 * 28 * 28, dtype=np.uint8).reshape(7, 28, 28)
    labels = np.arange(7)
    np.savez(tmp_path / "m.npz", x_train=images, y_train=labels, x_test=images, y_test=labels)
    url = (tmp_path / "m.npz").as_uri()
    train, test = flow.data.load_mnist(3, 2, "NHWC", url, out_dir=tmp_path)
    assert (train[0].shape, test[0].shape) == ((2, 3, 28, 28, 1), (3, 2, 28, 28, 1))
    assert train[1].tolist() == [[0, 1, 2], [3, 4, 5]]
    np.testing.assert_array_equal(train[0].reshape(6, 28, 28), np.float32(images[:6] / 255.0))
    assert flow.data.load_mnist(1, 1, url=url, out_dir=tmp_path)[0][0].shape == (7, 1, 1, 28, 28)
    with pytest.raises(ValueError, match="data_format"):
        flow.data.load_mnist(data_format="CHW")


def test_records_of_onerec_files(tmp_path):
    with flow.data.OneRecWriter(tmp_path / "a") as file:
        for number in range(4):
            file.write({"n": np.int32([number])})

    @flow.global_function()
    def job() -> tp.Numpy:
        records = flow.data.onerec_reader([tmp_path / "a"], batch_size=2)
        return flow.data.onerec_decoder(records, "n", flow.int32, (1,))

    assert [job().ravel().tolist() for _ in range(3)] == [[0, 1], [2, 3], [0, 1]]
    assert flow.data.OneRecDecoder is flow.data.onerec_decoder
