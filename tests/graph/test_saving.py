"""Saved graphs: loaded without the class, nothing but the program run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import oneflow as flow
from oneflow import nn
from oneflow.nn import functional as F
from tests.graph.helpers import TrainGraph, graph_of

SOURCE = Path(flow.__file__).parents[1]


def classifier():
    """An inference graph with buffers, and its module."""
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Flatten(), nn.Linear(8, 3))
    model.eval()
    return graph_of(lambda x: {"scores": model(x), "none": [None, 1.5]}, model=model), model


def test_a_saved_graph_runs_where_the_class_is_unknown(tmp_path):
    graph, model = classifier()
    x = flow.randn(2, 1, 4, 4)
    expected = graph(x)["scores"].numpy()
    graph.save(tmp_path / "one")
    flow.save(graph, tmp_path / "two")
    for name in ("one", "two"):
        names = {each.name for each in (tmp_path / name).iterdir()}
        assert names == {"program.json", "step0.stablehlo", "weights.safetensors"}
    np.save(tmp_path / "x.npy", x.numpy())
    script = (
        "import numpy as np, oneflow as flow\n"
        f"graph = flow.nn.Graph.load({str(tmp_path / 'one')!r})\n"
        f"result = graph(flow.tensor(np.load({str(tmp_path / 'x.npy')!r})))\n"
        "assert result['none'] == [None, 1.5]\n"
        f"np.save({str(tmp_path / 'y.npy')!r}, result['scores'].numpy())\n"
    )
    command = [sys.executable, "-c", script]
    subprocess.run(command, check=True, env={"PYTHONPATH": str(SOURCE), "HOME": str(tmp_path)})
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), expected)
    loaded = flow.load(tmp_path / "two")
    assert set(loaded.state_dict()) == {
        f"model.{key}" for key in model.state_dict() if "num_batches" not in key
    }
    assert "8 tensors" in repr(loaded)
    with pytest.raises(TypeError, match="was saved for"):
        loaded(flow.randn(3, 1, 4, 4))


def test_several_shapes_random_draws_counters_and_checks(tmp_path):
    table = nn.Embedding(5, 3)
    table.register_buffer("calls", flow.zeros(1))

    def build(indices):
        table.calls += 1
        return F.dropout(table(indices), 0.5), table.calls, indices

    graph = graph_of(build, table=table)
    one, two = flow.tensor([1]), flow.tensor([1, 4])
    graph(one)
    with pytest.warns(UserWarning, match="compiled again"):
        graph(two)
    graph.save(tmp_path / "graph")
    loaded = nn.Graph.load(tmp_path / "graph")
    for x in (two, one, two):
        flow.manual_seed(3)
        expected = graph(x)[0].tolist()
        flow.manual_seed(3)
        drawn, calls, same = loaded(x)
        assert drawn.tolist() == expected
        assert same is x
    assert calls.item() == 5.0
    with pytest.raises(IndexError, match=r"index 9, but .* 5 rows"):
        loaded(flow.tensor([9]))[0].numpy()


def test_results_that_are_parameters_and_buffers(tmp_path):
    model = nn.Linear(2, 2)
    model.register_buffer("last", flow.zeros(2))

    def build(x):
        model.last.copy_(x)
        return {"weight": model.weight, "last": model.last, "x": x}

    graph = graph_of(build, model=model)
    graph(flow.ones(2))
    graph.save(tmp_path / "graph")
    loaded = nn.Graph.load(tmp_path / "graph")
    result = loaded(flow.full((2,), 3.0))
    assert flow.equal(result["weight"], model.weight)
    assert result["last"].tolist() == result["x"].tolist() == [3.0, 3.0]
    assert set(loaded.state_dict()) == {"model.weight", "model.last"}


def test_what_cannot_be_saved(tmp_path):
    graph, _ = classifier()
    with pytest.raises(RuntimeError, match="has not been called"):
        graph.save(tmp_path / "graph")
    model = nn.Linear(1, 1)
    training = TrainGraph(model, lambda m, x: m(x).sum(), flow.optim.SGD(model.parameters()))
    training(flow.ones(1, 1))
    with pytest.raises(RuntimeError, match="trains"):
        training.save(tmp_path / "graph")
    generator = flow.Generator()
    drawing = graph_of(lambda: flow.rand(2, generator=generator))
    drawing()
    with pytest.raises(RuntimeError, match="generator of its own"):
        drawing.save(tmp_path / "graph")
    assert not list(tmp_path.iterdir())


def test_folders_are_replaced_as_a_whole_and_damage_is_told(tmp_path):
    graph, _ = classifier()
    graph(flow.randn(2, 1, 4, 4))
    path = tmp_path / "graph"
    path.mkdir()
    with pytest.raises(FileExistsError, match="no saved graph"):
        graph.save(path)
    path.rmdir()
    graph.save(path)
    graph.save(path)
    assert [each.name for each in tmp_path.iterdir()] == ["graph"]
    (path / "step0.stablehlo").write_bytes(b"nothing")
    with pytest.raises(RuntimeError, match="damaged"):
        nn.Graph.load(path)
    data = json.loads((path / "program.json").read_text())
    (path / "program.json").write_text(json.dumps({**data, "version": 99}))
    with pytest.raises(RuntimeError, match="format 99"):
        nn.Graph.load(path)
    with pytest.raises(FileNotFoundError, match=r"program\.json"):
        nn.Graph.load(tmp_path)
