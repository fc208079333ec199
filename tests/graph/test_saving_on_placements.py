"""Saved graphs of global tensors: they run where the ranks exist, in one process or in several."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import oneflow as flow
from oneflow import nn
from tests.distributed.launching import assert_succeeds
from tests.graph.helpers import graph_of

SOURCE = Path(flow.__file__).parents[1]
S, B = flow.sbp.split, flow.sbp.broadcast
PAIR = flow.placement("cpu", [0, 1])
GRID = flow.placement("cpu", [[2, 1], [0, 3]])
ROWS = np.arange(30, dtype=np.float32).reshape(5, 6) / 30


def network(placement, **sbp):
    """A graph with parameters that lie as `sbp` says, a counter, and random numbers."""
    net = nn.Sequential(nn.Linear(6, 8), nn.Dropout(0.3), nn.Linear(8, 4))
    net.register_buffer("calls", flow.zeros(1))
    net.to_global(placement, placement.broadcast)
    for name, layout in sbp.items():
        layer = net[int(name[-1])]
        layer.weight.data = layer.weight.data.to_global(sbp=layout)
    offset = flow.full((4,), 0.5, placement=placement, sbp=placement.broadcast)

    def build(x):
        net.calls += 1
        return net(x) + offset, net.calls, x

    return graph_of(build, net=net)


def rows(placement, sbp):
    return flow.tensor(ROWS, placement=placement, sbp=placement.broadcast).to_global(sbp=sbp)


def run(graph, x):
    flow.manual_seed(4)
    return graph(x)[0]


def test_a_graph_on_a_grid(tmp_path):
    graph = network(GRID, layer0=(B, S(0)), layer2=(B, S(1)))
    x = rows(GRID, (S(0), B))
    expected = run(graph, x)
    assert expected.sbp[1] is flow.sbp.partial_sum
    graph.save(tmp_path / "graph")
    (files,) = (tmp_path / "graph").glob("files-*")
    assert {path.name for path in files.iterdir()} == {"step0.stablehlo", "weights"}
    loaded = flow.load(tmp_path / "graph")
    found = run(loaded, x)
    assert found.placement is GRID
    assert found.sbp == expected.sbp
    np.testing.assert_array_equal(found.numpy(), expected.numpy())
    flow.manual_seed(4)
    _, calls, same = loaded(x)
    assert calls.item() == 3
    assert same is x
    weights = loaded.state_dict()
    assert weights["net.0.weight"].sbp == (B, S(0))
    assert weights["net.2.weight"].sbp == (B, S(1))
    with pytest.raises(TypeError, match="was saved for"):
        loaded(flow.tensor(ROWS))
    with pytest.raises(TypeError, match="was saved for"):
        loaded(x.to_global(sbp=(B, B)))


def test_without_arrays_and_with_checks(tmp_path):
    drawing = graph_of(lambda x: flow.rand(x.shape, placement=PAIR, sbp=S(0)))
    table = nn.Embedding(5, 3).to_global(PAIR, B)
    looking_up = graph_of(lambda x: table(x), table=table)
    indices = flow.tensor([1, 4, 2], placement=PAIR, sbp=S(0))
    expected = looking_up(indices)
    flow.manual_seed(1)
    drawn = drawing(indices)
    for name, graph in (("drawing", drawing), ("looking_up", looking_up)):
        graph.save(tmp_path / name)
        graph.save(tmp_path / name)
    flow.manual_seed(1)
    assert flow.load(tmp_path / "drawing")(indices).tolist() == drawn.tolist()
    loaded = flow.load(tmp_path / "looking_up")
    assert loaded(indices).tolist() == expected.tolist()
    with pytest.raises(IndexError, match=r"index 6, but .* 5 rows"):
        loaded(indices + 5).numpy()


def test_called_in_several_places(tmp_path):
    graph = graph_of(lambda x: x * 2)
    graph(flow.ones(4))
    with pytest.warns(UserWarning, match="compiled again"):
        graph(flow.ones(4, placement=PAIR, sbp=S(0)))
    with pytest.raises(RuntimeError, match="several devices"):
        graph.save(tmp_path / "graph")
    assert not list(tmp_path.iterdir())


def in_a_process(script, devices):
    environment = {**os.environ, "PYTHONPATH": str(SOURCE), "ONEFLOW_CPU_DEVICES": str(devices)}
    return subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=False
    )


def test_where_the_ranks_do_not_exist(tmp_path):
    graph = network(GRID)
    graph(rows(GRID, (S(0), B)))
    graph.save(tmp_path / "graph")
    script = f"import oneflow; print(oneflow.load({str(tmp_path / 'graph')!r}))"
    assert "SavedGraph" in in_a_process(script, 4).stdout
    (message,) = in_a_process(script, 1).stderr.splitlines()[-1:]
    assert message.partition(": ")[0].endswith("LoadError")
    assert "ranks=[[2, 1], [0, 3]]" in message
    assert "set ONEFLOW_CPU_DEVICES=4 for that many; or start several processes" in message


def test_missing_parts(tmp_path):
    graph = network(PAIR, layer0=S(0))
    graph(rows(PAIR, S(0)))
    graph.save(tmp_path / "graph")
    next((tmp_path / "graph").glob("files-*/weights/parts-*/*")).unlink()
    with pytest.raises(RuntimeError, match="is missing"):
        flow.load(tmp_path / "graph")


@pytest.mark.multiprocess
@pytest.mark.xdist_group("processes")
@pytest.mark.one_in(2)
def test_several_processes(tmp_path):
    graph = network(PAIR, layer0=S(0), layer2=S(1))
    expected = run(graph, rows(PAIR, S(0))).numpy()
    graph.save(tmp_path / "one")
    np.save(tmp_path / "expected.npy", expected)
    assert_succeeds("saved_graphs.py", str(tmp_path))
    found = run(flow.load(tmp_path / "several"), rows(PAIR, S(0)))
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6)
