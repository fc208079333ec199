"""Readers of arrays, of Megatron-LM's texts and of COCO's annotations."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import oneflow as flow
from oneflow.data.readers.indexed import write_indexed_tokens


@pytest.fixture
def arrays(tmp_path):
    """Two files with the rows 0 to 2, and 3 and 4, of five rows."""
    rows = np.arange(10, dtype=np.float32).reshape(5, 2)
    rows[:3].tofile(tmp_path / "first")
    rows[3:].tofile(tmp_path / "second")
    return [tmp_path / "first", tmp_path / "second"]


def _rows(reader, count):
    return [row for _ in range(count) for row in (reader()[:, 0] / 2).tolist()]


def test_raw_reader_in_order(arrays):
    reader = flow.nn.RawReader(arrays, (2,), flow.float32, 2, random_shuffle=False)
    assert _rows(reader, 3) == [0, 1, 2, 3, 4, 0]


def test_raw_reader_shuffles_blocks(arrays):
    def epoch(seed, block):
        reader = flow.nn.RawReader(
            arrays, (2,), flow.float32, 5, shuffle_block_size=block, random_seed=seed
        )
        return _rows(reader, 2)

    found = epoch(1, 0)
    assert sorted(found[:5]) == sorted(found[5:]) == list(range(5))
    assert found == epoch(1, 0)
    assert any(found != epoch(seed, 0) for seed in range(2, 5))

    def most_ends(block):
        orders = [epoch(seed, block)[:5] for seed in range(1, 6)]
        return max(np.count_nonzero(np.diff(order) != 1) for order in orders)

    # Blocks of two rows stay together.
    assert most_ends(16) <= 2 < most_ends(0)


def test_raw_reader_divides_rows_among_devices(arrays):
    placement = flow.placement("cpu", [0, 1])
    reader = flow.nn.RawReader(
        arrays, (2,), flow.float32, 2, False, placement=placement, sbp=flow.sbp.split(0)
    )
    assert _rows(reader, 3) == [0, 3, 1, 4, 2, 3]


def test_truncated_arrays(arrays):
    arrays[1].write_bytes(b"123")
    with pytest.raises(ValueError, match="second has 3 bytes, which is no multiple of the 8"):
        flow.nn.RawReader(arrays, (2,), flow.float32, 2)


# --- texts


@pytest.fixture(params=[np.uint16, np.int32])
def texts(tmp_path, request):
    """A data set of four documents with 10 tokens each; the tens tell which document it is."""
    documents = [np.arange(10 * i, 10 * i + 10, dtype=request.param) for i in range(4)]
    write_indexed_tokens(f"{tmp_path}/texts", documents)
    return f"{tmp_path}/texts"


def _reader(prefix, length=7, samples=5, batch=5, **options):
    return flow.nn.GPTIndexedBinDataReader(prefix, length, samples, batch, **options)


def test_samples_overlap_by_one_token(texts):
    found = _reader(texts, shuffle=False)()
    assert found.dtype is flow.int64
    assert found.tolist() == [list(range(7 * i, 7 * i + 8)) for i in range(5)]


def test_more_samples_than_the_texts_have(texts):
    found = _reader(texts, 9, 9, 9, shuffle=False)().numpy()
    np.testing.assert_array_equal(found.ravel()[[0, -1]], [0, 81 % 40])
    np.testing.assert_array_equal(found, (np.arange(9)[:, None] * 9 + np.arange(10)) % 40)


def test_splits(texts):
    first = _reader(texts, 9, 2, 2, shuffle=False, split_sizes=("2", "1", "1"))()
    assert first.flatten().tolist() == [*range(10), *range(9, 19)]
    last = _reader(texts, 9, 1, 1, shuffle=False, split_sizes=("2", "1", "1"), split_index=2)()
    assert last.flatten().tolist() == list(range(30, 40))
    with pytest.raises(ValueError, match="there are 2 splits"):
        _reader(texts, split_sizes=("1", "1"), split_index=2)
    with pytest.raises(ValueError, match="have no tokens"):
        _reader(texts, split_sizes=("1", "0"), split_index=1)


def test_shuffled_texts(texts):
    found = _reader(texts, 10, 4, 4, random_seed=1)().numpy()
    np.testing.assert_array_equal(found, _reader(texts, 10, 4, 4, random_seed=1)().numpy())
    np.testing.assert_array_equal(np.unique(found[:, :10]), np.arange(40))
    orders = {
        tuple(_reader(texts, 10, 4, 4, random_seed=seed)()[:, 0].tolist()) for seed in range(6)
    }
    assert len(orders) > 1


def test_texts_of_several_devices(texts):
    placement = flow.placement("cpu", [0, 1])
    reader = _reader(
        texts, 7, 4, 2, shuffle=False, placement=placement, sbp=flow.sbp.split(0), dtype=flow.int32
    )
    assert [reader()[:, 0].tolist() for _ in range(2)] == [[0, 7], [14, 21]]


def test_index_by_hand(tmp_path):
    # Two sequences of 2 and 1 tokens (uint8) make one document.
    index = b"MMIDIDX\x00\x00" + struct.pack("<QBQQ", 1, 1, 2, 2)
    index += struct.pack("<ii", 2, 1) + struct.pack("<qq", 0, 2) + struct.pack("<qq", 0, 2)
    (tmp_path / "t.idx").write_bytes(index)
    (tmp_path / "t.bin").write_bytes(bytes([5, 6, 7]))
    assert _reader(f"{tmp_path}/t", 2, 1, 1, shuffle=False)().tolist() == [[5, 6, 7]]


def test_damaged_indices_raise_nothing_else(texts):
    path, random = Path(f"{texts}.idx"), np.random.default_rng(0)
    whole, refused = path.read_bytes(), 0
    for _ in range(300):
        data = bytearray(whole)
        data[random.integers(len(data))] = random.integers(256)
        path.write_bytes(data)
        try:
            _reader(texts, 10, 4, 1)()
        except ValueError:
            refused += 1
    assert refused > 100


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda index, tokens: (index[:-1], tokens), r"\.idx is damaged"),
        (lambda index, tokens: (b"?" + index, tokens), r"\.idx is no index"),
        (lambda index, tokens: (index[:20], tokens), r"\.idx is no index"),
        (lambda index, tokens: (index, tokens[:-4]), r"\.bin is truncated: it has .* tokens"),
    ],
)
def test_damaged_texts(texts, damage, message):
    paths = [f"{texts}.idx", f"{texts}.bin"]
    contents = []
    for path in paths:
        with open(path, "rb") as file:
            contents.append(file.read())
    for path, content in zip(paths, damage(*contents), strict=True):
        with open(path, "wb") as file:
            file.write(content)
    with pytest.raises(ValueError, match=message):
        _reader(texts)
    with pytest.raises(ValueError, match="of one dtype"):
        write_indexed_tokens(texts, [np.int32([1]), np.int64([1])])


# --- COCO

OBJECTS = [
    # image, category, box, polygons, is a crowd
    (10, 18, [1, 2, 3, 4], [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11]], 0),
    (10, 3, [0, 0, 2, 2], [[1, 1, 2, 2, 3, 3]], 0),
    (11, 3, [5, 5, 9, 9], [[1, 2, 3, 4, 5, 6]], 0),
    (12, 3, [5, 5, 1, 9], [[1, 2, 3, 4, 5, 6]], 0),
    (13, 3, [5, 5, 9, 9], {"counts": [], "size": []}, 1),
    (14, 18, [0, 0, 4, 4], [[1, 2, 3, 4, 5, 6]], 0),
]


@pytest.fixture
def coco(tmp_path):
    """Five images: two wide ones with objects, one high one, two without visible objects."""
    sizes = {10: (4, 6), 11: (6, 4), 12: (4, 6), 13: (4, 6), 14: (3, 3)}
    for number, (height, width) in sizes.items():
        pixels = np.full((height, width, 3), number, np.uint8)
        Image.fromarray(pixels).save(tmp_path / f"{number}.png")
    content = {
        "images": [
            {"id": number, "file_name": f"{number}.png", "height": height, "width": width}
            for number, (height, width) in sizes.items()
        ],
        "categories": [{"id": 18}, {"id": 3}],
        "annotations": [
            {"image_id": i, "category_id": c, "bbox": b, "segmentation": s, "iscrowd": crowd}
            for i, c, b, s, crowd in OBJECTS
        ],
    }
    (tmp_path / "annotations.json").write_text(json.dumps(content))
    return tmp_path / "annotations.json", tmp_path


def test_coco_reader(coco):
    reader = flow.nn.COCOReader(*coco, batch_size=3, shuffle=False, group_by_aspect_ratio=False)
    image, number, size, box, label, point, index = reader()
    assert number.tolist() == [10, 11, 14]
    assert size.tolist() == [[4, 6], [6, 4], [3, 3]]
    decoded = flow.nn.image.decode(color_space="RGB")(image).values()
    assert [tensor.shape for tensor in decoded] == [(4, 6, 3), (6, 4, 3), (3, 3, 3)]
    assert decoded[1][0, 0].tolist() == [11] * 3
    assert box.values()[0].tolist() == [[1, 2, 3, 5], [0, 0, 1, 1]]
    assert label.values()[0].tolist() == [2, 1]
    assert point.values()[0].shape == (9, 2)
    assert point.values()[0][3].tolist() == [6, 7]
    assert index.values()[0].tolist() == [
        *[[point, 0, 0] for point in range(3)],
        *[[point, 1, 0] for point in range(3)],
        *[[point, 0, 1] for point in range(3)],
    ]


def _numbers(coco, batches, batch_size=2, **options):
    reader = flow.nn.COCOReader(*coco, batch_size=batch_size, random_seed=0, **options)
    return [reader()[1].tolist() for _ in range(batches)]


def test_images_without_objects(coco):
    (found,) = _numbers(coco, 1, 5, shuffle=False, remove_images_without_annotations=False,
                        group_by_aspect_ratio=False)  # fmt: skip
    assert found == [10, 11, 12, 13, 14]
    reader = flow.nn.COCOReader(*coco, 5, False, None, False, False)
    assert reader()[3].values()[3].shape == (0, 4)
    assert reader()[5].values()[3].shape == (0, 2)


def test_batches_of_one_form(coco):
    found = _numbers(coco, 6)
    assert all({11} == set(batch) or 11 not in batch for batch in found)
    assert [11, 11] in found


@pytest.mark.parametrize(
    ("stride", "expected"), [(True, [[10, 11], [14, 11]]), (False, [[10, 14], [11, 14]])]
)
def test_images_are_divided_among_devices(coco, stride, expected):
    options = {"placement": flow.placement("cpu", [0, 1]), "sbp": flow.sbp.split(0)}
    found = _numbers(
        coco, 2, shuffle=False, group_by_aspect_ratio=False, stride_partition=stride, **options
    )
    assert found == expected


def test_what_is_no_annotation(coco, tmp_path):
    path = tmp_path / "other.json"
    path.write_text("[]")
    with pytest.raises(ValueError, match=r"other\.json is no file of COCO's annotations"):
        flow.nn.COCOReader(path, tmp_path, 1)
    path.write_text('{"images": [], "annotations": [], "categories": []}')
    with pytest.raises(ValueError, match="0 images for 1 devices"):
        flow.nn.COCOReader(path, tmp_path, 1)
