"""Files made to do harm: one kind of error, no crash, and no more memory than their size allows."""

import io
import json
import pickle
import resource
import struct
import zipfile
from collections import OrderedDict
from contextlib import contextmanager

import numpy as np
import pytest
import safetensors.numpy
import torch

import oneflow as flow
from oneflow.checkpoint.shard_assignment import SavedShard, is_partition
from oneflow.data.vision.cifar import CIFAR10
from oneflow.data.vision.mnist import read_idx
from tests.checkpoint.test_foreign_files import Evil, load_torch

S = flow.sbp.split
PAIR = flow.placement("cpu", [0, 1])


@contextmanager
def limited_memory(size):
    """A block in which the process may take no more than that much more address space."""
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def archive_of(pickled, **storages):
    """A file of PyTorch with this pickle."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a/data.pkl", pickled)
        archive.writestr("a/byteorder", "little")
        for key, content in storages.items():
            archive.writestr(f"a/data/{key}", content)
    return file.getvalue()


def called(module, name, arguments):
    """A pickle of what a function returns."""
    return b"\x80\x02" + f"c{module}\n{name}\n".encode() + arguments + b"R."


def doubled_tuples(count):
    """Pickle opcodes of a tuple that holds a tuple twice, which holds a tuple twice, ..."""
    return b")" + b"".join(b"q%c0h%ch%c\x86" % (i, i, i) for i in range(count))


def shared_storage(name=b"FloatStorage", key=b"0", count=b"K\x04"):
    return (
        b"(X\x07\0\0\0storagectorch\n" + name + b"\nX\x01\0\0\0" + key + b"X\x03\0\0\0cpu"
        + count + b"tQ"
    )  # fmt: skip


def tensor_of(storage, size, stride, offset=b"K\x00", metadata=b"", grad=b"\x89"):
    return called(
        "torch._utils",
        "_rebuild_tensor_v2",
        b"(" + storage + offset + size + stride + grad + b"N" + metadata + b"t",
    )


NINE_BILLION = b"\x8a\x05" + (9 * 10**9).to_bytes(5, "little")
FLOATS = np.arange(4, dtype=np.float32).tobytes()
SHAPE, STEP = b"(K\x04t", b"(K\x01t"
DEEP = 200_000
# A pickle, and what its error says.
PICKLES = {
    "nested tuples as a key": (b"}" + b")" + b"\x85" * DEEP + b"Ns.", "key of a dict"),
    "nested tuples in a set": (b"\x8f(" + b")" + b"\x85" * DEEP + b"\x90.", "in a set"),
    "nested tuples in a frozenset": (b"(" + b")" + b"\x85" * DEEP + b"\x91.", "in a set"),
    "nested tuples in a set that is called": (
        called("builtins", "set", b"]" + b")" + b"\x85" * DEEP + b"a\x85"),
        "in a set",
    ),
    "nested tuples as a key that is called": (
        called("collections", "OrderedDict", b"]" + b")" + b"\x85" * DEEP + b"N\x86a\x85"),
        "key of a dict",
    ),
    "tuples that double as a key": (b"}" + doubled_tuples(60) + b"Ns.", "key of a dict"),
    "nested tuples as a size": (
        tensor_of(shared_storage(), b")" + b"\x85" * DEEP, STEP),
        "reaches beyond|recursion",
    ),
    "nested tuples as a storage's key": (
        b"(X\x07\0\0\0storagectorch\nFloatStorage\n)" + b"\x85" * DEEP + b"X\x03\0\0\0cpuK\x04tQ.",
        "no storage",
    ),
    "nested tuples as a device": (
        called("torch", "device", b")" + b"\x85" * DEEP + b"\x85"),
        "a device is described by a tuple",
    ),
    "nested lists": (b"]" * DEEP + b"a" * (DEEP - 1) + b".", "nested more than"),
    "nested tuples": (b")" + b"\x85" * DEEP + b".", "nested more than"),
    "nested dicts": (b"}" + b"N}" * DEEP + b"s" * DEEP + b".", "nested more than"),
    "a large bytearray": (called("builtins", "bytearray", NINE_BILLION + b"\x85"), "made of a int"),
    "a long text": (b"\x8d" + (2**60).to_bytes(8, "little") + b"abc.", "expected|damaged"),
    "texts decoded again and again": (
        b"c_codecs\nencode\n0X\x80\x96\x98\x00"
        + b"a" * 10_000_000
        + b"q\x010X\x06\0\0\0latin1q\x02"
        + b"0]" + b"c_codecs\nencode\nh\x01h\x02\x86Ra" * 60
        + b".",
        "more than .* bytes of memory",
    ),
    "a stride of zero": (
        tensor_of(shared_storage(), b"(" + NINE_BILLION + b"t", b"(K\x00t"),
        "more than .* bytes of memory",
    ),
    "a mark": (b"(.", "holds a Mark"),
    "a mark in a tuple": (b"(\x85.", "holds a Mark"),
    "a function": (b"ctorch._utils\n_rebuild_tensor_v2\n.", "holds a method"),
    "a class": (b"ccollections\nOrderedDict\n.", "holds a function"),
    "a class of storages": (b"ctorch\nFloatStorage\n.", "holds a StorageType"),
    "a class of parameters": (b"ctorch.nn.parameter\nParameter\n.", "holds a method"),
    "an unknown property": (
        tensor_of(shared_storage(), SHAPE, STEP, metadata=b"}X\x04\0\0\0zeta\x88s"),
        "property `zeta`",
    ),
    "a storage that is not there": (tensor_of(shared_storage(key=b"7"), SHAPE, STEP), "data/7"),
    "a dtype that is none": (tensor_of(shared_storage(b"QInt8Storage"), SHAPE, STEP), "QInt8"),
    "an unfinished array": (called("numpy", "ndarray", b")"), "never finished"),
    "an array without content": (
        called("numpy", "ndarray", b")")[:-1] + b"(K\x01(" + NINE_BILLION + b"tN\x89Ntb.",
        "damaged",
    ),
    "gradients of whole numbers": (
        tensor_of(shared_storage(b"IntStorage"), SHAPE, STEP, grad=b"\x88"),
        "require gradients|gradient",
    ),
    "no end": (b"]", "no end|exhausted"),
    "nothing": (b"", "exhausted|damaged"),
}  # fmt: skip


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", PICKLES)
def test_pickles(tmp_path, name):
    pickled, match = PICKLES[name]
    path = tmp_path / "file.pt"
    path.write_bytes(archive_of(pickled, **{"0": FLOATS}))
    with limited_memory(2**31), pytest.raises(RuntimeError, match=match) as caught:
        flow.load(path)
    assert str(path) in str(caught.value)


def test_tuples_that_double_are_read_at_once(tmp_path):
    (tmp_path / "file.pt").write_bytes(archive_of(doubled_tuples(60) + b"."))
    loaded = flow.load(tmp_path / "file.pt")
    for _ in range(60):
        assert loaded[0] is loaded[1]
        loaded = loaded[0]
    assert loaded == ()


def test_archives_that_would_grow(tmp_path):
    path = tmp_path / "file.pt"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/data.pkl", b"N.")
        archive.writestr("a/data/0", bytes(10**7))
    with pytest.raises(RuntimeError, match="compressed"):
        flow.load(path)
    content = archive_of(b"N.", **{"0": bytes(1000)})
    # The sizes of the last entry in the archive's list.
    place = content.rindex(struct.pack("<II", 1000, 1000))
    path.write_bytes(content[:place] + struct.pack("<II", 2**31, 2**31) + content[place + 8 :])
    with pytest.raises(RuntimeError, match="larger than the file"):
        flow.load(path)


def test_old_files_that_claim_much(tmp_path):
    path = tmp_path / "file.pt"
    torch.save(torch.ones(4), path, _use_new_zipfile_serialization=False)
    content = path.read_bytes()
    place = content.rindex((4).to_bytes(8, "little"))
    for count in (5, 2**33, 2**63):
        path.write_bytes(content[:place] + count.to_bytes(8, "little") + content[place + 8 :])
        with limited_memory(2**31), pytest.raises(RuntimeError, match="ends early"):
            flow.load(path)


# --- values as PyTorch has them


@pytest.mark.parametrize("zipped", [True, False], ids=["zip", "legacy"])
def test_conjugate_and_negative_views(tmp_path, zipped):
    x = torch.tensor([[1 + 2j, 3 - 4j], [5j, -6]])
    obj = {
        "x": x,
        "conjugate": x.conj(),
        "transposed": x.mH,
        "imaginary": x.conj().imag,
        "negative": torch._neg_view(torch.arange(3.0)),
        "parameter": torch.nn.Parameter(x.conj()),
    }
    for tensor in obj.values():
        expected = tensor.detach().resolve_conj().resolve_neg()
        loaded = load_torch(tensor, tmp_path, zipped)
        np.testing.assert_array_equal(loaded.numpy(), expected.numpy())
    loaded = load_torch([x, x.conj(), x.conj()], tmp_path, zipped)
    np.testing.assert_array_equal(loaded[0].numpy(), x.numpy())
    assert loaded[1] is not loaded[2]  # as in PyTorch, in the same memory
    loaded[1][0, 0] = 7 + 1j
    assert [tensor[0, 0].item() for tensor in loaded] == [7 - 1j, 7 + 1j, 7 + 1j]


def test_tensors_as_keys_and_in_sets(tmp_path):
    x = torch.ones(2)
    loaded = load_torch({"set": {x}, "keys": {x: 1}, "ordered": OrderedDict({x: 2})}, tmp_path)
    (tensor,) = loaded["set"]
    assert tensor.tolist() == [1, 1]
    assert next(iter(loaded["keys"])) is next(iter(loaded["ordered"])) is tensor


def test_numpy_dtypes(tmp_path):
    assert load_torch([np.dtype("float32"), np.dtype(">i2")], tmp_path) == [
        np.dtype("float32"),
        np.dtype(">i2"),
    ]


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: torch.quantize_per_tensor(torch.ones(2), 1, 0, torch.qint8), "_rebuild_qtensor"),
        (lambda: np.array([None]), "lists of other objects"),
    ],
    ids=["quantized", "objects"],
)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_what_is_not_supported_is_refused_by_name(tmp_path, make, match):
    with pytest.raises(RuntimeError, match=match) as caught:
        load_torch({"x": make()}, tmp_path)
    assert "file.pth" in str(caught.value)


def test_an_error_of_map_location_is_not_one_of_the_file(tmp_path):
    def fail(saved):
        raise KeyError("mine")

    flow.save(flow.ones(1), tmp_path / "file")
    torch.save(torch.ones(1), tmp_path / "file.pt")
    for name in ("file", "file.pt"):
        with pytest.raises(RuntimeError, match="`map_location` returns no device") as caught:
            flow.load(tmp_path / name, map_location=fail)
        assert "damaged" not in str(caught.value)


# --- safetensors


def safetensors_of(entries, size, metadata=None):
    header = {**entries, **({"__metadata__": metadata} if metadata else {})}
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + bytes(size)


PLAIN = {"a": {"dtype": "F64", "shape": [2, 2], "data_offsets": [0, 32]}}
FLOAT4 = {"a": {"dtype": "F4", "shape": [4], "data_offsets": [0, 2]}}
LABEL = "oneflow.structure"


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (safetensors_of(FLOAT4, 2), "`a` has the type F4"),
        (safetensors_of(PLAIN, 32, {"format": "oneflow", "complex": "yes"}), "damaged"),
        (safetensors_of(PLAIN, 32, {"format": "oneflow", "complex": "true"}), "damaged"),
        (safetensors_of(PLAIN, 32, {"format": "oneflow", "complex": '["b"]'}), "damaged"),
        (safetensors_of(PLAIN, 32, {LABEL: '{"tensor": "b", "device": "cpu"}'}), "damaged"),
        (safetensors_of(PLAIN, 32, {LABEL: '{"tensor": "a"}'}), "description is damaged"),
        (safetensors_of(PLAIN, 32, {LABEL: '{"tensor": [], "device": 1}'}), "damaged"),
        (safetensors_of(PLAIN, 32, {LABEL: '{"set": [{"list": []}]}'}), "damaged"),
        (safetensors_of(PLAIN, 32, {LABEL: '{"size": "ab"}'}), "damaged"),
        (safetensors_of(PLAIN, 32, {LABEL: "[" * 100_000}), "damaged"),
        (safetensors_of(PLAIN, 32, {LABEL: "[" * 5000 + "]" * 5000}), "damaged"),
    ],
)
def test_safetensors(tmp_path, content, match):
    path = tmp_path / "file.safetensors"
    path.write_bytes(content)
    with pytest.raises(RuntimeError, match=match) as caught:
        flow.load(path)
    assert "file.safetensors" in str(caught.value)
    with pytest.raises(RuntimeError, match=match):
        flow.load(io.BytesIO(content))


def test_a_users_metadata_is_the_users(tmp_path):
    for text in ("yes", "true", "{}", '["a"]'):
        arrays, path = {"a": np.ones((2, 2))}, tmp_path / "file"
        safetensors.numpy.save_file(arrays, path, {"complex": text, "format": "np"})
        assert flow.load(path)["a"].tolist() == [[1, 1], [1, 1]]


def test_what_could_not_be_loaded_again_is_not_saved(tmp_path, monkeypatch):
    flow.save([1], tmp_path / "file")
    monkeypatch.setattr("oneflow.checkpoint.tensor_file._LONGEST_HEADER", 2000)
    with pytest.raises(ValueError, match="2000"):
        flow.save("x" * 3000, tmp_path / "file")
    with pytest.raises(TypeError, match=r"longdouble|float128"):
        flow.save(np.ones(2, np.longdouble), tmp_path / "file")
    assert flow.load(tmp_path / "file") == [1]
    flow.save(np.arange(3, dtype=">i4"), tmp_path / "file")
    assert flow.load(tmp_path / "file").tolist() == [0, 1, 2]


# --- checkpoints in parts


@pytest.mark.parametrize(
    ("shape", "boxes", "right"),
    [
        ((4,), [((0,), (2,)), ((2,), (2,))], True),
        ((4,), [((0,), (2,)), ((1,), (2,))], False),
        ((4,), [((0,), (2,)), ((0,), (2,))], False),
        ((4,), [((0,), (4,)), ((0,), (4,))], False),
        ((4,), [((0,), (2,)), ((3,), (1,))], False),
        ((4,), [((0,), (2,)), ((2,), (3,))], False),
        ((2, 2), [((0, 0), (1, 2)), ((1, 0), (1, 1)), ((1, 1), (1, 1))], True),
        ((2, 2), [((0, 0), (1, 2)), ((0, 1), (2, 1)), ((1, 0), (1, 0))], False),
        ((2, 2), [((0,), (2,))], False),
        ((), [((), ())], True),
        ((), [((), ()), ((), ())], False),
        ((3,), [], False),
        ((1,) * 40, [((0,) * 40, (1,) * 40)], True),
        ((2,) * 40, [((0,) * 40, (1,) * 40)], False),
    ],
)
def test_parts_cover_exactly(shape, boxes, right):
    assert is_partition([SavedShard("f", *box) for box in boxes], shape) is right


def test_random_parts():
    random = np.random.default_rng(0)
    for _ in range(300):
        shape = tuple(random.integers(1, 4, 2).tolist())
        counts, boxes = np.zeros(shape, int), []
        for _ in range(random.integers(1, 5)):
            starts = random.integers(0, shape)
            sizes = random.integers(0, np.array(shape) - starts + 1)
            boxes.append(SavedShard("f", tuple(starts.tolist()), tuple(sizes.tolist())))
            counts[tuple(map(slice, starts, starts + sizes))] += 1
        assert is_partition(boxes, shape) == bool((counts == 1).all())


@pytest.mark.parametrize(
    "change",
    [
        {"parts": [["rank0-0.safetensors", [0, 0], [2, 2]]] * 2},
        {"parts": [["rank0-0.safetensors", [0], [4]]]},
        {"parts": [["rank0-0.safetensors", [0, 0], [4, -2]]]},
        {"parts": [["rank7-0.safetensors", [0, 0], [4, 2]]]},
        {"parts": [["rank0-0.safetensors", [0, 0], [4, 1e999]]]},
        {"parts": [["rank0-0.safetensors"]]},
        {"parts": 3},
        {"shape": [4, 3]},
        {"shape": [2**40, 2**40]},
        {"shape": None},
        {"dtype": "int31"},
    ],
)  # fmt: skip
def test_manifests(tmp_path, change):
    folder = tmp_path / "checkpoint"
    flow.save({"x": flow.ones(4, 2, placement=PAIR, sbp=S(0))}, folder)
    content = json.loads((folder / "checkpoint.json").read_text())
    content["tensors"]["x"].update(change)
    (folder / "checkpoint.json").write_text(json.dumps(content))
    with pytest.raises(RuntimeError, match=r"`checkpoint.json` is damaged") as caught:
        flow.load(folder)["x"].numpy()
    assert str(folder) in str(caught.value)


@pytest.mark.parametrize("text", ['{"version": 1e999}', "[]", "null", "", "[" * 100_000, "\xff"])
def test_manifests_that_are_none(tmp_path, text):
    (tmp_path / "checkpoint.json").write_bytes(text.encode("latin1"))
    with pytest.raises(RuntimeError, match=r"`checkpoint.json` is damaged"):
        flow.load(tmp_path)


# --- folders of OneFlow 0.5 to 1.0


def reference(name):
    text = name.encode()
    state = b"}X\x04\0\0\0pathX" + len(text).to_bytes(4, "little") + text + b"s"
    return b"coneflow\nTensor\n)R" + state + b"b"


def old_folder(folder, content):
    (folder / "pickled_data").write_bytes(b"\x80\x02}X\x04\0\0\0data" + content + b"s.")


@pytest.mark.parametrize("name", ["..", ".", "../x", "/etc", "a/b", "", "a\0b"])
def test_old_folders_reach_nothing_outside(tmp_path, name):
    inside = tmp_path / "inside"
    inside.mkdir()
    for folder in (tmp_path, inside):
        (folder / "meta").write_text("shape {\n  dim: 1\n}\ndata_type: kFloat\n")
        (folder / "out").write_bytes(bytes(4))
    old_folder(inside, reference(name))
    with pytest.raises(RuntimeError, match="not the name of a tensor's folder"):
        flow.load(inside)


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"coneflow\nTensor\n", "holds a function"),
        (b"coneflow\nTensor\n)R", "never finished"),
        (reference("missing"), "missing"),
        (reference("long"), "has 4 bytes"),
        (b"}" + b")" + b"\x85" * DEEP + b"Ns", "key of a dict"),
    ],
)
def test_old_folders(tmp_path, content, match):
    (tmp_path / "long").mkdir()
    (tmp_path / "long" / "meta").write_text("shape {\n  dim: 99999999999\n}\ndata_type: kFloat\n")
    (tmp_path / "long" / "out").write_bytes(bytes(4))
    old_folder(tmp_path, content)
    with limited_memory(2**31), pytest.raises(RuntimeError, match=match):
        flow.load(tmp_path)


# --- files of data sets


def test_data_sets_that_are_damaged(tmp_path):
    folder = tmp_path / "cifar-10-batches-py"
    folder.mkdir()
    for name in [f"data_batch_{n}" for n in range(1, 6)] + ["batches.meta"]:
        (folder / name).write_bytes(pickle.dumps({"data": 1}))
    with pytest.raises(RuntimeError, match="data_batch_1"):
        CIFAR10(tmp_path)
    (folder / "data_batch_1").write_bytes(pickle.dumps(Evil((print, ()))))
    with pytest.raises(RuntimeError, match="print"):
        CIFAR10(tmp_path)


@pytest.mark.parametrize("name", ["x.gz", "x"])
def test_idx_files_that_are_damaged(tmp_path, name):
    for content in (b"", b"\x1f\x8b\x08\0\0\0\0\0\0\xffabc", b"\0\0\x08\x03" + b"\xff" * 12):
        (tmp_path / name).write_bytes(content)
        with limited_memory(2**31), pytest.raises(RuntimeError, match=name):
            read_idx(tmp_path / name)
