"""`save` and `load`: everything that goes in comes out, and nothing else ever gets in."""

import argparse
import collections
import io
import os
import pickle
import stat
import types
from pathlib import Path, PurePosixPath, PureWindowsPath

import numpy as np
import pytest
import safetensors.numpy
import safetensors.torch
import torch

import oneflow as flow
from oneflow import nn

DTYPES = (
    "bool",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
)


def round_trip(obj, folder):
    flow.save(obj, folder / "file")
    return flow.load(folder / "file")


def assert_same_tensor(one, other):
    assert one.dtype is other.dtype
    assert one.shape == other.shape
    assert one.device is other.device
    np.testing.assert_array_equal(one.numpy(), other.numpy())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (2, 3), (2, 0, 3)])
def test_every_dtype_and_shape(tmp_path, dtype, shape):
    numbers = np.arange(np.prod(shape, dtype=int)).reshape(shape) % 2
    tensor = flow.tensor(numbers).to(getattr(flow, dtype))
    assert_same_tensor(round_trip(tensor, tmp_path), tensor)


def test_special_numbers_survive(tmp_path):
    numbers = [float("nan"), float("inf"), -float("inf"), -0.0, 1e-45, 1e308]
    assert repr(round_trip(numbers, tmp_path)) == repr(numbers)
    tensor = flow.tensor(numbers, dtype=flow.float64)
    assert round_trip(tensor, tmp_path).numpy().tobytes() == tensor.numpy().tobytes()


def test_nested_plain_data(tmp_path):
    obj = {
        "text": "Grüße\n\0",
        5: None,
        (1, "a"): True,
        "numbers": [1, -(2**70), 2.5, 1 + 2j],
        "tuple": (1, [2, (3,)]),
        "sets": ({3, 1}, frozenset({"b"})),
        "bytes": (b"\0\xff", bytearray(b"xy")),
        "ours": (flow.Size([2, 3]), flow.bfloat16, flow.device("cpu")),
        "empty": ({}, [], (), set()),
        "ordered": collections.OrderedDict([("z", 1), ("a", 2)]),
    }
    loaded = round_trip(obj, tmp_path)
    assert loaded == obj
    assert list(loaded) == list(obj)
    assert type(loaded["ordered"]) is collections.OrderedDict
    assert type(loaded["ours"][0]) is flow.Size
    assert type(loaded["bytes"][1]) is bytearray


PLAIN_OBJECTS = [
    collections.Counter("aab"),
    collections.defaultdict(list, {"a": [1]}),
    collections.defaultdict(None, {"a": 1}),
    collections.deque([1, (2,)], 5),
    collections.deque([1]),
    argparse.Namespace(lr=0.1, layers=[1, 2]),
    types.SimpleNamespace(a={"b": (1,)}),
    range(2, 9, 3),
    Path("folder") / "file",
    PurePosixPath("/x"),
    PureWindowsPath("c:/x"),
]


@pytest.mark.parametrize("value", PLAIN_OBJECTS, ids=lambda value: type(value).__name__)
def test_plain_objects_of_the_standard_library(tmp_path, value):
    tensor = flow.ones(2)
    loaded = round_trip({"x": value, "y": tensor}, tmp_path)["x"]
    assert loaded == value
    assert type(loaded) is type(value)
    for attribute in ("maxlen", "default_factory"):
        assert getattr(loaded, attribute, None) == getattr(value, attribute, None)


def test_tensors_in_plain_objects(tmp_path):
    tensor = flow.ones(2)
    saved = argparse.Namespace(a=collections.deque([tensor]), b=tensor)
    loaded = round_trip(saved, tmp_path)
    assert loaded.a[0] is loaded.b
    assert loaded.b.tolist() == [1.0, 1.0]


class Configuration(collections.UserDict):
    """A mapping that is no dict."""


class Items(collections.UserList):
    """A sequence that is no list."""


Pair = collections.namedtuple("Pair", "a b")


class Options(dict):
    """A dict with a class of its own."""


