"""Gradients of micro batches are added up on each device, and exchanged once in a step."""

from __future__ import annotations

import re

import numpy as np
import pytest

import oneflow as flow
from examples import plans
from oneflow import nn
from oneflow.passes import pipeline
from oneflow.plan import plan_graph, planning
from tests.graph.helpers import TrainGraph, graph_of, only_step

S, B, P = flow.sbp.split, flow.sbp.broadcast, flow.sbp.partial_sum
PAIR = flow.placement("cpu", [0, 1])
FOUR = flow.placement("cpu", [0, 1, 2, 3])
GRID = flow.placement("cpu", [[0, 1], [2, 3]])
MICRO_BATCHES = 3
PARAMETERS = 4


class Net(nn.Module):
    """Layers, one of which is read twice."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(6, 8), nn.Linear(8, 8)

    def forward(self, x):
        return self.second(self.second(self.first(x).tanh()).tanh())


def square_loss(module, x):
    return module(x).square().mean()


def net(placement=None):
    flow.manual_seed(0)
    made = Net()
    return made if placement is None else made.to_global(placement, [B] * placement.ndim)


def rows(placement=None, sbp=None):
    flow.manual_seed(1)
    x = flow.randn(24, 6)
    if placement is None:
        return x
    return x.to_global(placement, [B] * placement.ndim).to_global(sbp=sbp)


def training(module, *, zero=0, amp=False):
    optimizer = flow.optim.SGD(module.parameters(), lr=0.5, momentum=0.9)
    graph = TrainGraph(module, square_loss, optimizer)
    graph.config.set_gradient_accumulation_steps(MICRO_BATCHES)
    if zero:
        graph.config.enable_zero(stage=zero, shard_min_size=1)
    if amp:
        graph.config.enable_amp(True, dtype=flow.bfloat16)
    return graph


def trained(graph, x, steps=3):
    """The losses of some steps, and the parameters behind them."""
    # Devices split rows, so that micro batches are of other rows than on one device.
    losses = [graph(x).numpy().mean() for _ in range(steps)]
    return [*losses, *[parameter.numpy() for parameter in graph.module.parameters()]]


def count(graph, kind):
    """The number of arrays that collectives of a kind in the compiled step exchange."""
    text = only_step(graph).executable.hlo()
    started = re.findall(rf"= (.*?) {kind}(?:-start)?\(", text)
    return sum(shape.count("f32[") + shape.count("bf16[") for shape in started)


def scattered(graph):
    """The number of gradients of which each of two devices gets its share of the sum."""
    return count(graph, "all-to-all") / 2  # an exchange has an operand for each device


WAYS = {
    "two devices": (PAIR, S(0), {}),
    "four devices": (FOUR, S(0), {}),
    "two dimensions": (GRID, [S(0), S(0)], {}),
    "features of one dimension": (GRID, [S(0), B], {}),
    "ZeRO 1": (PAIR, S(0), {"zero": 1}),
    "ZeRO 2": (PAIR, S(0), {"zero": 2}),
    "ZeRO 3": (FOUR, S(0), {"zero": 3}),
    "half precision": (PAIR, S(0), {"amp": True}),
}


@pytest.mark.parametrize("way", WAYS)
def test_steps_are_those_of_one_device(way):
    placement, sbp, options = WAYS[way]
    expected = trained(training(net(), amp=options.get("amp", False)), rows())
    values = trained(training(net(placement), **options), rows(placement, sbp))
    tolerance = 0.02 if options.get("amp") else 1e-5
    for value, wanted in zip(values, expected, strict=True):
        np.testing.assert_allclose(value, wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("way", ["two devices", "four devices", "half precision"])
def test_a_step_adds_up_each_gradient_once(way):
    placement, sbp, options = WAYS[way]
    graph = training(net(placement), **options)
    graph(rows(placement, sbp))
    # One per parameter; the losses stay partial sums.
    assert count(graph, "all-reduce") == PARAMETERS


def test_zero_1_scatters_each_gradient_once():
    graph = training(net(PAIR), zero=1)
    graph(rows(PAIR, S(0)))
    assert scattered(graph) == PARAMETERS
    assert count(graph, "all-reduce") == 0


def test_zero_1_splits_a_gradient_that_is_split_otherwise_at_once():
    flow.manual_seed(0)
    table = nn.Embedding(32, 4).to_global(FOUR, B)
    graph = TrainGraph(table, square_loss, flow.optim.SGD(table.parameters(), lr=0.5, momentum=0.9))
    graph.config.enable_zero(stage=1, shard_min_size=1)
    expected = nn.Embedding(32, 4).to_global(FOUR, B)
    expected.load_state_dict(table.state_dict())
    words = flow.arange(16, placement=FOUR, sbp=B).to_global(sbp=S(0))
    graph(words)
    square_loss(expected, words).backward()
    wanted = expected.weight - 0.5 * expected.weight.grad
    np.testing.assert_allclose(table.weight.numpy(), wanted.numpy(), rtol=1e-6)
    # The new parameter is gathered, its gradient is not.
    assert count(graph, "all-gather") == 1


def test_zero_2_keeps_no_whole_gradients_between_micro_batches():
    graph = training(net(PAIR), zero=2)
    graph(rows(PAIR, S(0)))
    assert scattered(graph) == PARAMETERS * MICRO_BATCHES


def test_a_gradient_that_is_read_between_micro_batches_is_whole_there():
    """A hook sees the same as without the pass."""

    def values(passes):
        module = net(PAIR)
        module.first.weight.register_post_accumulate_grad_hook(lambda p: p.grad.tanh_())
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(pipeline, "PASSES", passes)
            return trained(training(module), rows(PAIR, S(0)))

    others = tuple(one for one in pipeline.PASSES if one.name != "exchange_once")
    for value, wanted in zip(values(pipeline.PASSES), values(others), strict=True):
        np.testing.assert_allclose(value, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("stages", [1, 2])
def test_the_planner_counts_one_exchange(stages):
    def sent(micro_batches):
        with planning():
            placement = flow.placement("cpu", range(2 * stages))
            graph, inputs = plans.gpt(
                placement, batch=16, layers=2, width=32, stages=stages, micro_batches=micro_batches
            )
            model = plan_graph(graph, *inputs, compile=False).contents.model
        return sum(
            collective.sent for collective in model.collectives if collective.kind == "all-reduce"
        )

    assert 0 < sent(8) <= sent(2)


def test_a_value_that_was_converted_twice_stays_for_all_that_read_it():
    def build(x, w):
        first, second = x @ w, x.sin() @ w
        pair = [y.to_global(sbp=[B, B]).to_global(sbp=[B, S(0)]) for y in (first, second)]
        return pair[0] + pair[1], pair[0] * 2, pair[1].exp()

    flow.manual_seed(0)
    x, w = flow.randn(4, 6), flow.randn(6, 2)
    whole_x, whole_w = [tensor.to_global(GRID, [B, B]) for tensor in (x, w)]
    graph = graph_of(build)
    values = graph(whole_x.to_global(sbp=[S(1), S(0)]), whole_w.to_global(sbp=[S(0), B]))
    first, second = x @ w, x.sin() @ w
    for value, expected in zip(values, (first + second, first * 2, second.exp()), strict=True):
        np.testing.assert_allclose(value.numpy(), expected.numpy(), rtol=1e-5, atol=1e-6)


def test_each_device_has_the_same_part_of_a_sum_as_eagerly():
    def parts(x, w):
        return (x.to_global(sbp=S(1)) @ w.to_global(sbp=S(0))).to_global(sbp=B).to_global(sbp=P)

    flow.manual_seed(0)
    arguments = [flow.randn(2, 2).to_global(PAIR, B) for _ in range(2)]
    result, expected = graph_of(parts)(*arguments), parts(*arguments)
    np.testing.assert_allclose(result.to_local().numpy(), expected.to_local().numpy(), rtol=1e-6)


@pytest.mark.parametrize("dtype", [flow.float16, flow.float32])
def test_sums_stay_within_the_range_of_their_dtype(dtype):
    x = flow.tensor([[4e4], [-4e4]], dtype=dtype).to_global(PAIR, B).to_global(sbp=S(0))
    graph = graph_of(lambda x: x.sum(0).to_global(sbp=B) + (x / 1).sum(0).to_global(sbp=B))
    assert graph(x).item() == 0
