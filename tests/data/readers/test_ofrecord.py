"""OFRecord files: what the writer writes the reader reads, and what else is refused."""

from __future__ import annotations

import struct

import numpy as np
import pytest

import oneflow as flow
from oneflow.data.readers.ofrecord import decode_record, encode_record, read_records
from oneflow.data.readers.protobuf import DecodeError


def write_parts(folder, parts, make):
    """Write files with a record per number of each part."""
    for number, members in enumerate(parts):
        with flow.data.OFRecordWriter(folder / f"part-{number}") as file:
            for member in members:
                file.write(make(member))
    return folder


@pytest.fixture
def numbers(tmp_path):
    """Two files with the numbers 0 to 3 and 4 to 7."""
    return write_parts(
        tmp_path, [range(4), range(4, 8)], lambda i: {"n": np.int64([i]), "x": np.float32([i, -i])}
    )


def _labels(records):
    return flow.nn.OFRecordRawDecoder("n", (1,), flow.int64)(records).flatten().tolist()


@pytest.mark.parametrize(
    "value",
    [
        [b"", b"\x00\xff", b"text"],
        np.float32([0, -1.5, np.inf, np.nan]),
        np.float64([1e300, -0.0]),
        np.int32([0, -1, 2**31 - 1, -(2**31)]),
        np.int64([2**63 - 1, -(2**63), 127, 128]),
    ],
)
def test_features_come_back(value):
    record = decode_record(encode_record({"first": [b"1"], "key": value}))
    assert record["first"] == [b"1"]
    if isinstance(value, list):
        assert record["key"] == value
    else:
        assert record["key"].dtype == value.dtype
        np.testing.assert_array_equal(record["key"], value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, np.int64([3])),
        (True, np.int32([1])),
        (0.5, np.float64([0.5])),
        (np.float16([1, 2]), np.float32([1, 2])),
        (np.uint8([[1], [255]]), np.int32([1, 255])),
        ("text", [b"text"]),
        ([], np.float64([])),
    ],
)
def test_values_have_a_kind_of_list(value, expected):
    stored = decode_record(encode_record({"key": value}))["key"]
    assert type(stored) is type(expected)
    np.testing.assert_array_equal(stored, expected)


def test_bytes_of_a_known_record():
    # Written by hand from the specification: {"a": Int32List[1, 300]}.
    message = "0a 0c 0a 01 61 12 07 22 05 0a 03 01 ac 02".replace(" ", "")
    assert encode_record({"a": np.int32([1, 300])}).hex() == message
    # Numbers may stand each in a field of its own, and unknown fields are passed over.
    unpacked = bytes.fromhex("0a 0e 0a 01 61 12 09 22 07 08 01 08 ac 02 10 05".replace(" ", ""))
    assert decode_record(unpacked)["a"].tolist() == [1, 300]


def test_what_cannot_be_written():
    with pytest.raises(TypeError, match="feature `key` must be bytes, integers"):
        encode_record({"key": np.array([1j])})
    with pytest.raises(TypeError, match="got dict"):
        encode_record({"key": {}})


@pytest.mark.parametrize("message", ["0a", "0aff", "0a05", "0f", "ffffffffffffffffffffff"])
def test_damaged_messages(message):
    with pytest.raises(DecodeError):
        decode_record(bytes.fromhex(message))


def test_batches_go_through_the_files_again_and_again(numbers):
    reader = flow.nn.OFRecordReader(numbers, batch_size=3, data_part_num=2)
    assert [_labels(reader()) for _ in range(4)] == [[0, 1, 2], [3, 4, 5], [6, 7, 0], [1, 2, 3]]


def test_names_of_files(tmp_path):
    with flow.data.OFRecordWriter(tmp_path / "train-0007") as file:
        file.write({"n": 7})
    (tmp_path / "train-0007").rename(tmp_path / "train-0000")
    reader = flow.nn.OFRecordReader(tmp_path, part_name_prefix="train-", part_name_suffix_length=4)
    assert _labels(reader()) == [7]


