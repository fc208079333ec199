"""The state that a graph reads and writes besides arguments and results."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

import oneflow as flow
from oneflow import nn
from oneflow.nn import functional as F
from oneflow.tensor.views import unwrap
from tests.graph.helpers import TrainGraph, graph_of


def test_parameters_changed_outside_are_seen():
    model = nn.Linear(2, 1, bias=False)
    graph = graph_of(lambda x: model(x), model=model)
    x = flow.ones(1, 2)
    graph(x)
    with flow.no_grad():
        model.weight.fill_(3.0)
    assert graph(x).item() == 6.0
    model.weight = nn.Parameter(flow.ones(1, 2))
    assert graph(x).item() == 2.0
    model.double()
    with pytest.warns(UserWarning, match="compiled again"):
        assert graph(x.double()).dtype is flow.float64


def test_modules_replaced_later_are_seen():
    model = nn.Sequential(nn.Identity())
    graph = graph_of(lambda x: model(x), model=model)
    graph(flow.ones(1))
    model[0] = nn.Threshold(2.0, 7.0)
    assert graph(flow.ones(1)).item() == 7.0


def test_modules_and_parameters_added_or_taken_away_later_are_seen():
    model = nn.Sequential(nn.Linear(2, 2, bias=False))
    graph = graph_of(lambda x: model(x), model=model)
    x = flow.ones(1, 2)
    graph(x)
    model.append(nn.Threshold(9.0, 7.0))
    assert graph(x).tolist() == [[7.0, 7.0]]
    del model[1]
    assert flow.equal(graph(x), model(x))
    model[0].bias = nn.Parameter(flow.ones(2))
    assert flow.equal(graph(x), model(x))
    model[0].bias = None
    assert flow.equal(graph(x), model(x))


class Counter(nn.Module):
    """A buffer counted in place, one that is assigned anew, and a plain attribute."""

    def __init__(self):
        super().__init__()
        self.register_buffer("counted", flow.zeros(1))
        self.register_buffer("assigned", flow.zeros(2))
        self.plain = flow.zeros(1)
        self.seen = None

    def forward(self, x):
        self.counted += 1
        self.assigned[0] = self.counted[0] * 10
        self.plain = self.plain + x.sum()
        return self.counted + self.plain


def test_buffers_and_attributes_written_in_build():
    model = Counter()
    buffer, plain = model.assigned, model.plain
    graph = graph_of(lambda x: model(x), model=model)
    results = [graph(flow.ones(2)).item() for _ in range(3)]
    assert results == [3.0, 6.0, 9.0]
    assert model.counted.item() == 3.0
    assert model.assigned is buffer
    assert buffer.tolist() == [30.0, 0.0]
    assert model.plain is plain
    assert plain.item() == 6.0


def test_tensors_of_the_graph_itself():
    class Total(nn.Graph):
        def __init__(self):
            super().__init__()
            self.counted = flow.zeros(1)
            self.total = flow.zeros(1)

        def build(self, x):
            self.counted += 1
            self.total = self.total + x
            return self.counted * self.total

    graph = Total()
    total = graph.total
    assert [graph(flow.ones(1)).item() for _ in range(3)] == [1.0, 4.0, 9.0]
    assert graph.total is total
    assert total.item() == 3.0
    graph.total = flow.full((1,), 9.0)
    assert graph(flow.ones(1)).item() == 40.0
    assert (graph.total.item(), total.item()) == (10.0, 3.0)


def _accumulate(t):
    t.add_(1)


def _assign(t):
    t[1] = t.sum()


@pytest.mark.parametrize("write", [_accumulate, _assign])
@pytest.mark.parametrize("is_shared", [False, True])
def test_tensors_from_outside_that_build_writes_to_become_variables(write, is_shared):
    outside, expected = flow.ones(2), flow.ones(2)
    part = outside[:1] if is_shared else None
    calls = []

    def build(x):
        before = outside * 1
        write(outside)
        write(outside)
        calls.append(len(calls))
        return x + outside, before

    graph = graph_of(build)
    for _ in range(3):
        before = expected.clone()
        write(expected)
        write(expected)
        result, seen = graph(flow.ones(2))
        assert flow.equal(result, expected + 1)
        assert flow.equal(seen, before)
        assert flow.equal(outside, expected)
        if part is not None:
            assert part.tolist() == [outside[0].item()]
    assert len(calls) == 2  # once to find the writes, once with the tensor as a variable
    outside.zero_()
    graph(flow.ones(2))
    expected.zero_()
    write(expected)
    write(expected)
    assert flow.equal(outside, expected)


def test_writes_to_the_outside_in_training():
    weight, steps = flow.nn.Parameter(flow.ones(2)), flow.zeros(1)
    optimizer = flow.optim.SGD([weight], lr=0.5, momentum=0.5)

    class Train(nn.Graph):
        def __init__(self):
            super().__init__()
            self.add_optimizer(optimizer)

        def build(self, x):
            steps.add_(1)
            loss = (weight * x).sum()
            loss.backward()
            return loss

    graph = Train()
    assert [graph(flow.ones(2)).item() for _ in range(3)] == [2.0, 1.0, -0.5]
    assert (steps.item(), weight.tolist()) == (3.0, [-1.125, -1.125])


def test_writing_to_a_part_of_a_tensor_from_outside_is_an_error():
    outside = flow.ones(2)
    part = outside[:1]

    def write(t):
        t[0].mul_(2)

    def build(x):
        write(outside)
        return x + outside

    graph = graph_of(build)
    for _ in range(2):
        with pytest.raises(RuntimeError, match=r"wrote to a tensor.*test_state\.py"):
            graph(flow.ones(2))
        assert (outside.tolist(), part.tolist()) == ([1.0, 1.0], [1.0])
    outside.add_(1)
    assert part.tolist() == [2.0]
    graph.total = outside
    expected = outside.clone()
    write(expected)
    assert flow.equal(graph(flow.ones(2)), expected + 1)
    assert flow.equal(outside, expected)


def test_buffers_of_a_module_that_is_no_part_of_the_graph_change():
    model, twin = nn.BatchNorm1d(2), nn.BatchNorm1d(2)
    graph = graph_of(lambda x: model(x))
    for step in range(3):
        x = flow.randn(4, 2)
        with pytest.warns(UserWarning, match="belongs to no") if not step else nullcontext():
            result = graph(x)
        np.testing.assert_allclose(result.numpy(), twin(x).detach().numpy(), atol=1e-6)
        for ours, theirs in zip(model.buffers(), twin.buffers(), strict=True):
            np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-6)


def test_tensors_made_of_data_in_build_may_be_written():
    def build(x):
        made = flow.tensor([1.0, 2.0])
        made[1] = x
        made += 1
        return made, made[:1].mul_(2)

    graph = graph_of(build)
    for value in (5.0, 6.0):
        made, part = graph(flow.tensor(value))
        assert (made.tolist(), part.tolist()) == ([4.0, value + 1], [4.0])


def test_variables_keep_their_shapes():
    model = Counter()

    def build(x):
        model.plain = flow.zeros(5)
        return x

    with pytest.raises(RuntimeError, match=r"model\.plain"):
        graph_of(build, model=model)(flow.ones(1))


def test_arguments_written_in_build_change_as_in_eager_mode():
    graph = graph_of(lambda x: x.mul_(2).sum())
    x = flow.ones(2)
    assert [graph(x).item() for _ in range(3)] == [4.0, 8.0, 16.0]
    assert x.tolist() == [8.0, 8.0]


def test_arguments_that_are_written_may_not_overlap():
    model = nn.Linear(2, 2)

    def build(written, read):
        with flow.no_grad():
            written.mul_(2)
        return model(read)

    graph = graph_of(build, model=model)
    x = flow.ones(2, 2)
    for written, read in ((x, x), (x, x[0]), (x[0], x), (x[0], x[0]), (model.weight, x)):
        with pytest.raises(RuntimeError, match="shares memory"):
            graph(written, read)
    assert x.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    assert flow.equal(graph(x[0], x[1]), model(x[1]))
    assert x.tolist() == [[2.0, 2.0], [1.0, 1.0]]
    with pytest.raises(RuntimeError, match="shares memory"):
        graph(x[1], x[1])


def test_tensors_that_share_memory_follow():
    model = nn.BatchNorm1d(2)
    state = model.state_dict()
    graph = graph_of(lambda x: model(x), model=model)
    graph(flow.ones(3, 2))
    graph(flow.ones(3, 2))
    assert state["num_batches_tracked"].item() == 2
    np.testing.assert_allclose(state["running_mean"].numpy(), [0.19, 0.19], rtol=1e-6)


def test_copies_made_before_a_step_keep_their_values():
    model = nn.Linear(2, 1, bias=False)
    graph = TrainGraph(model, lambda m, x: m(x).sum(), flow.optim.SGD(model.parameters(), lr=1.0))
    x = flow.ones(1, 2)
    graph(x)
    before, pending = model.weight.numpy(), model.weight * 1
    value = unwrap(model.weight)
    graph(x)
    np.testing.assert_array_equal(pending.detach().numpy(), before)
    np.testing.assert_array_equal(np.asarray(value.read()), before)
    np.testing.assert_allclose(model.weight.numpy(), before - 1.0, rtol=1e-6)


def test_backward_through_a_step_complains_as_in_eager_mode():
    model = nn.Linear(2, 2, bias=False)
    graph = TrainGraph(model, lambda m, x: m(x).sum(), flow.optim.SGD(model.parameters(), lr=1.0))
    x = flow.ones(1, 2, requires_grad=True)
    loss = model(model(x)).sum()
    graph(x.detach())
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_memory_shared_by_two_variables_is_refused():
    first, second = nn.Linear(2, 2), nn.Linear(2, 2)
    second.weight.data = first.weight.data
    with pytest.raises(RuntimeError, match="share memory"):
        graph_of(lambda x: second(first(x)), first=first, second=second)(flow.ones(1, 2))


@pytest.mark.parametrize("normalised", [nn.utils.spectral_norm, nn.utils.weight_norm])
@pytest.mark.parametrize("dtype", [flow.float32, flow.float64])
def test_normalised_weights_that_have_not_run_yet(normalised, dtype):
    model = normalised(nn.Linear(3, 3)).to(dtype)
    twin = normalised(nn.Linear(3, 3)).to(dtype)
    twin.load_state_dict(model.state_dict())
    graph = graph_of(lambda x: model(x), model=model)
    x = flow.ones(1, 3, dtype=dtype)
    for _ in range(2):
        np.testing.assert_allclose(graph(x).numpy(), twin(x).detach().numpy(), rtol=1e-5)
    for mine, theirs in zip(model.state_dict().values(), twin.state_dict().values(), strict=True):
        np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=1e-5)


@pytest.mark.parametrize("normalised", [nn.utils.spectral_norm, nn.utils.weight_norm])
def test_normalised_weights_used_eagerly_in_between_compile_nothing(normalised):
    model = normalised(nn.Linear(3, 3))
    calls = []
    graph = graph_of(lambda x: calls.append(1) or model(x), model=model)
    x = flow.ones(1, 3)
    model.eval()
    for factor in (1.0, 2.0):
        with flow.no_grad():
            model.bias.mul_(factor)
        np.testing.assert_allclose(graph(x).numpy(), model(x).detach().numpy(), rtol=1e-5)
    assert len(calls) == 1


def test_tied_parameters_stay_one_tensor():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 3)
            self.a.weight = self.b.weight

        def forward(self, x):
            return self.b(self.a(x))

    model, twin = Tied(), Tied()
    twin.load_state_dict(model.state_dict())
    x = flow.ones(2, 3)
    optimizer = flow.optim.SGD(twin.parameters(), lr=0.1)
    twin(x).sum().backward()
    optimizer.step()
    optimizer = flow.optim.SGD(model.parameters(), lr=0.1)
    TrainGraph(model, lambda m, x: m(x).sum(), optimizer)(x)
    assert model.a.weight is model.b.weight
    for mine, theirs in zip(model.parameters(), twin.parameters(), strict=True):
        np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=1e-6)


def test_gradients_are_left_where_no_optimizer_takes_them():
    model = nn.Linear(2, 1, bias=False)
    x = flow.ones(1, 2, requires_grad=True)

    def build(x):
        loss = model(x).sum()
        loss.backward()
        return loss, model.weight.grad

    graph = graph_of(build, model=model)
    for count in (1.0, 2.0):
        _, grad = graph(x)
        assert grad.tolist() == [[1.0, 1.0]]
        assert model.weight.grad.tolist() == [[count, count]]
        np.testing.assert_allclose(x.grad.numpy(), count * model.weight.numpy(), rtol=1e-6)


def test_functions_of_ones_own():
    class Tripled(flow.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * x * 3

    model = nn.Linear(1, 1, bias=False)
    model.weight.data.fill_(2.0)
    optimizer = flow.optim.SGD(model.parameters(), lr=1.0)
    TrainGraph(model, lambda m, x: Tripled.apply(m.weight).sum(), optimizer)(flow.ones(1, 1))
    assert model.weight.item() == -4.0


# --- random numbers


def test_random_numbers_are_those_of_eager_mode():
    def draw(x):
        return F.dropout(x, 0.5), flow.rand(3), flow.randperm(4), F.dropout(x, 0.2)

    graph = graph_of(draw)
    x = flow.ones(8)
    flow.manual_seed(3)
    eager = [[t.tolist() for t in draw(x)] for _ in range(3)]
    last = flow.rand(1).item()
    flow.manual_seed(3)
    static = [[t.tolist() for t in graph(x)] for _ in range(3)]
    assert static == eager
    assert flow.rand(1).item() == last


def test_generators_of_ones_own_and_seeds_set_in_build():
    mine = flow.Generator().manual_seed(4)
    graph = graph_of(lambda: flow.rand(2, generator=mine))
    drawn = [graph().tolist() for _ in range(3)]
    mine.manual_seed(4)
    assert drawn == [flow.rand(2, generator=mine).tolist() for _ in range(3)]

    def seeded():
        flow.manual_seed(9)
        return flow.rand(2)

    graph = graph_of(seeded)
    assert graph().tolist() == graph().tolist() == seeded().tolist()


def test_the_backward_of_dropout_uses_the_same_mask():
    model = nn.Linear(4, 64, bias=False)
    optimizer = flow.optim.SGD(model.parameters(), lr=1.0)

    def loss_of(module, x):
        return F.dropout(module(x), 0.5).sum()

    model.weight.data.zero_()
    graph = TrainGraph(model, loss_of, optimizer)
    x = flow.ones(1, 4)
    flow.manual_seed(1)
    for _ in range(2):
        graph(x)
    flow.manual_seed(1)
    masks = sum(F.dropout(flow.ones(64), 0.5) for _ in range(2))
    np.testing.assert_allclose(model.weight.numpy()[:, 0], -masks.numpy(), rtol=1e-6)


def test_train_or_eval_may_change_between_calls():
    model = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2), nn.Dropout(0.5)).eval()
    graph = graph_of(lambda x: model(x), model=model)
    x = flow.randn(3, 2)
    np.testing.assert_allclose(graph(x).numpy(), model(x).detach().numpy(), rtol=1e-6)
    model.train()
    assert not flow.equal(graph(x), graph(x))
    assert len(graph._steps) == 2
    model.eval()
    np.testing.assert_allclose(graph(x).numpy(), model(x).detach().numpy(), rtol=1e-6)
    assert len(graph._steps) == 2


def test_a_loaded_state_says_which_names_do_not_fit():
    model = nn.Linear(2, 1)
    graph = graph_of(lambda x: model(x), model=model)
    state = graph.state_dict()
    assert graph.load_state_dict(state) == ([], [])
    del state["model"]["bias"]
    state["other"] = flow.ones(1)
    assert graph.load_state_dict(state, strict=False) == (["model.bias"], ["other"])
