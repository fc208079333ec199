"""Files of PyTorch and folders of earlier OneFlow versions: read, but never executed."""

import argparse
import collections
import fractions
import io
import os
import pathlib
import pickle
import re
import sys
import types

import numpy as np
import pytest
import torch
from torch._weights_only_unpickler import _get_allowed_globals

import oneflow as flow
from oneflow.checkpoint.numpy_pickle import Budget
from oneflow.checkpoint.pickle_reader import PickleReader, UnsafePickleError
from oneflow.checkpoint.torch_builder import TorchBuilder

both_formats = pytest.mark.parametrize("zipped", [True, False], ids=["zip", "legacy"])


def load_torch(obj, folder, zipped=True):
    torch.save(obj, folder / "file.pth", _use_new_zipfile_serialization=zipped)
    return flow.load(folder / "file.pth")


def assert_same(mine, theirs):
    assert mine.dtype.name == str(theirs.dtype).removeprefix("torch.")
    numbers = theirs.detach()
    if theirs.dtype is torch.bfloat16:
        mine, numbers = mine.to(flow.float32), numbers.float()
    np.testing.assert_array_equal(mine.numpy(), numbers.numpy())


@both_formats
def test_state_dicts_of_models_and_optimizers(tmp_path, zipped):
    model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    model(torch.ones(1, 3, 5, 5)).sum().backward()
    optimizer.step()
    obj = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3}
    loaded = load_torch(obj, tmp_path, zipped)
    assert list(loaded["model"]) == list(obj["model"])
    for name, tensor in obj["model"].items():
        assert_same(loaded["model"][name], tensor)
    assert type(loaded["model"]) is collections.OrderedDict
    assert loaded["optimizer"]["param_groups"] == obj["optimizer"]["param_groups"]
    assert_same(loaded["optimizer"]["state"][0]["exp_avg"], obj["optimizer"]["state"][0]["exp_avg"])
    assert loaded["epoch"] == 3


@both_formats
@pytest.mark.parametrize(
    "dtype",
    [
        "bool",
        "uint8",
        "int8",
        "int16",
        "int32",
        "int64",
        "float16",
        "bfloat16",
        "float32",
        "float64",
        "complex64",
    ],
)
def test_every_dtype(tmp_path, dtype, zipped):
    tensor = torch.arange(6).reshape(2, 3).to(getattr(torch, dtype))
    assert_same(load_torch(tensor, tmp_path, zipped), tensor)


def test_dtypes_that_came_later(tmp_path):
    for dtype in (torch.uint16, torch.uint32, torch.uint64):
        tensor = torch.tensor([1, 2], dtype=dtype)
        assert_same(load_torch(tensor, tmp_path), tensor)


@both_formats
def test_views_empty_and_0dim_tensors(tmp_path, zipped):
    whole = torch.arange(24.0).reshape(4, 6)
    obj = [whole[1:3, ::2], whole.t(), whole[0, 0], torch.zeros(0, 3), whole[:1].expand(3, 6)]
    for mine, theirs in zip(load_torch(obj, tmp_path, zipped), obj, strict=True):
        assert_same(mine, theirs)


@both_formats
def test_tied_parameters_stay_tied(tmp_path, zipped):
    weight = torch.nn.Parameter(torch.ones(2))
    loaded = load_torch({"a": weight, "b": weight, "c": weight.data}, tmp_path, zipped)
    assert isinstance(loaded["a"], flow.nn.Parameter)
    assert loaded["a"] is loaded["b"]


@both_formats
def test_plain_values(tmp_path, zipped):
    obj = {
        "numpy": [np.float64(2.5), np.arange(4).reshape(2, 2), np.asfortranarray(np.ones((2, 3)))],
        "size": torch.Size([1, 2]),
        "dtype": torch.float16,
        "device": torch.device("cpu"),
        "set": {1, 2},
        "bytes": b"abc",
        "leaf": torch.ones(1, requires_grad=True),
    }
    loaded = load_torch(obj, tmp_path, zipped)
    assert loaded["numpy"][0] == 2.5
    np.testing.assert_array_equal(loaded["numpy"][1], obj["numpy"][1])
    np.testing.assert_array_equal(loaded["numpy"][2], obj["numpy"][2])
    assert loaded["size"] == flow.Size([1, 2])
    assert loaded["dtype"] is flow.float16
    assert loaded["device"] is flow.device("cpu")
    assert loaded["set"] == {1, 2}
    assert loaded["bytes"] == b"abc"
    assert loaded["leaf"].requires_grad


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_every_pickle_protocol(tmp_path, protocol):
    torch.save({"x": torch.ones(2), "y": [1, "a"]}, tmp_path / "file", pickle_protocol=protocol)
    assert flow.load(tmp_path / "file")["y"] == [1, "a"]


