"""Names in files, archives and models are data: they come back, and lead to no other place."""

from __future__ import annotations

import contextlib
import io
import tarfile
import warnings
import zipfile

import numpy as np
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper

import oneflow as flow
from oneflow import nn
from oneflow.data.vision.archive import extract_archive
from oneflow_onnx.x2oneflow.onnx2flow import from_onnx

NAMES = {
    "folder above": "../x",
    "folder far above": "../../../../../x",
    "absolute": "/x",
    "this folder": ".",
    "the folder above": "..",
    "other system": "..\\x",
    "drive": "C:\\x",
    "nested": "a/b",
    "end of text": "a\0b",
    "lines": "a\nb\r\n",
    "terminal": "\x1b[2J\x85\u202e",
    "long": "n" * 5000,
    "format": "{x} %s $(x) `x`",
    "empty": "",
    "entry of safetensors": "__metadata__",
    "attribute": "__class__",
    "memory": "0#memory",
    "quotes": "\"'}]\\",
    "half a letter": "\ud800",
}
VALUES = np.asarray([1.5, -2.0], np.float32)
# The exceptions of refusals.
REFUSALS = (ValueError, KeyError, RuntimeError, TypeError, OSError)


def seen(folder):
    """Every file below a folder with its content, and every link with its target."""
    return {
        path: path.readlink() if path.is_symlink() else path.read_bytes()
        for path in folder.rglob("*")
        if path.is_symlink() or path.is_file()
    }


def of_a_file(name, inside):
    flow.save({name: flow.tensor(VALUES), "more": {name: name}}, inside / "file")
    loaded = flow.load(inside / "file")
    assert loaded["more"] == {name: name}
    return loaded[name]


def of_a_folder(name, inside):
    tensor = flow.tensor(VALUES).to_global(flow.placement("cpu", [0, 1]), flow.sbp.broadcast)
    flow.save({name: tensor}, inside / "folder")
    return flow.load(inside / "folder")[name].to_local()


def of_variables(name, inside):
    flow.checkpoint.save(str(inside / "variables"), {name: flow.tensor(VALUES)})
    return flow.checkpoint.get(str(inside / "variables"))[name]


def of_a_module(name, inside):
    module = nn.Module()
    module.register_parameter(name, nn.Parameter(flow.tensor(VALUES)))
    flow.save(module.state_dict(), inside / "state")
    module.load_state_dict(flow.load(inside / "state"))
    return module.state_dict()[name]


def of_an_optimizer(name, inside):
    state = {"state": {0: {name: flow.tensor(VALUES)}}, "param_groups": [{name: 1, "params": [0]}]}
    flow.save(state, inside / "state")
    loaded = flow.load(inside / "state")
    assert loaded["param_groups"] == state["param_groups"]
    return loaded["state"][0][name]


def of_pytorch(name, inside):
    torch.save({name: torch.tensor(VALUES)}, inside / "torch.pt")
    return flow.load(inside / "torch.pt")[name]


def of_a_model(name, inside):
    """Initializers of an ONNX file become parameters, which are saved beside it."""
    node = helper.make_node("Add", ["x", name], ["y"])
    infos = [helper.make_tensor_value_info(letter, TensorProto.FLOAT, [2]) for letter in "xy"]
    weight = numpy_helper.from_array(VALUES, name)
    graph = helper.make_graph([node], "g", infos[:1], infos[1:], [weight])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
    module = from_onnx(model, model_weight_dir=inside / "weights")
    (loaded,) = flow.load(inside / "weights").values()
    (parameter,) = module.parameters()
    np.testing.assert_array_equal(parameter.numpy(), loaded.numpy())
    return loaded


WITH_DOTS = {
    "folder above",
    "folder far above",
    "this folder",
    "the folder above",
    "other system",
}
# The names that each place refuses; all others come back.
PLACES = {
    of_a_file: set(),
    of_a_folder: set(),
    of_variables: WITH_DOTS - {"other system"}
    | {"absolute", "nested", "end of text", "long", "empty", "half a letter"},
    of_a_module: WITH_DOTS | {"empty", "attribute"},
    of_an_optimizer: set(),
    of_pytorch: set(),
    of_a_model: {"half a letter"},
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("place", PLACES)
def test_names_come_back(place, name, tmp_path):
    """Or are refused, and then nothing is left behind; nothing is written anywhere else."""
    inside = tmp_path / "a" / "b" / "inside"
    inside.mkdir(parents=True)
    if name in PLACES[place]:
        with pytest.raises(REFUSALS):
            place(NAMES[name], inside)
        assert seen(tmp_path) == {}
    else:
        np.testing.assert_array_equal(place(NAMES[name], inside).numpy(), VALUES)
        assert all(path.is_relative_to(inside) for path in seen(tmp_path))


def tar_of(path, members):
    with tarfile.open(path, "w") as archive:
        for name, kind, target in members:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, target
            info.size = 4 if kind == tarfile.REGTYPE else 0
            archive.addfile(info, io.BytesIO(b"evil") if info.size else None)


def zip_of(path, members):
    with warnings.catch_warnings(), zipfile.ZipFile(path, "w") as archive:
        warnings.simplefilter("ignore", UserWarning)  # of two files of one name
        for name, kind, target in members:
            info = zipfile.ZipInfo(name)
            if kind == tarfile.SYMTYPE:
                info.external_attr = 0o120777 << 16
            archive.writestr(info, target or "evil")


def members_of(name, victim):
    """The attempts of an archive: a file of that name, and one behind a link."""
    regular, link, hard = tarfile.REGTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE
    yield [(name, regular, "")]
    yield [("link", link, name), ("link", regular, "")]
    yield [("link", link, str(victim.parent)), ("link/victim", regular, "")]
    yield [("link", link, "../.."), ("link/victim", regular, "")]
    yield [("link", hard, str(victim)), ("link", regular, "")]


@pytest.mark.parametrize("pack", [tar_of, zip_of])
@pytest.mark.parametrize("name", NAMES)
def test_archives_are_unpacked_inside(pack, name, tmp_path):
    """The files of an archive, and what is written behind its links, stay in the folder."""
    victim = tmp_path / "victim"
    victim.write_bytes(b"kept")
    for number, members in enumerate(members_of(NAMES[name], victim)):
        inside = tmp_path / "a" / "b" / f"inside {number}"
        with contextlib.suppress(*REFUSALS):
            pack(tmp_path / "archive", members)
            extract_archive(tmp_path / "archive", inside)
    found = seen(tmp_path)
    del found[tmp_path / "archive"]
    assert found.pop(victim) == b"kept"
    for path in found:
        assert path.resolve().is_relative_to(tmp_path / "a" / "b"), path
