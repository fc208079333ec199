"""Features named by the v0.6.0 release notes: static graphs."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from benchmarks.models import wide_deep
from benchmarks.models.training import graph_step

import oneflow as flow
from oneflow import nn
from tests.graph.helpers import TrainGraph, graph_of

SOURCE = Path(flow.__file__).parents[1]


def run_script(script, **environment):
    """Run Python code in a process of its own; what it wrote."""
    result = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONPATH": str(SOURCE), **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert result.returncode == 0, result.stderr
    return result


def python_calls(function):
    """The functions that Python calls in `function()` and how often, a measure of its overhead.

    `benchmarks/` has the times.
    """
    calls = Counter()

    def profiler(frame, event, argument):
        if event == "call":
            calls[frame.f_code.co_qualname] += 1
        elif event == "c_call":
            calls[argument.__qualname__] += 1

    sys.setprofile(profiler)
    try:
        function()
    finally:
        sys.setprofile(None)
    return calls


def test_s001_01_training_is_faster_than_in_eager_mode():
    eager = wide_deep.build(flow, batch=8, fields=8, rows=20, width=4)
    graph = wide_deep.build(flow, 8, 8, 20, 4, make_step=graph_step)
    for step in (eager, graph):
        for _ in range(4):
            step().numpy()
        flow.eager.synchronize()
    of_graph = python_calls(lambda: graph().numpy())
    of_eager = python_calls(lambda: eager().numpy())
    assert of_graph.total() < of_eager.total() / 4, of_graph


def test_s001_02_calls_cost_less_than_in_eager_mode():
    model = nn.Sequential(*(nn.Linear(2, 2) for _ in range(48)))
    graph = graph_of(lambda x: model(x), model=model)
    x = flow.ones(1, 2)

    def read(result):
        result.numpy()  # what nobody reads would not be computed
        return result

    def eagerly():
        with flow.no_grad():
            return read(model(x))

    def as_graph():
        return read(graph(x))

    for function in (eagerly, as_graph) * 4:
        function()
    flow.eager.synchronize()
    # The least of several: a garbage collection in between runs Python code of its own.
    of_graph, of_eager = (
        min((python_calls(run) for _ in range(3)), key=Counter.total) for run in (as_graph, eagerly)
    )
    assert of_graph.total() < of_eager.total() / 2, of_graph


def test_s001_03_results_come_before_the_work_is_done():
    w = flow.randn(1500, 1500)
    graph = graph_of(lambda a: a @ a @ a @ a @ a @ a)
    graph(w).numpy()
    pending = []
    for _ in range(3):
        result = graph(w)
        pending.append(not result._value.array.is_ready())
        result.numpy()
    assert any(pending)


def test_s001_20_debug_names_modules(capsys):
    texts = []
    for level in (0, 1):
        linear = nn.Linear(3, 8)
        graph = graph_of(lambda x, linear=linear: linear(x), linear=linear)
        graph.debug(level)
        graph(flow.ones(4, 3))
        texts.append(capsys.readouterr().out)
    assert "linear" in texts[1]
    assert len(texts[0]) < len(texts[1])


@pytest.mark.parametrize("chosen", ["ALL", "dead_code,materialize"])
def test_s001_21_dumps_of_passes(tmp_path, chosen):
    script = (
        "import oneflow as flow\n"
        "class Tiny(flow.nn.Graph):\n"
        "    def build(self, x):\n"
        "        flow.exp(x)\n"
        "        return x + 1\n"
        "Tiny()(flow.ones(2))\n"
    )
    result = run_script(script, ONEFLOW_DEBUG_PASS=chosen, ONEFLOW_LOG_DIR=str(tmp_path))
    assert "--- Tiny_0: before dead_code" in result.stderr
    files = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert "exp(" in files["Tiny_0-dead_code-before.txt"]
    assert "exp(" not in files["Tiny_0-dead_code-after.txt"]
    assert ("Tiny_0-channels_last-after.txt" in files) is (chosen == "ALL")
    assert "Tiny_0-materialize-after.txt" in files


def test_s001_22_names_for_profilers():
    linear = nn.Linear(2, 2)
    graph = graph_of(lambda x: linear(x), linear=linear)
    graph(flow.ones(1, 2))
    (step,) = graph._steps.values()
    assert f"HloModule jit_{graph.name}" in step.executable.hlo()
    script = (
        "import threading\n"
        "from oneflow.runtime.background import COMPILER\n"
        "COMPILER.submit(lambda: None)\n"
        "COMPILER.wait()\n"
        "print([each.name for each in threading.enumerate()])\n"
    )
    result = run_script(script, ONEFLOW_PROFILER_HOST_THREAD_NAME_PREFIX="train-")
    assert "train-oneflow-compiler" in result.stdout


@pytest.mark.parametrize("name", ["matmul", "cat"])
def test_s001_23_operators_in_graphs(name):
    # Their tables compute when they are imported.
    from tests.laws.test_operators import ROWS
    from tests.laws.test_operators_in_graphs import assert_same_in_a_graph

    (row,) = [row for _, row in ROWS if row.name == name]
    assert_same_in_a_graph(row)


@pytest.mark.parametrize("row", ["s001_24", "s001_25"])
def test_saving_and_loading(row, tmp_path):
    linear = nn.Linear(3, 2)
    graph = graph_of(lambda x: linear(x), linear=linear)
    x = flow.randn(4, 3)
    expected = graph(x).numpy()
    graph.save(tmp_path / "m")
    flow.save(graph, tmp_path / "m2")
    for name in ("m", "m2"):
        assert (tmp_path / name / "program.json").exists()
        loaded = nn.Graph.load(tmp_path / name)
        assert set(loaded.state_dict()) == {"linear.weight", "linear.bias"}
        np.testing.assert_array_equal(loaded(x).numpy(), expected)
    np.testing.assert_array_equal(flow.load(tmp_path / "m")(x).numpy(), expected)


def test_s001_26_channels_last_images():
    script = (
        "import sys, numpy as np, oneflow as flow\n"
        "from oneflow import nn\n"
        "flow.manual_seed(0)\n"
        "model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2),\n"
        "                      nn.AvgPool2d(2))\n"
        "x = np.random.default_rng(0).standard_normal((2, 3, 10, 12)).astype(np.float32)\n"
        "last = sys.argv[1:] == ['last']\n"
        "x = flow.tensor(x.transpose(0, 2, 3, 1) if last else x)\n"
        "y = model(x).detach().numpy()\n"
        "y = y.transpose(0, 3, 1, 2) if last else y\n"
        "print(y.shape, ' '.join(f'{each:.5f}' for each in y.ravel()))\n"
    )
    first = run_script(script)
    last = run_script(script.replace("sys.argv[1:]", "['last']"), ONEFLOW_ENABLE_NHWC="1")
    assert first.stdout == last.stdout
    assert first.stdout.startswith("(2, 4, 2, 2)")


@pytest.mark.parametrize("spelling", ["is_sparse", "SparseOptimizer"])
def test_s001_27_sparse_updates(spelling):
    table = nn.Embedding(10, 3)
    optimizer = flow.optim.Adam(table.parameters(), lr=0.1)
    options = {"is_sparse": True}
    if spelling == "SparseOptimizer":
        optimizer, options = flow.optim.utils.SparseOptimizer(optimizer), {}
    graph = TrainGraph(table, lambda m, i: m(i).sum(), optimizer, **options)
    before = table.weight.numpy().copy()
    graph(flow.tensor([1, 4]))
    changed = np.flatnonzero((table.weight.numpy() != before).any(1))
    assert changed.tolist() == [1, 4]
    # Momenta would move rows that were looked up earlier, if all rows were updated.
    before = table.weight.numpy().copy()
    graph(flow.tensor([2, 4]))
    changed = np.flatnonzero((table.weight.numpy() != before).any(1))
    assert changed.tolist() == [2, 4]


class Layers(nn.Module):
    """Modules and parameters in containers of each kind."""

    def __init__(self, kind):
        super().__init__()
        self.kind = kind
        layers = [nn.Linear(2, 2), nn.ReLU()]
        weights = [nn.Parameter(flow.ones(2, 2)), nn.Parameter(flow.ones(2, 2) * 2)]
        self.held = {
            "s001_28": lambda: nn.Sequential(*layers),
            "s001_29": lambda: nn.ModuleList(layers),
            "s001_30": lambda: nn.ModuleDict({"a": layers[0], "b": layers[1]}),
            "s001_31": lambda: nn.ParameterList(weights),
            "s001_32": lambda: nn.ParameterDict({"a": weights[0], "b": weights[1]}),
        }[kind]()

    def forward(self, x):
        if self.kind == "s001_28":
            return self.held(x)
        dictionary = self.kind in ("s001_30", "s001_32")
        for tensor in self.held.values() if dictionary else self.held:
            x = tensor(x) if isinstance(tensor, nn.Module) else x @ tensor
        return x


@pytest.mark.parametrize("row", ["s001_28", "s001_29", "s001_30", "s001_31", "s001_32"])
def test_containers_in_graphs(row):
    model = Layers(row)
    x = flow.randn(3, 2)
    graph = graph_of(lambda x: model(x), model=model)
    if row in ("s001_31", "s001_32"):
        expected = x.numpy() @ np.full((2, 2), 1) @ np.full((2, 2), 2)
    else:
        weight, bias = (parameter.detach().numpy() for parameter in model.parameters())
        expected = np.maximum(x.numpy() @ weight.T + bias, 0)
    np.testing.assert_allclose(graph(x).numpy(), expected, rtol=1e-5, atol=1e-6)
    direct = graph_of(lambda x: x, held=model.held)
    assert len(direct.held) == 2


def test_s001_33_the_optimizer_may_be_made_inside():
    class TG(nn.Graph):
        def __init__(self):
            super().__init__()
            self.m = nn.Linear(2, 1)
            self.add_optimizer(flow.optim.SGD(self.m.parameters(), lr=0.1))

        def build(self, x):
            loss = self.m(x).pow(2).mean()
            loss.backward()
            return loss

    graph = TG()
    x = flow.ones(4, 2)
    losses = [graph(x).item() for _ in range(5)]
    assert losses[-1] < losses[0]


def test_s001_34_tied_weights():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(2, 2), nn.Linear(2, 2)
            self.a.weight = self.b.weight

        def forward(self, x):
            return self.a(self.b(x)).sum()

    eager, static = Tied(), Tied()
    static.load_state_dict(eager.state_dict())
    x = flow.ones(1, 2)
    optimizer = flow.optim.SGD(eager.parameters(), lr=0.1)
    eager(x).backward()
    optimizer.step()
    TrainGraph(static, lambda m, x: m(x), flow.optim.SGD(static.parameters(), lr=0.1))(x)
    assert static.a.weight is static.b.weight
    np.testing.assert_allclose(static.a.weight.numpy(), eager.a.weight.numpy(), rtol=1e-6)
