"""OneRec files: what OneFlow reads, what the writer writes the reader reads, what is refused."""

from __future__ import annotations

import base64
import sys

import numpy as np
import pytest

import oneflow as flow
from oneflow.data.readers import onerec
from oneflow.data.readers.onerec import OneRecTensor, decode_example, encode_example, read_examples

# OneFlow 0.9.0, with its checks of examples, reads these bytes as two records: `id` is int64
# [7, -1] and [8, -1], `x` is float32 [[0.5]] and [[1.5]].
READ_BY_ONEFLOW = base64.b64decode(
    "Xk9ORVJFQyQAAAAAwAAAAKDX/BGq21XsCAAAADFSRUNq////BAAAAAIAAABQAAAABAAAAMD///8QAAAABAAAAAEAAAB4"
    "AAAAtv///xgAAAAAAAAFBAAAAAIAAAABAAAAAQAAAK7///8EAAAAAQAAAAAAAD8IAAwACAAEAAgAAAAcAAAABAAAAAIA"
    "AABpZAAAAAAKABAADAALAAQACgAAABwAAAAAAAAEBAAAAAEAAAACAAAAAAAGAAgABAAGAAAABAAAAAIAAAAHAAAAAAAA"
    "AP//////////m/HQDPdXOgZeT05FUkVDJAAAAADAAAAAoNf8EarbVewIAAAAMVJFQ2r///8EAAAAAgAAAFAAAAAEAAAA"
    "wP///xAAAAAEAAAAAQAAAHgAAAC2////GAAAAAAAAAUEAAAAAgAAAAEAAAABAAAArv///wQAAAABAAAAAADAPwgADAAI"
    "AAQACAAAABwAAAAEAAAAAgAAAGlkAAAAAAoAEAAMAAsABAAKAAAAHAAAAAAAAAQEAAAAAQAAAAIAAAAAAAYACAAEAAYA"
    "AAAEAAAAAgAAAAgAAAAAAAAA//////////9o896gu+dexw=="
)
FRAME = len(READ_BY_ONEFLOW) // 2


def write(path, records):
    """Write a OneRec file and return its path."""
    with flow.data.OneRecWriter(path) as file:
        for record in records:
            file.write(record)
    return path


@pytest.fixture
def files(tmp_path):
    """Two files with the numbers 0 to 3 and 4 to 7."""
    return [
        write(tmp_path / f"{part}.onerec", [{"n": [i]} for i in range(4 * part, 4 * part + 4)])
        for part in range(2)
    ]


def numbers_of(records):
    """Return the feature `n` of records as a list."""
    return flow.decode_onerec(records, "n", flow.int64, (1,)).flatten().tolist()


def test_file_that_oneflow_reads(tmp_path):
    path = tmp_path / "a.onerec"
    path.write_bytes(READ_BY_ONEFLOW)
    records = flow.nn.OneRecReader([path], 2, False, "instance")()
    assert flow.decode_onerec(records, "id", flow.int64, (2,)).tolist() == [[7, -1], [8, -1]]
    assert flow.decode_onerec(records, "x", flow.float32, (1, 1)).tolist() == [[[0.5]], [[1.5]]]


def test_writer_repeats_the_bytes(tmp_path):
    given = [{"x": np.float32([[i + 0.5]]), "id": np.int64([7 + i, -1])} for i in range(2)]
    assert write(tmp_path / "a", given).read_bytes() == READ_BY_ONEFLOW


@pytest.mark.parametrize(
    "value",
    [
        np.int8([-128, 127]),
        np.int16([[-(2**15)], [2**15 - 1]]),
        np.int32([2**31 - 1]),
        np.int64([[2**63 - 1, -(2**63)]]),
        np.float32([0, -1.5, np.inf, np.nan]),
        np.float64([[[1e300, -0.0]]]),
        np.empty((0, 3), np.float32),
    ],
    ids=lambda value: f"{value.dtype}{list(value.shape)}",
)
def test_arrays_come_back(value):
    found = decode_example(encode_example({"first": [1], "käse": value, "last": b"x"}))["käse"]
    assert found.shape == value.shape
    assert found.values.dtype == value.dtype
    np.testing.assert_array_equal(found.values.reshape(found.shape), value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (3, OneRecTensor((1,), np.int64([3]))),
        (2.5, OneRecTensor((1,), np.float32([2.5]))),
        (np.float64(2.5), OneRecTensor((1,), np.float64([2.5]))),
        ([True, False], OneRecTensor((2,), np.int8([1, 0]))),
        ("text", OneRecTensor((1,), ["text"])),
        (["", "ä"], OneRecTensor((2,), ["", "ä"])),
        ([b"", b"\x00\xff"], OneRecTensor((2,), [b"", b"\x00\xff"])),
    ],
)
def test_stored_values(value, expected):
    found = decode_example(encode_example({"key": value}))["key"]
    assert found.shape == expected.shape
    assert list(found.values) == list(expected.values)
    assert getattr(found.values, "dtype", None) == getattr(expected.values, "dtype", None)


