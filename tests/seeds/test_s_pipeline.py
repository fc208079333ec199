"""Rows on pipelines. One process runs all ranks here."""

import contextlib
import io
import subprocess
import sys

import numpy as np
import pytest

import oneflow as flow
from tests.distributed.launching import ROOT, environment

B = flow.sbp.broadcast
FIRST, SECOND = flow.placement("cpu", [0]), flow.placement("cpu", [1])


class Net(flow.nn.Module):
    def __init__(self):
        super().__init__()
        flow.manual_seed(0)
        self.stage0 = flow.nn.Sequential(flow.nn.Linear(6, 8), flow.nn.ReLU())
        self.stage1 = flow.nn.Linear(8, 4)

    def forward(self, x):
        return self.stage1(self.stage0(x))


class Training(flow.nn.Graph):
    def __init__(self, net, batches, stages=False):
        super().__init__()
        self.net = net
        if stages:
            self.net.stage0.config.stage_id = 0
            self.net.stage1.config.stage_id = 1
        self.config.set_gradient_accumulation_steps(batches)
        self.add_optimizer(flow.optim.SGD(net.parameters(), lr=0.1))

    def build(self, x, y):
        loss = flow.nn.functional.cross_entropy(self.net(x), y)
        loss.backward()
        return loss


def data():
    flow.manual_seed(1)
    return flow.randn(8, 6), flow.randint(0, 4, (8,))


@pytest.fixture(scope="module")
def pipeline():
    """The losses of three steps in two stages with four micro batches, and what is printed."""
    net = Net()
    net.stage0.to_consistent(placement=FIRST, sbp=B)
    net.stage1.to_consistent(placement=SECOND, sbp=B)
    x, y = data()
    x, y = x.to_global(FIRST, B), y.to_global(SECOND, B)
    graph = Training(net, 4, stages=True)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        graph.debug(1)
        losses = [graph(x, y).numpy() for _ in range(3)]
    return losses, printed.getvalue()


def test_s000_21_two_stages_and_four_micro_batches(pipeline):
    losses, _ = pipeline
    of_parts = [
        flow.nn.functional.cross_entropy(Net()(x), y).item()
        for x, y in zip(*(tensor.chunk(4) for tensor in data()), strict=True)
    ]
    np.testing.assert_allclose(losses[0], of_parts, rtol=1e-4)
    plain = Training(Net(), 4)
    for loss in losses:
        np.testing.assert_allclose(loss, plain(*data()).numpy(), rtol=1e-4)


def test_s000_22_micro_batches_are_made_of_the_full_batch(pipeline):
    (first, *_), _ = pipeline
    whole = Training(Net(), 1)(*data())
    assert first.shape == (4,)
    np.testing.assert_allclose(first.mean(), whole.numpy(), rtol=1e-5)


def test_s000_23_buffers_between_stages_need_no_code(pipeline):
    _, printed = pipeline
    assert "(STAGE:0:" in printed
    assert "keeps activations of 2 micro batch(es)" in printed
    assert "(STAGE:1:" in printed


def test_s000_15_the_example_of_a_pipeline(tmp_path):
    program = ROOT / "examples" / "pipeline.py"
    found = subprocess.run(
        [sys.executable, str(program), "--output", str(tmp_path)],
        env=environment(ONEFLOW_CPU_DEVICES="2"),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    losses = [float(line.split()[-1]) for line in found.stdout.splitlines() if "loss" in line]
    assert losses == sorted(losses, reverse=True)
    assert (tmp_path / "pipeline.svg").exists()