def test_file_objects_and_devices(tmp_path):
    file = io.BytesIO()
    torch.save(torch.ones(2), file)
    file.seek(0)
    assert flow.load(file, map_location="cpu").tolist() == [1, 1]


@both_formats
@pytest.mark.parametrize(
    "value",
    [
        collections.Counter({3: 1, 5: 2}),
        collections.defaultdict(list, {"a": [1]}),
        collections.defaultdict(set, {"a": {1}}),
        collections.defaultdict(None, {"a": 1}),
        collections.deque([1, (2,)], 5),
        argparse.Namespace(lr=0.1, layers=[1, 2]),
        types.SimpleNamespace(a={"b": (1,)}),
        range(2, 9, 3),
        pathlib.Path("folder") / "file",
        pathlib.PurePosixPath("/x"),
        pathlib.PureWindowsPath("c:/x"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_plain_objects_of_the_standard_library(tmp_path, value, zipped):
    loaded = load_torch({"x": value}, tmp_path, zipped)["x"]
    assert loaded == value
    assert type(loaded) is type(value)
    for attribute in ("maxlen", "default_factory"):
        assert getattr(loaded, attribute, None) == getattr(value, attribute, None)


def test_tensors_in_plain_objects(tmp_path):
    tensor = torch.ones(2)
    saved = argparse.Namespace(a=collections.deque([tensor]), b=tensor)
    loaded = load_torch(saved, tmp_path)
    assert loaded.a[0] is loaded.b
    assert loaded.b.tolist() == [1.0, 1.0]


def test_states_of_schedules(tmp_path):
    optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], 0.1)
    schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, [3, 5])
    mine = flow.optim.lr_scheduler.MultiStepLR(
        flow.optim.SGD([flow.ones(1, requires_grad=True)], 0.1), [7]
    )
    mine.load_state_dict(load_torch(schedule.state_dict(), tmp_path))
    rates = []
    for _ in range(6):
        mine.step()
        rates.append(mine.get_last_lr()[0])
    np.testing.assert_allclose(rates, [0.1, 0.1, 0.01, 0.01, 0.001, 0.001])


