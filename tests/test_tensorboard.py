"""`oneflow.utils.tensorboard`: what it writes, as TensorBoard reads it."""

from __future__ import annotations

import contextlib
import struct
import sys

import pytest
from tensorboardX.proto.event_pb2 import Event
from tensorboardX.proto.graph_pb2 import GraphDef

import oneflow as flow
from oneflow.utils.tensorboard import SummaryWriter


def events(folder):
    """Return the events in a folder's log: records with a length and two checksums."""
    (file,) = folder.glob("events.*")
    content, found = file.read_bytes(), []
    while content:
        (length,) = struct.unpack("<Q", content[:8])
        found.append(Event.FromString(content[12 : 12 + length]))
        content = content[16 + length :]
    return found


def test_tensors_are_written_as_arrays(tmp_path):
    weight = flow.nn.Linear(2, 2).weight
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("loss", flow.tensor(0.5), global_step=3)
        writer.add_histogram("weight", weight, 3)
        writer.add_image("image", flow.rand(3, 4, 5), 3)
        writer.add_pr_curve("curve", flow.tensor([1, 0]), flow.tensor([0.9, 0.1]))
    found = {value.tag: value for event in events(tmp_path) for value in event.summary.value}
    assert found["loss"].simple_value == 0.5
    assert found["weight"].histo.num == 4
    assert found["weight"].histo.max == pytest.approx(weight.max().item())
    assert (found["image"].image.height, found["image"].image.width) == (4, 5)
    assert "curve" in found


def test_the_graph_of_a_module(tmp_path, capsys):
    with SummaryWriter(log_dir=str(tmp_path)) as writer:
        writer.add_graph(flow.nn.Sequential(flow.nn.Linear(2, 3), flow.nn.ReLU()), flow.ones(1, 2))
    (graph,) = (event.graph_def for event in events(tmp_path) if event.graph_def)
    operators = {node.op for node in GraphDef.FromString(graph).node}
    assert {"Gemm", "Relu"} <= operators
    assert capsys.readouterr().out == ""


def test_without_tensorboardx_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'oneflow-xla\[tensorboard\]'"):
        SummaryWriter()


def contents(folder):
    """Every file in a folder, with what is in it."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


NAMES = [
    "../x",
    "../../x",
    "/x",
    "a/../../../x",
    "..",
    'x"\ntensor_path: "/etc/passwd',
    "\x1b[2J\0",
    "%s{}",
]
METHODS = {
    "scalar": lambda writer, name: writer.add_scalar(name, 0.5, 1),
    "scalars": lambda writer, name: writer.add_scalars(name, {"x": 0.5}, 1),
    "names of scalars": lambda writer, name: writer.add_scalars("x", {name: 0.5}, 1),
    "run": lambda writer, name: writer.add_hparams({"x": 1}, {"y": 2}, name),
    "settings": lambda writer, name: writer.add_hparams({name: name}, {name: 2}),
    "text": lambda writer, name: writer.add_text(name, name),
    "embedding": lambda writer, name: writer.add_embedding(flow.ones(2, 2), [name, name], tag=name),
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("method", METHODS)
def test_names_lead_nowhere(name, method, tmp_path):
    """They are folders inside that of the logs, or refused; files of text have no lines more."""
    folder = tmp_path / "logs" / "run"
    name = name.replace("/x", f"{tmp_path}/x") if name == "/x" else name
    with SummaryWriter(folder) as writer, contextlib.suppress(ValueError):
        METHODS[method](writer, name)
    for path, content in contents(tmp_path).items():
        assert path.is_relative_to(folder), path
        if path.name == "projector_config.pbtxt":
            assert content.count(b"\n") == 5
        if path.name == "metadata.tsv":
            assert len(content.splitlines()) == 2