def test_shuffling_is_repeated_by_its_seed(numbers):
    def epoch(seed, **options):
        reader = flow.nn.OFRecordReader(
            numbers, 8, 2, random_shuffle=True, random_seed=seed, **options
        )
        return _labels(reader())

    assert epoch(1) == epoch(1)
    assert epoch(1) != epoch(2)
    # A buffer of two records gives each at most one place early.
    assert all(value <= place + 1 for place, value in enumerate(epoch(3, shuffle_buffer_size=2)))
    flow.manual_seed(0)
    first = epoch(-1)
    flow.manual_seed(0)
    assert epoch(-1) == first


def test_files_are_shuffled_after_the_first_epoch(tmp_path):
    write_parts(tmp_path, [[i] for i in range(16)], lambda i: {"n": i})
    reader = flow.nn.OFRecordReader(tmp_path, 16, 16, shuffle_after_epoch=True, random_seed=0)
    first, second = _labels(reader()), _labels(reader())
    assert first == list(range(16))
    assert second != first
    assert sorted(second) == first


def test_devices_have_files_of_their_own(numbers):
    placement = flow.placement("cpu", [0, 1])
    reader = flow.nn.OFRecordReader(numbers, 4, 2, placement=placement, sbp=flow.sbp.split(0))
    decode = flow.nn.OFRecordRawDecoder("n", (1,), flow.int64)
    tensor = decode(reader())
    assert tensor.sbp == (flow.sbp.split(0),)
    assert tensor.flatten().tolist() == [0, 1, 4, 5]
    whole = flow.nn.OFRecordReader(numbers, 4, 2, placement=placement, sbp=flow.sbp.broadcast)
    assert decode(whole()).flatten().tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"data_part_num": 3}, FileNotFoundError, r"part-2 is missing; `data_part_num` is 3"),
        ({"data_part_num": 0}, ValueError, "must be positive"),
        ({"batch_size": 3, "data_part_num": 2, "split": 0}, ValueError, "multiple of 2"),
        ({"batch_size": 2, "split": 0}, ValueError, "at least as many files"),
        ({"batch_size": 2, "split": 1}, ValueError, "split along dimension 0"),
        ({"device": "cpu", "split": 0}, ValueError, "not both"),
        ({"sbp": flow.sbp.broadcast}, ValueError, "needs a `placement`"),
    ],
)
def test_readers_that_cannot_be(numbers, options, error, message):
    split = options.pop("split", None)
    if split is not None:
        options |= {"placement": flow.placement("cpu", [0, 1]), "sbp": flow.sbp.split(split)}
    with pytest.raises(error, match=message):
        flow.nn.OFRecordReader(numbers, **options)


@pytest.mark.parametrize("kept", [4, 20])
def test_truncated_file(numbers, kept):
    path = numbers / "part-0"
    path.write_bytes(path.read_bytes()[:kept])
    reader = flow.nn.OFRecordReader(numbers)
    with pytest.raises(ValueError, match=r"part-0 is truncated .*: the record at byte 0"):
        reader()
    with pytest.raises(RuntimeError, match="has met an error before"):
        reader()


@pytest.mark.parametrize("size", [2**31, 2**40, 2**62, 2**63 - 1, -1, -(2**63)])
def test_lengths_that_are_none(tmp_path, size):
    (tmp_path / "part-0").write_bytes(struct.pack("<q", size) + b"abc")
    with pytest.raises(ValueError, match=r"part-0 is truncated .*: the record at byte 0"):
        list(read_records(tmp_path / "part-0"))


def test_damaged_and_empty_files(tmp_path):
    path = tmp_path / "part-0"
    path.write_bytes(struct.pack("<q", 2) + b"\x0a\x7f")
    with pytest.raises(ValueError, match="part-0 is damaged: the record at byte 0: a field of"):
        flow.nn.OFRecordReader(tmp_path)()
    path.write_bytes(struct.pack("<q", -1))
    with pytest.raises(ValueError, match="truncated"):
        flow.nn.OFRecordReader(tmp_path)()
    path.write_bytes(b"")
    with pytest.raises(ValueError, match="hold no records"):
        flow.nn.OFRecordReader(tmp_path)()


# --- decoders


def _decoded(tmp_path, values, shape, dtype, **options):
    write_parts(tmp_path, [values], lambda value: {"v": value})
    records = flow.nn.OFRecordReader(tmp_path, len(values))()
    return flow.nn.OFRecordRawDecoder("v", shape, dtype, **options)(records)


