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
    "SparseAdam": lambda p: flow.optim.SparseAdam(p, lr=0.1),
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


@pytest.mark.parametrize("shape", [(0,), (0, 3), ()])
def test_batches_without_rows_and_single_rows(shape):
    table = nn.Embedding(4, 2)
    before = table.weight.numpy()
    optimizer = flow.optim.SGD(table.parameters(), lr=1.0)
    graph = TrainGraph(table, lambda module, i: module(i).sum(), optimizer, is_sparse=True)
    indices = flow.full(shape, 3, dtype=flow.int64)
    graph(indices)
    expected = before.copy()
    expected[3] -= indices.numel()
    np.testing.assert_allclose(table.weight.numpy(), expected, rtol=1e-6)


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
    for trained, is_sparse in ((module, True), (twin, False)):
        optimizer = flow.optim.LAMB(trained.parameters(), lr=0.1)
        TrainGraph(trained, loss_of, optimizer, is_sparse=is_sparse)(INDICES, OTHERS)
    assert flow.equal(module.table.weight, twin.table.weight)


def clipped(module, norm_type=2.0):
    """Parameter groups that are clipped."""
    options = {"clip_grad_max_norm": 0.5, "clip_grad_norm_type": norm_type}
    return [{"params": list(module.parameters()), **options}]


OPTIONS = {
    "clipped": {"groups": clipped},
    "clipped-inf": {"groups": lambda module: clipped(module, float("inf"))},
    "clipped-1": {"groups": lambda module: clipped(module, 1.0)},
    "scaled": {"scaler": flow.amp.GradScaler},
    "static": {"scaler": lambda: flow.amp.StaticGradScaler(64.0)},
    "accumulated": {"micro_batches": 2},
    "half": {"half": True},
    "all": {"groups": clipped, "scaler": flow.amp.GradScaler, "micro_batches": 2, "half": True},
}


def graph_with(
    module,
    is_sparse,
    groups=lambda module: module.parameters(),
    scaler=lambda: None,
    micro_batches=1,
    half=False,
):
    """A graph of `module` with some options."""
    optimizer = flow.optim.Adam(groups(module), lr=0.1, eps=1e-3)
    graph = TrainGraph(module, loss_of, optimizer, is_sparse=is_sparse)
    graph.set_grad_scaler(scaler())
    graph.config.set_gradient_accumulation_steps(micro_batches)
    graph.config.enable_amp(half, dtype=flow.bfloat16)
    return graph


def only_program(graph):
    """The program of a graph as text."""
    (step,) = graph._steps.values()
    return flow.eager.format_program(step.executable.program)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", OPTIONS)
def test_gradients_of_rows_may_be_scaled_clipped_and_accumulated(name):
    dense = Lookups(padding=2)
    sparse = copy.deepcopy(dense)
    graphs = [graph_with(m, s, **OPTIONS[name]) for m, s in ((dense, False), (sparse, True))]
    losses = [[graph(INDICES, OTHERS).numpy() for _ in range(3)] for graph in graphs]
    tolerance = 2e-2 if "half" in OPTIONS[name] else 1e-5
    np.testing.assert_allclose(losses[1], losses[0], rtol=tolerance)
    for mine, theirs in zip(sparse.parameters(), dense.parameters(), strict=True):
        np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=tolerance, atol=tolerance)
    assert "embedding_backward" in only_program(graphs[0])
    assert "embedding_backward" not in only_program(graphs[1])


def test_a_skipped_step_writes_no_rows():
    module = Lookups()
    graph = graph_with(module, True, scaler=lambda: flow.amp.GradScaler(init_scale=3e38))
    before = [parameter.numpy() for parameter in module.parameters()]
    graph(INDICES, OTHERS)
    optimizer = graph._optimizers[0].optimizer
    for parameter, old in zip(module.parameters(), before, strict=True):
        np.testing.assert_array_equal(parameter.numpy(), old)
        assert optimizer.state[parameter]["exp_avg"].abs().sum().item() == 0.0
        assert optimizer.state[parameter]["step"].item() == 0


def test_a_norm_that_counts_zeros_needs_the_whole_gradient():
    dense = Lookups()
    sparse = copy.deepcopy(dense)
    for module, is_sparse in ((dense, False), (sparse, True)):
        options = {"groups": lambda module: clipped(module, -1.0)}
        graph = graph_with(module, is_sparse, **options)
        graph(INDICES, OTHERS)
        assert "embedding_backward" in only_program(graph)
    np.testing.assert_allclose(sparse.table.weight.numpy(), dense.table.weight.numpy(), rtol=1e-6)


@pytest.mark.parametrize("name", ["plain", "all"])
def test_only_the_bytes_of_the_rows_are_moved(name):
    module = Lookups(rows=200_000)
    graph = graph_with(module, True, **OPTIONS.get(name, {}))
    graph(INDICES, OTHERS)
    (step,) = graph._steps.values()
    assert step.executable.memory().temp_size_in_bytes < 100_000


def test_sparse_optimizers_are_made_of_optimizers():
    with pytest.raises(TypeError, match="must be an Optimizer"):
        flow.optim.utils.SparseOptimizer(nn.Linear(1, 1))
