"""Graphs with arguments and variables that are parts of one memory."""

import pytest

import oneflow as flow
from oneflow import nn
from tests.graph.helpers import TrainGraph, graph_of

PARTS = {
    "rows": lambda x: x[1:3],
    "other rows": lambda x: x[2:],
    "a detached row": lambda x: x[2].detach(),
    "a row by tensor": lambda x: x[flow.tensor(1)],
    "columns": lambda x: x[:, :2],
    "other columns": lambda x: x[:, 2:],
    "turned": lambda x: x.t()[3:],
    "flat": lambda x: x.view(-1)[5:7],
    "every other": lambda x: x.view(-1)[::2],
    "the others": lambda x: x.view(-1)[1::2],
    "bytes": lambda x: x.view(flow.int32)[0],
    "an element": lambda x: x[3, 3],
    "nothing": lambda x: x[1:1],
}


@pytest.mark.parametrize("written", PARTS)
def test_arguments_are_refused_where_a_write_to_one_changes_the_other(written):
    for read in PARTS:
        x = flow.arange(1.0, 17.0).reshape(4, 4)
        one, other = PARTS[written](x), PARTS[read](x)
        before = other.clone()
        graph = graph_of(lambda one, other: (one.mul_(2), other + 0)[1])
        if flow.equal(PARTS[read](with_doubled(PARTS[written])), before):
            assert flow.equal(graph(one, other), before), read
        else:
            with pytest.raises(RuntimeError, match="shares memory"):
                graph(one, other)


def with_doubled(part):
    x = flow.arange(1.0, 17.0).reshape(4, 4)
    part(x).mul_(2)
    return x


def test_parameters_in_one_vector_train_as_in_eager_mode():
    def model():
        layers = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 2))
        vector = flow.arange(17.0) / 17
        nn.utils.vector_to_parameters(vector, layers.parameters())
        return layers, vector

    (eager, eager_vector), (layers, vector) = model(), model()
    optimizer = flow.optim.SGD(layers.parameters(), lr=0.1, momentum=0.9)
    graph = TrainGraph(layers, lambda m, x: m(x).sum(), optimizer)
    optimizer = flow.optim.SGD(eager.parameters(), lr=0.1, momentum=0.9)
    for step in range(4):
        x = flow.full((2, 2), float(step))
        loss = eager(x).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        assert graph(x).item() == pytest.approx(loss.item(), rel=1e-5)
        assert vector.tolist() == pytest.approx(eager_vector.tolist(), rel=1e-5)


APART = {
    "another shape": lambda x: x.t().view(-1),
    "two rows": lambda x: x.transpose(0, 1).view(2, -1),
    "the shape of another": lambda x: x.t().view_as(x.flatten()),
    "bytes": lambda x: x.t().view(flow.int16),
}


@pytest.mark.parametrize("name", APART)
def test_views_of_graphs_and_global_tensors_copy_what_they_cannot_share(name):
    x = flow.arange(16.0).reshape(4, 4)
    one = flow.placement("cpu", [0])
    with pytest.raises(RuntimeError, match=r"strid"):
        APART[name](x)
    expected = APART[name](x.t().contiguous().t())
    assert flow.equal(graph_of(APART[name])(x), expected)
    everywhere = x.to_global(placement=one, sbp=flow.sbp.broadcast)
    assert flow.equal(APART[name](everywhere).to_local(), expected)
    assert flow.equal(graph_of(APART[name])(everywhere).to_local(), expected)