def test_raw_decoder_converts(tmp_path):
    tensor = _decoded(tmp_path, [[1.5, 2.5, 3.5, 4.5]] * 2, (2, 2), flow.int32)
    assert tensor.dtype is flow.int32
    assert tensor.tolist() == [[[1, 2], [3, 4]]] * 2


@pytest.mark.parametrize(("dtype", "last"), [(flow.uint8, 255), (flow.int8, -1)])
def test_raw_decoder_takes_bytes_as_numbers(tmp_path, dtype, last):
    assert _decoded(tmp_path, [b"\x01\xff"], (2,), dtype).tolist() == [[1, last]]


@pytest.mark.parametrize(
    ("option", "given", "expected"),
    [
        ("truncate", [1, 2, 3, 4, 5], [[1, 2], [3, 4]]),
        ("auto_zero_padding", [1, 2, 3], [[1, 2], [3, 0]]),
        ("dim1_varying_length", [1, 2], [[1, 2], [0, 0]]),
    ],
)
def test_raw_decoder_with_other_lengths(tmp_path, option, given, expected):
    assert _decoded(tmp_path, [given], (2, 2), flow.int64, **{option: True}).tolist() == [expected]
    with pytest.raises(ValueError, match=f"has {len(given)} elements"):
        _decoded(tmp_path, [given], (2, 2), flow.int64)


def test_features_that_are_not_there(numbers):
    records = flow.nn.OFRecordReader(numbers)()
    with pytest.raises(KeyError, match="no feature `y`; it has n, x"):
        flow.nn.OFRecordRawDecoder("y", (1,), flow.int32)(records)
    with pytest.raises(TypeError, match="feature `x` must be one value of bytes"):
        flow.nn.OFRecordBytesDecoder("x")(records)
    with pytest.raises(TypeError, match="takes records, got ndarray"):
        flow.nn.OFRecordBytesDecoder("x")(flow.gen_tensor_buffer((1,), [(2,)], [0]))


# --- graphs


class ReadingGraph(flow.nn.Graph):
    """A graph that reads two features of each batch."""

    def __init__(self, folder, **options):
        super().__init__()
        self.reader = flow.nn.OFRecordReader(folder, 2, 2, **options)
        self.label = flow.nn.OFRecordRawDecoder("n", (1,), flow.int64)
        self.pixels = flow.nn.OFRecordRawDecoder("x", (2,), flow.float32)

    def build(self, factor):
        """Return the labels, and the other feature times a factor."""
        records = self.reader()
        return self.label(records), self.pixels(records) * factor


def test_each_call_of_a_graph_reads_a_batch(numbers, tmp_path):
    graph = ReadingGraph(numbers)
    for first in (0, 2, 4, 6, 0):
        label, pixels = graph(flow.tensor(10.0))
        assert label.flatten().tolist() == [first, first + 1]
        assert pixels[:, 0].tolist() == [10 * first, 10 * first + 10]
    with pytest.raises(RuntimeError, match="reads data files"):
        graph.save(tmp_path / "saved")


def test_graph_over_devices(numbers):
    placement = flow.placement("cpu", [0, 1])
    graph = ReadingGraph(numbers, placement=placement, sbp=flow.sbp.split(0))
    factor = flow.tensor(1.0).to_global(placement, flow.sbp.broadcast)
    assert [graph(factor)[0].flatten().tolist() for _ in range(2)] == [[0, 4], [1, 5]]


def test_reader_on_other_devices_than_the_graph(numbers):
    placement = flow.placement("cpu", [0, 1])
    graph = ReadingGraph(numbers, placement=placement, sbp=flow.sbp.split(0))
    with pytest.raises(RuntimeError, match=r"tensors on .*, but the graph runs on `cpu"):
        graph(flow.tensor(1.0))


def test_buffers_of_a_graph_have_no_values_outside(numbers):
    kept = []

    class Keeping(ReadingGraph):
        def build(self, factor):
            kept.append(self.reader())
            return self.label(kept[0]) * factor

    Keeping(numbers)(flow.tensor(1))
    assert "deferred" in repr(kept[0])
    with pytest.raises(RuntimeError, match="was made while a graph or job was recorded"):
        kept[0].numpy()