def test_other_mappings_and_sequences_become_pythons_own(tmp_path):
    saved = {
        "mapping": Configuration(a=Items([1, 2])),
        "tuple": Pair(1, [2]),
        "options": Options(a=1),
        "keys": {"x": 1}.keys(),
    }
    wanted = {"mapping": {"a": [1, 2]}, "tuple": (1, [2]), "options": {"a": 1}, "keys": {"x"}}
    loaded = round_trip(saved, tmp_path)
    assert loaded == wanted
    assert {name: type(value) for name, value in loaded.items()} == {
        name: type(value) for name, value in wanted.items()
    }
    looped = Items()
    looped.append(looped)
    with pytest.raises(ValueError, match="contains itself"):
        flow.save(looped, tmp_path / "file")


def test_options_of_optimizers_that_are_other_sequences(tmp_path):
    def make(betas):
        return flow.optim.Adam([flow.nn.Parameter(flow.ones(2))], lr=0.1, betas=betas)

    optimizer = make(Items([0.8, 0.9]))
    assert optimizer.param_groups[0]["betas"] == (0.8, 0.9)
    state = round_trip(optimizer.state_dict(), tmp_path)
    state["param_groups"][0]["betas"] = [0.7, 0.9]
    other = make((0.5, 0.5))
    other.load_state_dict(state)
    assert other.param_groups[0]["betas"] == (0.7, 0.9)


def test_arrays_of_text(tmp_path):
    obj = [np.array([["a", "bcd"], ["é", ""]]), np.array([b"x", b"yz"]), np.array("abc")]
    loaded = round_trip(obj, tmp_path)
    for mine, theirs in zip(loaded, obj, strict=True):
        assert mine.dtype == theirs.dtype
        np.testing.assert_array_equal(mine, theirs)
    assert round_trip({np.str_("a"): np.bytes_(b"b")}, tmp_path) == {"a": b"b"}


@pytest.mark.parametrize("name", ["F8_E4M3", "F8_E5M2", "F8_E8M0"])
def test_safetensors_files_with_numbers_of_8_bits(tmp_path, name):
    kind = {"F8_E4M3": "float8_e4m3fn", "F8_E5M2": "float8_e5m2", "F8_E8M0": "float8_e8m0fnu"}[name]
    numbers = torch.arange(256).to(torch.uint8).reshape(16, 16).view(getattr(torch, kind))
    safetensors.torch.save_file({"x": numbers, "y": torch.ones(3)}, tmp_path / "file")
    wanted = numbers.to(torch.bfloat16).float().numpy()
    content = io.BytesIO((tmp_path / "file").read_bytes())
    placement = flow.placement("cpu", [0])
    for loaded in (
        flow.load(tmp_path / "file"),
        flow.load(content),
        flow.load(tmp_path / "file", map_location=(placement, flow.sbp.split(0))),
    ):
        assert loaded["x"].dtype is flow.bfloat16
        np.testing.assert_array_equal(loaded["x"].float().numpy(), wanted)


def test_numpy_arrays_and_scalars(tmp_path):
    obj = {"array": np.arange(6).reshape(2, 3).T, "scalar": np.float32(1.5), "flag": np.bool_(True)}
    loaded = round_trip(obj, tmp_path)
    np.testing.assert_array_equal(loaded["array"], obj["array"])
    assert type(loaded["scalar"]) is np.float32
    assert loaded["flag"] == np.True_
    loaded["array"][0, 0] = 9  # it is the caller's


def test_views_and_computed_tensors(tmp_path):
    whole = flow.arange(12).reshape(3, 4)
    loaded = round_trip(
        {"whole": whole, "row": whole[1], "turned": whole.t(), "sum": whole + 1}, tmp_path
    )
    assert loaded["row"].tolist() == [4, 5, 6, 7]
    assert loaded["turned"].shape == (4, 3)
    assert loaded["sum"][0].tolist() == [1, 2, 3, 4]


