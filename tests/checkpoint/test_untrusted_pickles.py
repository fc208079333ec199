"""A pickle that is not trusted changes no class and no function of the process."""

from __future__ import annotations

import base64
import enum
import io
import json
import pickle
import struct
import zipfile

import pytest
import torch

import oneflow as flow
from oneflow.checkpoint import pickled_objects
from oneflow.checkpoint.load_errors import UnsafePickleError
from oneflow.checkpoint.numpy_pickle import Budget
from oneflow.checkpoint.torch_builder import TorchBuilder


class Declared:
    """A class that is declared safe."""

    def __init__(self, weight):
        self.weight, self.note = weight, "a"


class Mode(enum.Enum):
    """An enumeration that is declared safe."""

    FAST = "fast"


def declared_function(*values):
    """Return values; declared safe."""
    return values


DECLARED = {
    (item.__module__, item.__qualname__): item for item in (Declared, Mode, declared_function)
}
_OF_TENSORS = pickled_objects._names_of_tensors([])
_OF_PYTORCH = TorchBuilder(lambda device: device, Budget(0)).table()
# The opcodes that change or call a name on the stack.
ACTIONS = {
    "state": b"}X\x05\x00\x00\x00ownedK\x05sb",
    "state of slots": b"N}X\x05\x00\x00\x00ownedK\x05s\x86b",
    "item": b"X\x05\x00\x00\x00ownedK\x05s",
    "items": b"(X\x05\x00\x00\x00ownedK\x05u",
    "append": b"K\x05a",
    "appends": b"(K\x05e",
    "size": b"\x8a\x05" + (6 * 10**9).to_bytes(5, "little") + b"\x85R",
    "new of a size": b"\x8a\x05" + (6 * 10**9).to_bytes(5, "little") + b"\x85\x81",
}


def own_file(content):
    """A file of OneFlow's that holds a pickle."""
    file = io.BytesIO()
    flow.save({"a": 1.5}, file)
    whole = file.getvalue()
    (length,) = struct.unpack("<Q", whole[:8])
    head = json.loads(whole[8 : 8 + length])
    key = next(key for key in head["__metadata__"] if "struct" in key)
    data = {"pickled": base64.b64encode(content).decode(), "tensors": []}
    head["__metadata__"][key] = json.dumps(data)
    text = json.dumps(head).encode()
    return struct.pack("<Q", len(text)) + text + whole[8 + length :]


def pytorch_file(content):
    """A file of PyTorch's that holds a pickle."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", content)
    return file.getvalue()


FILES = {"own": (own_file, _OF_TENSORS), "pytorch": (pytorch_file, _OF_PYTORCH)}


def attributes(value):
    """The attributes of a class or function, to compare."""
    own = dict(vars(value)) if hasattr(value, "__dict__") else {}
    return own, getattr(value, "__defaults__", None)


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("kind", FILES)
def test_names_are_not_changed(kind, action, tmp_path, monkeypatch) -> None:
    pack, table = FILES[kind]
    for key, value in DECLARED.items():
        monkeypatch.setitem(pickled_objects.SAFE_GLOBALS, key, value)
    owned = (
        flow.Tensor,
        flow.nn.Parameter,
        pickled_objects.of_class,
        *DECLARED.values(),
        Mode.FAST,
    )
    owned = (*owned, *table.values())
    before = [attributes(value) for value in owned]
    for module, name in [*table, *DECLARED]:
        content = b"\x80\x04c" + f"{module}\n{name}\n".encode() + ACTIONS[action] + b"."
        path = tmp_path / "file"
        path.write_bytes(pack(content))
        if "size" in action and (module, name) in DECLARED:
            continue  # What is declared safe may be called.
        try:
            loaded = flow.load(path, weights_only=True)
        except (UnsafePickleError, RuntimeError):
            continue
        assert "size" in action, name
        assert not isinstance(loaded, flow.Tensor), name
    assert [attributes(value) for value in owned] == before


@pytest.mark.parametrize("action", ["state", "state of slots"])
@pytest.mark.parametrize("kind", FILES)
def test_states_of_names_are_refused(kind, action, tmp_path) -> None:
    pack, table = FILES[kind]
    for module, name in table:
        content = b"\x80\x04c" + f"{module}\n{name}\n".encode() + ACTIONS[action] + b"."
        (tmp_path / "file").write_bytes(pack(content))
        with pytest.raises(UnsafePickleError):
            flow.load(tmp_path / "file", weights_only=True)


@pytest.mark.parametrize("kind", FILES)
def test_members_of_enumerations_are_not_changed(kind, tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(pickled_objects.SAFE_GLOBALS, (__name__, "Mode"), Mode)
    content = f"\x80\x04c{__name__}\nMode\n".encode("latin1") + b"X\x04\x00\x00\x00fast\x85R"
    path = tmp_path / "file"
    path.write_bytes(FILES[kind][0](content + b"."))
    assert flow.load(path, weights_only=True) is Mode.FAST
    path.write_bytes(FILES[kind][0](content + ACTIONS["state"] + b"."))
    with pytest.raises(UnsafePickleError):
        flow.load(path, weights_only=True)


@pytest.mark.parametrize("library", [flow, torch], ids=["own", "pytorch"])
def test_declared_objects_are_loaded(library, tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(pickled_objects.SAFE_GLOBALS, (__name__, "Declared"), Declared)
    value = Declared(library.ones(2))
    library.save({"value": value}, tmp_path / "file", pickle_module=pickle)
    loaded = flow.load(tmp_path / "file", weights_only=True)["value"]
    assert type(loaded) is Declared
    assert loaded.note == "a"
    assert loaded.weight.tolist() == [1, 1]
