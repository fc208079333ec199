"""Every module trains in a graph as it does in eager mode."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import oneflow as flow
from tests.graph.helpers import TrainGraph, train_eagerly
from tests.nn.test_modules import ACTIVATIONS, LAYERS, LOSSES, PADDING, Row
from tests.nn.twins import weighted_sum
from tests.oracle import to_flow


class Scaled(flow.nn.Module):
    """A module behind a parameter, so that every module has something to train."""

    def __init__(self, module: flow.nn.Module) -> None:
        super().__init__()
        self.module = module
        self.scale = flow.nn.Parameter(flow.ones(1, dtype=flow.float64))

    def forward(self, *inputs):
        scaled = [x * self.scale if x.dtype is flow.float64 else x for x in inputs]
        return self.module(*scaled)


def loss_of(module, *inputs):
    """A number that depends on every element of the result."""
    return weighted_sum(module(*inputs), to_flow) + module.scale.sum()


@pytest.mark.parametrize("row", [*ACTIVATIONS, *LAYERS, *PADDING, *LOSSES], ids=str)
def test_module_trains_in_a_graph_as_in_eager_mode(row: Row):
    module = Scaled(row.make(flow)).double()
    twin = copy.deepcopy(module)
    batches = [tuple(to_flow(array) for array in row.inputs)] * 2
    eager = train_eagerly(module, loss_of, flow.optim.SGD(module.parameters(), lr=0.01), batches)
    graph = TrainGraph(twin, loss_of, flow.optim.SGD(twin.parameters(), lr=0.01))
    static = [graph(*inputs).item() for inputs in batches]
    np.testing.assert_allclose(static, eager, rtol=1e-9, atol=1e-12)
    for name, mine in twin.state_dict().items():
        theirs = module.state_dict()[name]
        np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=1e-9, err_msg=name)