def test_tied_tensors_stay_tied_and_are_stored_once(tmp_path):
    weight = flow.ones(1000)
    loaded = round_trip({"encoder": weight, "decoder": weight, "twin": weight.detach()}, tmp_path)
    assert (tmp_path / "file").stat().st_size < 8000
    loaded["encoder"][0] = 7
    assert loaded["decoder"][0].item() == 7
    assert loaded["twin"][0].item() == 7


def parts_of_a_vector():
    """Parameters of one shape that `vector_to_parameters` has put into one memory."""
    layers = nn.Sequential(*[nn.Linear(2, 2, bias=False) for _ in range(3)])
    nn.utils.vector_to_parameters(flow.arange(12.0), layers.parameters())
    return layers.state_dict()


def with_conjugates(z):
    return [z.detach(), z.conj().detach(), z.conj().detach().imag, z.imag]


ROWS = flow.arange(6.0).reshape(3, 2)
PARTS = {
    "detached": lambda: [row.detach() for row in ROWS],
    "data": lambda: [row.data for row in ROWS],
    "of detached": lambda: [ROWS[start:].detach()[0] for start in range(3)],
    "by tensors": lambda: [ROWS[flow.tensor(row)] for row in range(3)],
    "conjugates": lambda: with_conjugates(flow.tensor([1j, 2.0])),
    "unbound": lambda: list(ROWS.unbind()),
    "state of a vector's parameters": lambda: list(parts_of_a_vector().values()),
}


@pytest.mark.parametrize("make", PARTS.values(), ids=PARTS)
def test_parts_of_one_memory_keep_their_own_numbers(tmp_path, make):
    parts = make()
    expected = [part.tolist() for part in parts]
    assert [part.tolist() for part in round_trip(parts, tmp_path)] == expected


def test_requires_grad_and_parameters_come_back(tmp_path):
    leaf = flow.ones(2, requires_grad=True)
    obj = {"leaf": leaf, "computed": leaf * 2, "parameter": nn.Parameter(flow.ones(1))}
    loaded = round_trip(obj, tmp_path)
    assert loaded["leaf"].requires_grad
    assert loaded["computed"].requires_grad
    assert isinstance(loaded["parameter"], nn.Parameter)
    assert loaded["parameter"].requires_grad


def test_a_module_and_its_optimizer(tmp_path):
    def make():
        model = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
        return model, flow.optim.Adam(model.parameters(), lr=0.1)

    def step(model, optimizer):
        optimizer.zero_grad()
        model(flow.ones(2, 3)).sum().backward()
        optimizer.step()

    model, optimizer = make()
    step(model, optimizer)
    flow.save(
        {"model": model.state_dict(), "optimizer": optimizer.state_dict()}, tmp_path / "checkpoint"
    )
    twin, twin_optimizer = make()
    loaded = flow.load(tmp_path / "checkpoint")
    twin.load_state_dict(loaded["model"])
    twin_optimizer.load_state_dict(loaded["optimizer"])
    step(model, optimizer)
    step(twin, twin_optimizer)
    for one, other in zip(model.parameters(), twin.parameters(), strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-6)


# --- refusing


class Custom:
    pass


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (lambda x: x, "function"),
        (Custom(), "Custom"),
        (Custom, "type"),
        (np.array([None]), "ndarray"),
        (object(), "object"),
        (open, "builtin_function_or_method"),
    ],
)
def test_what_cannot_be_saved_is_named_with_its_place(tmp_path, value, kind):
    with pytest.raises(TypeError, match=rf"cannot save model\.layers\.1: it is a .*{kind}"):
        flow.save({"model": {"layers": [1, value]}}, tmp_path / "file")
    assert not list(tmp_path.iterdir())


def test_optimizers_are_told_to_give_their_state(tmp_path):
    with pytest.raises(TypeError, match=r"state_dict\(\)"):
        flow.save({"optimizer": flow.optim.SGD(nn.Linear(1, 1).parameters())}, tmp_path / "file")


def test_a_container_in_itself_is_refused(tmp_path):
    loop = []
    loop.append({"again": loop})
    with pytest.raises(ValueError, match=r"0\.again.*contains itself"):
        flow.save(loop, tmp_path / "file")
    shared = [1]
    assert round_trip([shared, shared], tmp_path) == [[1], [1]]