@pytest.mark.parametrize("value", [1j, np.uint8([1]), np.float16([1]), ["a", b"b"], None])
def test_values_that_are_not_stored(value):
    with pytest.raises(TypeError, match="feature `key` must be"):
        encode_example({"key": value})


# --- damaged files


def read(data, tmp_path, verify=True):
    """Return the records of a file with these bytes."""
    path = tmp_path / "a.onerec"
    path.write_bytes(data)
    return list(read_examples(path, verify))


def test_truncated_files(tmp_path):
    for size in range(len(READ_BY_ONEFLOW)):
        if size % FRAME == 0:
            assert len(read(READ_BY_ONEFLOW[:size], tmp_path)) == size // FRAME
            continue
        start = size // FRAME * FRAME
        with pytest.raises(ValueError, match=rf"a\.onerec: the record at byte {start}: .*trunc"):
            read(READ_BY_ONEFLOW[:size], tmp_path)


def test_no_changed_byte_stays_unnoticed(tmp_path):
    for at in range(FRAME):
        data = bytearray(READ_BY_ONEFLOW[:FRAME])
        data[at] ^= 1
        with pytest.raises(ValueError, match=r"the record at byte 0: .*(checksum|no OneRec file)"):
            read(bytes(data), tmp_path)


def test_damaged_messages_raise_nothing_else():
    message = READ_BY_ONEFLOW[24 : FRAME - 8]
    random = np.random.default_rng(0)
    refused = 0
    for _ in range(2000):
        data = bytearray(message)
        data[random.integers(len(data))] = random.integers(256)
        try:
            decode_example(bytes(data))
        except ValueError:
            refused += 1
    assert refused > 200


def test_identifier_of_examples(tmp_path, monkeypatch):
    monkeypatch.setattr(onerec, "_IDENTIFIER", b"2REC")
    data = write(tmp_path / "b", [{"n": [1]}]).read_bytes()
    monkeypatch.undo()
    with pytest.raises(ValueError, match="identifier b'2REC', not b'1REC'"):
        read(data, tmp_path)
    assert read(data, tmp_path, verify=False)[0]["n"].values.tolist() == [1]


def test_missing_package(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "xxhash", None)
    onerec._package.cache_clear()
    for make in (
        lambda: flow.data.OneRecWriter(tmp_path / "a"),
        lambda: flow.nn.OneRecReader([tmp_path / "a"], 1, False, "batch"),
    ):
        with pytest.raises(ImportError, match=r"package `xxhash`: pip install '.*onerec"):
            make()


# --- readers


def test_batches_without_end(files):
    reader = flow.nn.OneRecReader(files, 3, False, "batch")
    assert [numbers_of(reader()) for _ in range(3)] == [[0, 1, 2], [3, 4, 5], [6, 7, 0]]


def test_shuffled_records(files):
    def epochs(**options):
        reader = flow.nn.OneRecReader(files, 1, True, "instance", shuffle_buffer_size=4, **options)
        return [numbers_of(reader())[0] for _ in range(400)]

    first = epochs(random_seed=3)
    assert first == epochs(random_seed=3) != epochs(random_seed=4)
    # A record is drawn as often as it has come into the buffer.
    assert set(first) == set(range(8))
    assert first[:8] != sorted(first[:8])
    flow.manual_seed(5)
    seeded = epochs()
    flow.manual_seed(5)
    assert seeded == epochs()


def test_shuffled_batches_stay_together(files):
    reader = flow.nn.OneRecReader(files, 2, True, "batch", random_seed=0, shuffle_buffer_size=3)
    batches = [tuple(numbers_of(reader())) for _ in range(40)]
    assert set(batches) == {(0, 1), (2, 3), (4, 5), (6, 7)}
    assert batches[:4] != sorted(batches[:4])


def test_files_in_another_order_after_an_epoch(tmp_path):
    files = [write(tmp_path / str(i), [{"n": [i]}]) for i in range(16)]
    reader = flow.nn.OneRecReader(files, 16, False, "batch", 0, shuffle_after_epoch=True)
    first, second = numbers_of(reader()), numbers_of(reader())
    assert first == sorted(second) == list(range(16)) != second


def test_devices_have_files_of_their_own(files):
    placement = flow.placement("cpu", [0, 1])
    reader = flow.nn.OneRecReader(
        files, 4, False, "batch", placement=placement, sbp=flow.sbp.split(0)
    )
    labels = flow.decode_onerec(reader(), "n", flow.int64, (1,))
    assert labels.sbp == (flow.sbp.split(0),)
    assert labels.shape == (4, 1)
    assert labels.flatten().tolist() == [0, 1, 4, 5]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"shuffle_mode": "epoch"}, ValueError, "`shuffle_mode` must be"),
        ({"files": []}, ValueError, "`files` must be a list"),
        ({"files": "a.onerec"}, ValueError, "`files` must be a list"),
        ({"files": ["nowhere.onerec"]}, FileNotFoundError, "nowhere.onerec is missing"),
        ({"batch_size": 0}, ValueError, "`batch_size` must be a positive"),
    ],
)
def test_options_that_are_refused(files, options, error, message):
    given = {"files": files, "batch_size": 2, "shuffle": False, "shuffle_mode": "batch", **options}
    with pytest.raises(error, match=message):
        flow.nn.OneRecReader(**given)


