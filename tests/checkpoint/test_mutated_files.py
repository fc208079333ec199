"""Damaged files of every format: what is loaded is data, or the error is the documented one."""

import gzip
import os
import pickle
import random
from collections import OrderedDict

import numpy as np
import pytest
import torch

import oneflow as flow
from oneflow import nn
from oneflow.checkpoint.numpy_pickle import read_numpy_pickle
from oneflow.data.vision.mnist import read_idx
from tests.checkpoint.test_hostile_files import limited_memory, old_folder, reference
from tests.graph.helpers import graph_of

MUTANTS = int(os.environ.get("MUTANTS", "100"))
PAIR = flow.placement("cpu", [0, 1])
# Among them a length that is none, opcodes of pickles, and what delimits JSON.
PIECES = [b"\xff" * 8, b"\x7f\xff\xff\xff", b"\0" * 4, b"9" * 12, b"1e999", b"-1", b"null"]
PIECES += [b"[", b"{}", b'"', b"R", b"\x86", b"h\0", b"("]


def own_file(folder):
    x, z = flow.arange(6.0).reshape(2, 3), flow.ones(2, dtype=flow.complex128)
    obj = {"x": x, "row": x[1, 1:], "turned": x.t(), "z": z, "conjugate": z.conj()}
    flow.save({**obj, "n": [1, 2.5, None, (b"a", {3})], "a": np.arange(3)}, folder / "file")


def torch_object():
    weight = torch.nn.Parameter(torch.arange(6.0).reshape(2, 3))
    state = OrderedDict(a=weight, b=weight, c=weight.detach().t()[1:], d=torch.ones(2).bool())
    return {"state": state, "n": (1, 2.5, {"k": [None, True]}), "a": np.arange(3), "s": {1, "b"}}


def torch_file(folder):
    torch.save(torch_object(), folder / "file.pt")


def old_torch_file(folder):
    torch.save(torch_object(), folder / "file.pt", _use_new_zipfile_serialization=False)


def checkpoint_in_parts(folder):
    x = flow.arange(6.0).reshape(3, 2)
    parts = {name: x.to_global(PAIR, flow.sbp.split(dim)) for dim, name in enumerate("xy")}
    flow.save({**parts, "n": [1, "a"]}, folder / "checkpoint")


def saved_graph(folder):
    layer = nn.Linear(2, 3)
    graph = graph_of(lambda x: (layer(x) + flow.rand(3), {"x": x, "none": None}), layer=layer)
    graph(flow.ones(1, 2))
    graph.save(folder / "graph")


def folder_of_oneflow(folder):
    for name in ("one", "two"):
        (folder / "old" / name).mkdir(parents=True)
        (folder / "old" / name / "meta").write_text("shape {\n  dim: 2\n}\ndata_type: kFloat\n")
        (folder / "old" / name / "out").write_bytes(np.ones(2, np.float32).tobytes())
    old_folder(folder / "old", b"(lp0\n" + reference("one") + b"a" + reference("two") + b"a")


def numpy_pickle(folder):
    (folder / "batch").write_bytes(pickle.dumps({"data": np.ones((2, 3), np.uint8), "l": [1, 2]}))


def idx_file(folder):
    content = b"\0\0\x08\x02" + np.array([2, 3], ">u4").tobytes() + bytes(range(6))
    (folder / "x.gz").write_bytes(gzip.compress(content))


def load(path):
    """The content of a file or folder, read to the last number."""
    if path.name == "batch":
        return read_numpy_pickle(path)
    if path.name == "x.gz":
        return read_idx(path)
    loaded = flow.load(path)
    if path.name != "graph":
        return loaded
    try:
        result = loaded(flow.ones(1, 2))
    except TypeError as error:
        if "was saved for" not in str(error):
            raise
        return loaded.state_dict()
    return [result, loaded.state_dict()]


def check(value, seen=None):
    """Make sure that a value is data all through; its tensors are read."""
    seen = set() if seen is None else seen
    if isinstance(value, flow.Tensor | np.ndarray):
        assert np.asarray(value.numpy() if isinstance(value, flow.Tensor) else value).size < 10**6
    elif isinstance(value, dict | list | tuple | set | frozenset):
        if id(value) not in seen:
            seen.add(id(value))
            for part in [*value, *(value.values() if isinstance(value, dict) else ())]:
                check(part, seen)
    else:
        kinds = (int, float, complex, str, bytes, bytearray, np.generic, np.dtype)
        assert value is None or isinstance(value, (*kinds, flow.dtype, flow.device))


def mutated(content, chance):
    """The content, changed in one to three places."""
    for _ in range(chance.choice([1, 1, 2, 3])):
        at, size = chance.randrange(len(content) + 1), chance.choice([1, 1, 4, 20])
        before, piece, after = content[:at], content[at : at + size], content[at + size :]
        content = chance.choice(
            [
                before + bytes(byte ^ 1 << chance.randrange(8) for byte in piece) + after,
                before + bytes(chance.randrange(256) for _ in piece) + after,
                before + chance.choice(PIECES) + after,
                before + chance.choice(PIECES) + piece + after,
                before + piece + piece + after,
                before + after,
                before,
            ]
        )
    return content


FORMATS = [own_file, torch_file, old_torch_file, checkpoint_in_parts, saved_graph]
FORMATS += [folder_of_oneflow, numpy_pickle, idx_file]


@pytest.mark.parametrize("write", FORMATS)
@pytest.mark.filterwarnings("ignore:.*escape sequence")
def test_mutants(tmp_path, write):
    write(tmp_path)
    (path,) = tmp_path.iterdir()
    check(load(path))
    right = repr(load(path)) if write is torch_file else None
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    chance = random.Random(write.__name__)
    for _ in range(MUTANTS):
        chosen = chance.choice(files)
        content = chosen.read_bytes()
        chosen.write_bytes(mutated(content, chance))
        try:
            with limited_memory(2**31):
                loaded = load(path)
                check(loaded)
                # Archives have checksums.
                assert right is None or repr(loaded) == right
        except RuntimeError as error:
            if f"`{path}" not in str(error) and "a loaded tensor is placed on" not in str(error):
                raise
        chosen.write_bytes(content)
