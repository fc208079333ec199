"""Rows on global tensors: placements, SBP and ZeRO. One process runs all ranks here."""

import runpy

import numpy as np
import pytest

import oneflow as flow
from tests.distributed.launching import PROGRAMS

S, B = flow.sbp.split, flow.sbp.broadcast
PAIR = flow.placement("cpu", [0, 1])


@pytest.mark.parametrize(
    ("program", "row"),
    [
        ("rows_of_two.py", "s000_17_consistent_tensor"),
        ("rows_of_two.py", "s000_18_inference"),
        ("rows_of_two.py", "s001_61_from_numpy"),
        ("rows_of_four.py", "s000_19_hybrid_parallelism"),
        ("rows_of_four.py", "s001_59_rows_and_columns"),
        ("rows_of_four.py", "s001_60_from_one_dimension_to_two"),
    ],
)
def test_row_holds_in_one_process_too(program, row):
    runpy.run_path(str(PROGRAMS / program))[row]()


def test_s001_36_in_place_in_a_graph():
    class Add(flow.nn.Graph):
        def build(self, x):
            y = x * 2
            y.add_(1)
            return y

    x = flow.tensor(np.arange(6.0), placement=PAIR, sbp=S(0))
    eager = x * 2
    eager.add_(1)
    result = Add()(x)
    assert result.sbp == eager.sbp == (S(0),)
    np.testing.assert_array_equal(result.numpy(), np.arange(6.0) * 2 + 1)
    np.testing.assert_array_equal(eager.numpy(), np.arange(6.0) * 2 + 1)


class Step(flow.nn.Graph):
    def __init__(self, net, optimizer, mode, min_size):
        super().__init__()
        self.net = net
        self.add_optimizer(optimizer)
        if mode:
            self.config.set_zero_redundancy_optimizer_mode(mode)
            self.config.set_zero_redundancy_optimizer_min_size_after_split(min_size)

    def build(self, x):
        loss = self.net(x).pow(2).mean()
        loss.backward()
        return loss


class Run:
    """Three steps.

    Attributes:
        losses: one per step.
        states: how many elements of the optimizer's states this rank keeps.
    """

    def __init__(self, mode, min_size=1):
        flow.manual_seed(0)
        net = flow.nn.Linear(6, 4).to_global(PAIR, B)
        optimizer = flow.optim.Adam(net.parameters(), lr=0.1)
        graph = Step(net, optimizer, mode, min_size)
        x = flow.randn(8, 6, placement=PAIR, sbp=S(0))
        self.losses = [graph(x).item() for _ in range(3)]
        kept = [e for s in optimizer.state.values() for e in s.values() if flow.is_tensor(e)]
        self.states = sum(tensor.to_local().numel() for tensor in kept)


def test_s003_38_zero_splits_states():
    whole, run = Run(None), Run("distributed_split")
    assert run.states == whole.states / 2
    np.testing.assert_allclose(run.losses, whole.losses, rtol=1e-5)


def test_s003_39_zero_without_splitting_gradients():
    whole, run = Run(None), Run("non_distributed")
    assert run.states == whole.states / 2
    np.testing.assert_allclose(run.losses, whole.losses, rtol=1e-5)


def test_s003_40_small_states_stay_whole():
    whole, run = Run(None), Run("distributed_split", min_size=1024)
    assert run.states == whole.states
    np.testing.assert_allclose(run.losses, whole.losses, rtol=1e-5)