# --- decoding


@pytest.fixture
def ragged(tmp_path):
    """A batch of two records, whose feature `v` has 2 and 4 numbers, and `t` texts."""
    given = [{"v": np.int32([1, 2]), "t": "a"}, {"v": np.int32([3, 4, 5, 6]), "t": "b"}]
    return flow.nn.OneRecReader([write(tmp_path / "r", given)], 2, False, "batch")()


@pytest.mark.parametrize(
    ("shape", "options", "expected"),
    [
        ((5,), {"batch_padding": (5,)}, [[1, 2, 0, 0, 0], [3, 4, 5, 6, 0]]),
        ((4,), {"batch_padding": (-1,)}, [[1, 2, 0, 0], [3, 4, 5, 6]]),
        ((9,), {"batch_padding": (-1,), "is_dynamic": True}, [[1, 2, 0, 0], [3, 4, 5, 6]]),
        (
            (2, 2),
            {"reshape": (-1, 2), "batch_padding": (2, 0)},
            [[[1, 2], [0, 0]], [[3, 4], [5, 6]]],
        ),
    ],
)
def test_shapes(ragged, shape, options, expected):
    found = flow.decode_onerec(ragged, "v", flow.int32, shape, **options)
    assert found.dtype is flow.int32
    assert found.tolist() == expected


@pytest.mark.parametrize(
    ("key", "dtype", "shape", "options", "error", "message"),
    [
        ("v", flow.int32, (2,), {}, ValueError, r"shapes \[\(2,\), \(4,\)\]"),
        ("v", flow.int32, (2,), {"batch_padding": (-1,)}, ValueError, r"shapes \[\(4,\)\]"),
        ("v", flow.int32, (3,), {"batch_padding": (3,)}, ValueError, "has the length 4"),
        ("v", flow.int32, (3,), {"batch_padding": (-2,)}, ValueError, "`batch_padding` must be"),
        ("v", flow.int32, (3,), {"batch_padding": (1, 0)}, ValueError, "must have the length"),
        ("v", flow.int32, (3,), {"reshape": (1, 3)}, ValueError, "`reshape` must have the length"),
        ("v", flow.int32, (3,), {"reshape": (3,)}, ValueError, "2 elements, which is no shape"),
        ("v", flow.int32, (2, 1), {}, ValueError, r"shape \(2,\), and `shape` 2 sizes"),
        (
            "v",
            flow.int32,
            (3,),
            {"batch_padding": (-1,), "is_dynamic": True},
            ValueError,
            r"\(4,\), more than \(3,\)",
        ),
        ("v", flow.int64, (2,), {}, TypeError, "stored as int32, and `dtype` is oneflow.int64"),
        ("t", flow.int8, (1,), {}, TypeError, "stored as texts or bytes"),
        ("w", flow.int32, (2,), {}, KeyError, "no feature `w`; it has t, v"),
    ],
)
def test_decoding_that_is_refused(ragged, key, dtype, shape, options, error, message):
    with pytest.raises(error, match=message):
        flow.decode_onerec(ragged, key, dtype, shape, **options)


def test_other_values_are_no_records():
    images = flow.gen_tensor_buffer((1,), [(2,)], [0])
    with pytest.raises(TypeError, match="takes the records of a OneRecReader"):
        flow.decode_onerec(images, "x", flow.float32, (2,))


# --- graphs


def test_each_call_of_a_graph_reads_a_batch(files):
    class Reading(flow.nn.Graph):
        def __init__(self):
            super().__init__()
            self.reader = flow.nn.OneRecReader(files, 2, False, "batch")

        def build(self):
            first = flow._C.decode_onerec(self.reader(), "n", flow.int64, (1,))
            records = flow.read_onerec(files, 1, False, "instance")
            return first * 10, flow.decode_onerec(records, "n", flow.int64, (1,))

    graph = Reading()
    found = [[tensor.flatten().tolist() for tensor in graph()] for _ in range(2)]
    assert found == [[[0, 10], [0]], [[20, 30], [1]]]


def test_shapes_of_a_graph_are_known_before(files):
    class Dynamic(flow.nn.Graph):
        def build(self):
            records = flow.read_onerec(files, 1, False, "instance")
            return flow.decode_onerec(records, "n", flow.int64, (1,), is_dynamic=True)

    with pytest.raises(RuntimeError, match="`is_dynamic` gives the tensor a shape"):
        Dynamic()()


def test_functions_belong_into_graphs(files):
    with pytest.raises(RuntimeError, match=r"flow\.read_onerec\(\) belongs into"):
        flow.read_onerec(files, 1, False, "instance")
