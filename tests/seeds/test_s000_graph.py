"""Features named by the v0.5.0 release notes: static graphs."""

import os
import subprocess
import sys
from pathlib import Path

import oneflow as flow
from oneflow import nn
from tests.graph.helpers import graph_of

ROOT = Path(__file__).parents[2]


def run_example(*arguments):
    """Run an example; what it printed."""
    return subprocess.run(
        [sys.executable, str(ROOT / "examples" / arguments[0]), *arguments[1:]],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    ).stdout


def test_s000_10_resnet():
    options = [
        "--synthetic",
        "--iters",
        "5",
        "--blocks",
        "1",
        "1",
        "0",
        "0",
        "--width",
        "8",
        "--size",
        "32",
    ]
    lines = run_example("resnet50_graph.py", *options).splitlines()
    gap = float(lines[-2].split()[-1])
    first, last = (float(lines[-1].split()[place]) for place in (1, 3))
    assert gap < 1e-3
    assert last < first


def test_s000_11_neural_graph():
    model = nn.Linear(3, 2)

    class NeuralGraph(nn.Graph):
        def __init__(self):
            super().__init__()
            self.model = model

        def build(self, x):
            return self.model(x)

    x = flow.randn(4, 3)
    assert flow.allclose(NeuralGraph()(x), model(x), rtol=1e-6, atol=1e-7)


def test_s000_12_the_first_call_compiles():
    calls = []
    graph = graph_of(lambda x: calls.append(1) or x + 1)
    for _ in range(5):
        graph(flow.ones(2))
    assert len(calls) == 1


def test_s000_13_modules_are_shared_with_eager_mode():
    class Shared(nn.Graph):
        def __init__(self):
            super().__init__()
            self.m = model

        def build(self, x):
            return self.m(x)

    model = nn.Linear(2, 1, bias=False)
    graph, x = Shared(), flow.ones(1, 2)
    graph(x)
    with flow.no_grad():
        model.weight.copy_(flow.tensor([[2.0, 3.0]]))
    assert graph(x).item() == 5.0


def test_s000_14_polynomial_fit(tmp_path):
    options = ("--debug", "1", "--output", str(tmp_path))
    output = run_example("linear_train_graph.py", *options)
    assert (tmp_path / "fit.png").exists()
    words = next(line for line in output.splitlines() if line.startswith("loss ")).split()
    assert float(words[3]) < 0.5 * float(words[1])
    assert "(MODULE:model:Sequential" in output
    assert "OUTPUT" in output