@both_formats
def test_arrays_of_text(tmp_path, zipped):
    obj = [np.array([["a", "bcd"], ["é", ""]]), np.array([b"x", b"yz"]), np.str_("abc")]
    obj += [np.asfortranarray([["a", "b"], ["c", "d"]]), np.array(["a", "b"], ">U3")]
    for mine, theirs in zip(load_torch(obj, tmp_path, zipped), obj, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@both_formats
@pytest.mark.parametrize(
    "name", ["float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"]
)
def test_numbers_of_8_bits(tmp_path, name, zipped):
    numbers = torch.arange(256).to(torch.uint8).reshape(16, 16).view(getattr(torch, name))
    loaded = load_torch([numbers, numbers.t()], tmp_path, zipped)
    assert_same(loaded[0], numbers.to(torch.bfloat16))
    assert_same(loaded[1], numbers.t().to(torch.bfloat16))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_complex_numbers_of_half_precision(tmp_path):
    numbers = torch.tensor([1 + 2j, -0.5j, 3]).to(torch.complex32)
    assert_same(load_torch(numbers, tmp_path), numbers.to(torch.complex64))
    assert_same(load_torch(numbers.conj(), tmp_path), numbers.conj().to(torch.complex64))


def test_meta_tensors(tmp_path):
    loaded = load_torch(torch.empty(2, 3, device="meta", dtype=torch.float16), tmp_path)
    assert (loaded.device, loaded.dtype, *loaded.shape) == (
        flow.device("meta"),
        flow.float16,
        2,
        3,
    )


# Objects that PyTorch's safe loader takes and this one does not.
REFUSED = {
    r"torch\.(cuda\.)?(sparse\.)?\w+Tensor": "tensors of files before version 0.4",
    r"torch\.(per_\w+|q\w+|Q\w+Storage|_utils\._rebuild_qtensor)": "quantized tensors",
    r"torch\.(u?int[1-7]|bits\w+|float4_e2m1fn_x2)": "numbers of less than a byte",
    r"torch\.storage\.TypedStorage": "storages by themselves",
}


def test_all_that_the_safe_loader_takes_is_known():
    names = {
        tuple(get_allowed_global.rsplit(".", 1)) for get_allowed_global in _get_allowed_globals()
    }
    table = TorchBuilder(lambda device: device, Budget(0)).table()
    unknown = {".".join(name) for name in names - table.keys()}
    assert {name for name in unknown if not any(re.fullmatch(r, name) for r in REFUSED)} == set()
    for reason in REFUSED:
        assert any(re.fullmatch(reason, name) for name in unknown)


# --- nothing is executed

EXECUTED = []


class Evil:
    def __init__(self, how):
        self.how = how

    def __reduce__(self):
        return self.how


def run_me(*arguments):
    EXECUTED.append(arguments)
    return {}


@both_formats
@pytest.mark.parametrize(
    "how",
    [
        (os.system, ("true",)),
        (run_me, ()),
        (eval, ("1",)),
        (getattr, ("a", "upper")),
        (fractions.Fraction, ()),
    ],
)
def test_code_is_refused_by_name(tmp_path, how, zipped):
    with pytest.raises(UnsafePickleError, match=how[0].__name__):
        load_torch({"x": Evil(how)}, tmp_path, zipped)
    assert not EXECUTED


def test_whole_modules_are_refused(tmp_path):
    with pytest.raises(RuntimeError, match=r"Linear.*state_dict"):
        load_torch(torch.nn.Linear(1, 1), tmp_path)


def test_tensors_that_reach_beyond_their_storage(tmp_path):
    storage = torch.ones(4).untyped_storage()
    for size, stride, offset in [
        ((5,), (1,), 0),
        ((2, 2), (3, 1), 0),
        ((2,), (-1,), 1),
        ((1,), (1,), 4),
    ]:
        arguments = (
            torch.storage.TypedStorage(wrap_storage=storage, dtype=torch.float32, _internal=True),
        )
        how = (torch._utils._rebuild_tensor_v2, (*arguments, offset, size, stride, False, {}))
        with pytest.raises(RuntimeError, match="beyond its storage"):
            load_torch({"x": Evil(how)}, tmp_path)


def read(content):
    return PickleReader(io.BytesIO(content), {("m", "pair"): lambda a, b: (a, b)}).read()


def test_only_functions_of_the_table_can_be_called():
    assert read(b"cm\npair\n(K\x01K\x02tR.") == (1, 2)
    with pytest.raises(UnsafePickleError, match="calls a str"):
        read(b"X\x01\x00\x00\x00a(K\x01tR.")
    with pytest.raises(UnsafePickleError, match="state"):
        read(b"cm\npair\n(K\x01K\x02tR}X\x01\x00\x00\x00aK\x01sb.")
    with pytest.raises(UnsafePickleError, match="opcode INST"):
        read(b"(im\npair\n.")
    with pytest.raises(ValueError, match="damaged"):
        read(b"]K\x01s.")
    with pytest.raises(ValueError, match=r"damaged|exhausted"):
        read(b"]K\x01")


@both_formats
@pytest.mark.parametrize("part", [0.3, 0.6, 0.97])
def test_incomplete_files(tmp_path, part, zipped):
    torch.save({"x": torch.ones(300)}, tmp_path / "file", _use_new_zipfile_serialization=zipped)
    content = (tmp_path / "file").read_bytes()
    (tmp_path / "file").write_bytes(content[: int(len(content) * part)])
    with pytest.raises(RuntimeError, match=r"cannot load .*file"):
        flow.load(tmp_path / "file")


def test_torch_is_not_needed(tmp_path, monkeypatch):
    torch.save({"x": torch.ones(3)}, tmp_path / "file")
    monkeypatch.setitem(sys.modules, "torch", None)
    assert flow.load(tmp_path / "file")["x"].tolist() == [1, 1, 1]


# --- folders of OneFlow 0.5 to 1.0


def write_tensor(folder, array, name):
    folder.mkdir()
    (folder / "out").write_bytes(array.tobytes())
    dims = "".join(f"  dim: {size}\n" for size in array.shape)
    (folder / "meta").write_text(f"shape {{\n{dims}}}\ndata_type: {name}\n")


def test_snapshots_without_a_pickle(tmp_path):
    write_tensor(tmp_path / "fc1.weight", np.arange(6, dtype=np.float32).reshape(2, 3), "kFloat")
    write_tensor(tmp_path / "step", np.array(7, np.int64), "kInt64")
    (tmp_path / "snapshot_done").write_text("")
    loaded = flow.load(tmp_path)
    assert loaded["fc1.weight"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert loaded["step"].item() == 7


@pytest.fixture
def oneflow_modules(monkeypatch):
    """A class that pickles as OneFlow's tensors did, with the folder's name as state."""

    class Tensor:
        def __init__(self, path=""):
            self.path = path

        def __getstate__(self):
            return {"path": self.path}

    module = types.ModuleType("oneflow._oneflow_internal")
    Tensor.__module__, Tensor.__qualname__ = module.__name__, "Tensor"
    module.Tensor = Tensor
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return Tensor


def test_folders_with_a_pickle(tmp_path, oneflow_modules):
    write_tensor(tmp_path / "tensor_1", np.ones((2,), np.float32), "kFloat")
    state = collections.OrderedDict(weight=oneflow_modules("tensor_1"))
    obj = {"protocol_version": 1, "data": {"model": state, "epoch": 4}}
    (tmp_path / "pickled_data").write_bytes(pickle.dumps(obj))
    loaded = flow.load(tmp_path)
    assert loaded["model"]["weight"].tolist() == [1, 1]
    assert loaded["epoch"] == 4


def test_parameters_in_a_folder(tmp_path):
    """As OneFlow 0.9 writes the state of a module."""
    write_tensor(tmp_path / "tensor_7", np.ones((2,), np.float32), "kFloat")
    parameter = b"coneflow.nn\nParameter\n)\x81}X\x04\0\0\0pathX\x08\0\0\0tensor_7sb"
    (tmp_path / "pickled_data").write_bytes(b"\x80\x02}X\x04\0\0\0data" + parameter + b"s.")
    loaded = flow.load(tmp_path)
    assert isinstance(loaded, flow.nn.Parameter)
    assert loaded.tolist() == [1, 1]


def test_folders_cannot_reach_outside(tmp_path, oneflow_modules):
    obj = {"protocol_version": 1, "data": oneflow_modules("../secret")}
    (tmp_path / "pickled_data").write_bytes(pickle.dumps(obj))
    with pytest.raises(RuntimeError, match="not the name of a tensor's folder"):
        flow.load(tmp_path)


def test_other_folders(tmp_path):
    (tmp_path / "text").write_text("something else")
    with pytest.raises(RuntimeError, match="not one that OneFlow saved"):
        flow.load(tmp_path)


def test_tensors_of_pytorchs_files_share_memory_as_they_did(tmp_path):
    whole = torch.arange(4.0).reshape(2, 2)
    z = torch.tensor([1 + 2j, 3j])
    obj = {
        "whole": whole,
        "row": whole[1],
        "again": whole[1],
        "transposed": whole.t(),
        "parameter": torch.nn.Parameter(whole[:, 1]),
        "z": z,
        "conjugate": z.conj(),
        "alone": torch.ones(3)[1:],
    }
    loaded = load_torch(obj, tmp_path)
    loaded["row"][0] = 7
    with flow.no_grad():
        loaded["parameter"].mul_(2)
    loaded["conjugate"].mul_(2)
    assert loaded["whole"].tolist() == [[0, 2], [7, 6]]
    assert loaded["transposed"].tolist() == [[0, 7], [2, 6]]
    assert loaded["again"].tolist() == [7, 6]
    assert loaded["parameter"].requires_grad
    assert loaded["z"].tolist() == [2 + 4j, 6j]
    assert loaded["alone"].tolist() == [1, 1]
    assert not loaded["alone"].is_view()