# --- files


def test_file_objects():
    file = io.BytesIO()
    flow.save({"x": flow.arange(3), "y": flow.ones(2, dtype=flow.bfloat16)}, file)
    file.seek(0)
    loaded = flow.load(file)
    assert loaded["x"].tolist() == [0, 1, 2]
    assert loaded["y"].dtype is flow.bfloat16


def test_the_file_is_a_safetensors_file(tmp_path):
    flow.save({"layer": {"weight": flow.ones(2, 3), "bias": flow.zeros(2)}}, tmp_path / "file")
    arrays = safetensors.numpy.load_file(tmp_path / "file")
    assert set(arrays) == {"layer.weight", "layer.bias"}
    np.testing.assert_array_equal(arrays["layer.weight"], np.ones((2, 3)))


def test_plain_safetensors_files_are_read(tmp_path):
    arrays = {"a": np.arange(3, dtype=np.int32), "b": np.ones((2, 2), np.float16)}
    safetensors.numpy.save_file(arrays, tmp_path / "file.safetensors")
    loaded = flow.load(tmp_path / "file.safetensors")
    assert set(loaded) == {"a", "b"}
    assert loaded["b"].dtype is flow.float16


def test_names_that_collide(tmp_path):
    obj = {"a.b": flow.zeros(1), "a": {"b": flow.ones(1)}, "__metadata__": flow.full((1,), 2.0)}
    loaded = round_trip(obj, tmp_path)
    assert [loaded["a.b"].item(), loaded["a"]["b"].item(), loaded["__metadata__"].item()] == [
        0,
        1,
        2,
    ]


def test_a_header_that_looks_like_a_pickle(tmp_path):
    # The first bytes of a safetensors file are a length; 0x0280 is also how pickles begin.
    for size in range(300, 700):
        flow.save("x" * size, tmp_path / "file")
        head = (tmp_path / "file").read_bytes()[:2]
        if head == b"\x80\x02":
            break
    assert head == b"\x80\x02"
    assert flow.load(tmp_path / "file") == "x" * size


def test_new_files_have_the_usual_permissions(tmp_path):
    flow.save([1], tmp_path / "file")
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o666 & ~mask


def test_a_private_file_stays_private(tmp_path):
    flow.save([1], tmp_path / "file")
    (tmp_path / "file").chmod(0o600)
    flow.save([2], tmp_path / "file")
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o600


