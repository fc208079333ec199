"""Optimizers that update only the rows that were looked up."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import oneflow as flow
from oneflow import nn
from tests.graph.helpers import TrainGraph


class Lookups(nn.Module):
    """A table that is looked up twice, and a layer."""

    def __init__(self, rows=20, padding=None):
        super().__init__()
        self.table = nn.Embedding(rows, 4, padding_idx=padding)
        self.layer = nn.Linear(4, 2)

    def forward(self, indices, others):
        return self.layer(self.table(indices).sum(1)) + self.layer(self.table(others))


def loss_of(module, indices, others):
    """A loss."""
    return (module(indices, others) ** 2).sum()


INDICES, OTHERS = flow.tensor([[1, 2, 2], [3, 1, 7]]), flow.tensor([2, 9])
OPTIMIZERS = {
    "SGD": lambda p: flow.optim.SGD(p, lr=0.1),
    "momentum": lambda p: flow.optim.SGD(p, lr=0.1, momentum=0.9),
    "Adam": lambda p: flow.optim.Adam(p, lr=0.1),
    "Adagrad": lambda p: flow.optim.Adagrad(p, lr=0.1),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_rows_looked_up_change_as_ever_and_others_not_at_all(name):
    dense, sparse = Lookups(), Lookups()
    sparse.load_state_dict(dense.state_dict())
    before = dense.table.weight.numpy()
    graphs = []
    for module, is_sparse in ((dense, False), (sparse, True)):
        optimizer = OPTIMIZERS[name](module.parameters())
        graphs.append(TrainGraph(module, loss_of, optimizer, is_sparse=is_sparse))
    for _ in range(2):
        for graph in graphs:
            graph(INDICES, OTHERS)
    looked_up = [1, 2, 3, 7, 9]
    others = [row for row in range(20) if row not in looked_up]
    mine, theirs = sparse.table.weight.numpy(), dense.table.weight.numpy()
    np.testing.assert_allclose(mine[looked_up], theirs[looked_up], rtol=1e-5)
    np.testing.assert_array_equal(mine[others], before[others])
    np.testing.assert_allclose(sparse.layer.weight.numpy(), dense.layer.weight.numpy(), rtol=1e-5)
    (step,) = graphs[1]._steps.values()
    text = flow.eager.format_program(step.executable.program)
    assert "_of_rows(" in text
    assert "embedding_backward" not in text


def test_momentum_of_rows_that_are_not_looked_up_rests():
    module = Lookups()
    optimizer = flow.optim.SGD(module.parameters(), lr=0.1, momentum=0.9)
    graph = TrainGraph(module, loss_of, flow.optim.utils.SparseOptimizer(optimizer))
    graph(INDICES, OTHERS)
    after = module.table.weight.numpy()
    other = flow.tensor([[5, 5, 5], [5, 5, 5]]), flow.tensor([5, 5])
    graph(*other)
    changed = np.flatnonzero((module.table.weight.numpy() != after).any(1))
    assert changed.tolist() == [5]


def test_the_padding_row_gets_no_gradient():
    module = Lookups(padding=2)
    before = module.table.weight.numpy()
    graph = TrainGraph(module, loss_of, flow.optim.Adam(module.parameters()), is_sparse=True)
    graph(INDICES, OTHERS)
    changed = np.flatnonzero((module.table.weight.numpy() != before).any(1))
    assert changed.tolist() == [1, 3, 7, 9]


def test_updates_that_need_the_whole_table_stay_dense():
    module = Lookups()
    twin = copy.deepcopy(module)
    for each, is_sparse in ((module, True), (twin, False)):
        optimizer = flow.optim.LAMB(each.parameters(), lr=0.1)
        TrainGraph(each, loss_of, optimizer, is_sparse=is_sparse)(INDICES, OTHERS)
    assert flow.equal(module.table.weight, twin.table.weight)


def test_only_the_bytes_of_the_rows_are_moved():
    module = Lookups(rows=200_000)
    graph = TrainGraph(module, loss_of, flow.optim.Adam(module.parameters()), is_sparse=True)
    graph(INDICES, OTHERS)
    (step,) = graph._steps.values()
    assert step.executable.memory().temp_size_in_bytes < 100_000
    with pytest.raises(TypeError, match="must be an Optimizer"):
        flow.optim.utils.SparseOptimizer(module)