def test_missing_files_and_folders(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such file"):
        flow.load(tmp_path / "nothing")
    flow.save(1, tmp_path / "new" / "folders" / "file")
    assert flow.load(tmp_path / "new" / "folders" / "file") == 1
    flow.checkpoint.save(tmp_path / "other" / "variables", {"w": flow.ones(1)})
    assert flow.checkpoint.get(tmp_path / "other" / "variables")["w"].tolist() == [1.0]


def test_saving_into_an_existing_folder(tmp_path):
    net = flow.nn.Linear(2, 3)
    for count in (1, 2):
        flow.save({"net": net.state_dict(), "count": count}, tmp_path)
        loaded = flow.load(tmp_path)
        assert loaded["count"] == count
        np.testing.assert_array_equal(loaded["net"]["weight"].numpy(), net.weight.numpy())
    whole = flow.ones(2, placement=flow.placement("cpu", [0, 1]), sbp=flow.sbp.split(0))
    flow.save({"w": whole}, tmp_path, global_dst_rank=0)
    assert flow.load(tmp_path)["w"].is_local
    assert flow.load(tmp_path)["w"].tolist() == [1, 1]


@pytest.mark.parametrize("keep", [0, 4, 60, -3])
def test_incomplete_files(tmp_path, keep):
    flow.save({"x": flow.ones(50)}, tmp_path / "file")
    content = (tmp_path / "file").read_bytes()
    (tmp_path / "file").write_bytes(content[:keep])
    with pytest.raises(RuntimeError, match=r"cannot load .*file"):
        flow.load(tmp_path / "file")
    with pytest.raises(RuntimeError, match="cannot load"):
        flow.load(io.BytesIO(content[:keep]))


@pytest.mark.parametrize(
    "content", [b"hello world, this is text", b"\x80\x04K\x01.", b"PK\x03\x04rest"]
)
def test_other_files(tmp_path, content):
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(RuntimeError, match=r"cannot load .*file"):
        flow.load(tmp_path / "file")


def test_a_damaged_description(tmp_path):
    metadata = {"oneflow.structure": '{"spell": 1}'}
    safetensors.numpy.save_file({"a": np.ones(1)}, tmp_path / "file", metadata)
    with pytest.raises(RuntimeError, match="description is damaged"):
        flow.load(tmp_path / "file")


@pytest.mark.parametrize(
    "location",
    ["cpu", flow.device("cpu"), {"cpu": "cpu:0"}, lambda saved: "cpu"],
)
def test_map_location(tmp_path, location):
    flow.save({"x": flow.ones(1)}, tmp_path / "file")
    assert flow.load(tmp_path / "file", map_location=location)["x"].device == flow.device("cpu")
    assert flow.load(tmp_path / "file", location)["x"].device == flow.device("cpu")


def test_wrong_arguments(tmp_path):
    flow.save(1, tmp_path / "file")
    with pytest.raises(TypeError, match="map_location"):
        flow.load(tmp_path / "file", map_location=3.5)
    with pytest.raises(TypeError, match="called with one argument"):
        flow.load(tmp_path / "file", map_location=lambda storage, location: storage)
    with pytest.raises(ValueError, match="only ranks 0 to 7"):
        flow.load(tmp_path / "file", global_src_rank=8)
    with pytest.raises(ValueError, match="only ranks 0 to 7"):
        flow.save(1, tmp_path / "file", consistent_dst_rank=-1)
    assert flow.load(tmp_path / "file", global_src_rank=0) == 1


def test_arguments_of_pytorch(tmp_path):
    flow.save(obj=[1, flow.ones(2)], f=tmp_path / "file", pickle_protocol=4)
    number, tensor = flow.load(f=tmp_path / "file", weights_only=True, pickle_module=None)
    assert (number, tensor.tolist()) == (1, [1, 1])


@pytest.mark.parametrize("kind", [flow.nn.Parameter, lambda x: x], ids=["parameter", "tensor"])
@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_what_is_saved_twice_is_one_object(kind, device, tmp_path):
    x, y = (kind(flow.ones(2, device=device)) for _ in range(2))
    flow.save({"a": x, "b": x, "c": y, "d": x.detach()}, tmp_path / "file")
    loaded = flow.load(tmp_path / "file")
    assert loaded["a"] is loaded["b"]
    assert loaded["a"] is not loaded["c"]
    assert loaded["d"].device == flow.device(device)
    assert loaded["a"].is_set_to(loaded["d"])
    assert not loaded["a"].is_set_to(loaded["c"])


@pytest.mark.parametrize("kind", [flow.nn.Parameter, lambda x: x], ids=["parameter", "tensor"])
@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_pickles_keep_what_users_have_set(kind, device):
    x = kind(flow.ones(2, device=device))
    x.mark = 3
    assert pickle.loads(pickle.dumps(x)).mark == 3


def test_external_data_is_a_folder(tmp_path):
    state = {"weight": flow.arange(3.0), "step": 3}
    flow.save(state, tmp_path / "made" / "folder", save_as_external_data=True)
    flow.save(state, tmp_path / "file")
    assert (tmp_path / "made" / "folder").is_dir()
    assert (tmp_path / "file").is_file()
    for name in ("made/folder", "file"):
        loaded = flow.load(tmp_path / name)
        assert (loaded["weight"].tolist(), loaded["step"]) == ([0, 1, 2], 3)
    with pytest.raises(FileExistsError, match="`save_as_external_data` saves a folder"):
        flow.save(state, tmp_path / "file", save_as_external_data=True)
    opened = io.BytesIO()
    flow.save(state, opened, save_as_external_data=True)
    opened.seek(0)
    assert flow.load(opened)["step"] == 3
