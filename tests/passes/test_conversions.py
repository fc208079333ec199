"""Conversions are weighed over the whole step, and nothing is added up less precisely for it."""

from __future__ import annotations

import numpy as np
import pytest

import oneflow as flow
import oneflow.nn.functional as F
from oneflow import nn
from oneflow.base.dtype import HALF_DTYPES
from oneflow.base.sbp import PARTIAL_SUM
from oneflow.passes import auto_sharding, pipeline
from oneflow.plan import planning
from oneflow.plan.step_program import plan_step
from tests.graph.helpers import TrainGraph, graph_of, only_step

S, B = flow.sbp.split, flow.sbp.broadcast
FOUR = flow.placement("cpu", [0, 1, 2, 3])
GRID = flow.placement("cpu", [[0, 1], [2, 3]])


@pytest.fixture(autouse=True)
def _small_programs(monkeypatch):
    """Small programs are searched, too."""
    monkeypatch.setattr(auto_sharding, "_LEAST_BYTES", 0)


class Net(nn.Module):
    """Words, two layers beside them, and scores of words."""

    def __init__(self, words, width):
        super().__init__()
        self.tokens = nn.Embedding(words, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.head = nn.Linear(width, words, bias=False)

    def forward(self, tokens):
        x = self.tokens(tokens)
        x = x + self.down(F.gelu(self.up(x)))
        return F.cross_entropy(self.head(x).flatten(0, 1), tokens.flatten())


SPLITS = {"up.weight": 0, "up.bias": 0, "down.weight": 1, "head.weight": 0}
WAYS = {
    "data": (FOUR, S(0), {}),
    "ZeRO 1": (FOUR, S(0), {"zero": 1}),
    "ZeRO 2": (FOUR, S(0), {"zero": 2}),
    "ZeRO 3": (FOUR, S(0), {"zero": 3}),
    "micro batches": (FOUR, S(0), {"zero": 1, "micro_batches": 2}),
    "ZeRO 2 and micro batches": (FOUR, S(0), {"zero": 2, "micro_batches": 2}),
    "tensor": (FOUR, B, {"splits": SPLITS}),
    "sequence": (FOUR, S(1), {}),
    "grid": (GRID, [S(0), B], {"zero": 2}),
    "ZeRO 3, half precision": (FOUR, S(0), {"zero": 3, "amp": {}}),
    "tensor, half precision": (FOUR, B, {"splits": SPLITS, "amp": {}}),
    "half-precision sums": (FOUR, S(0), {"zero": 1, "amp": {"reduce_dtype": flow.bfloat16}}),
}


def training(way, words=32, width=8, length=4, type="cpu"):
    """The graph of a way, its module, and the words."""
    placement, sbp, options = (None, None, {}) if way is None else WAYS[way]
    flow.manual_seed(0)
    module, tokens = Net(words, width), flow.randint(0, words, (16, length))
    if placement is not None:
        placement = flow.placement(type, placement.ranks)
        whole = [B] * placement.ndim
        module.to_global(placement, whole)
        for name, dim in options.get("splits", {}).items():
            parameter = module.get_parameter(name)
            parameter.data = parameter.data.to_global(sbp=S(dim))
        tokens = tokens.to_global(placement, whole).to_global(sbp=sbp)
    optimizer = flow.optim.AdamW(module.parameters(), lr=0.01)
    graph = TrainGraph(module, lambda module, tokens: module(tokens), optimizer)
    graph.config.set_gradient_accumulation_steps(options.get("micro_batches", 1))
    if options.get("zero"):
        graph.config.enable_zero(stage=options["zero"], shard_min_size=1)
    if "amp" in options:
        graph.config.enable_amp(True, dtype=flow.bfloat16, **options["amp"])
    return graph, module, tokens


def trained(way, steps=3):
    """The graph after some steps, their losses, and the parameters behind them."""
    graph, module, tokens = training(way)
    losses = [graph(tokens).numpy().mean() for _ in range(steps)]
    return graph, losses, {name: p.numpy() for name, p in module.named_parameters()}


def planned(way):
    """The program of a step that is large enough to be worth it, on GPUs."""
    with planning():
        graph, _, tokens = training(way, 8192, 256, 256, type="cuda")
        return plan_step(graph, (tokens,), {}).program


def conversions(program):
    """The conversions of a program, as specs before and behind them."""
    return [
        (instruction.operation.in_specs[0], instruction.operation.out_specs[0])
        for instruction in program.instructions
        if instruction.operation.primitive.name == "boxing"
    ]


def half_sums(way):
    """The number of conversions of a step that add up partial sums in half precision."""
    return sum(
        before.dtype in HALF_DTYPES
        and any(a is PARTIAL_SUM and a is not b for a, b in zip(before.sbp, after.sbp, strict=True))
        for before, after in conversions(planned(way))
    )


@pytest.mark.parametrize("way", WAYS)
def test_steps_are_those_of_one_device(way):
    is_half = "amp" in WAYS[way][2]
    _, losses, parameters = trained(way)
    _, expected_losses, expected = trained(None)
    tolerance = {"rtol": 0.02, "atol": 0.02} if is_half else {"rtol": 2e-5, "atol": 1e-6}
    np.testing.assert_allclose(losses, expected_losses, **tolerance)
    for name, parameter in parameters.items():
        np.testing.assert_allclose(parameter, expected[name], **tolerance, err_msg=name)


@pytest.mark.parametrize("way", ["data", "ZeRO 3", "ZeRO 3, half precision", "tensor"])
def test_a_step_sends_less(way, monkeypatch):
    def sent():
        return auto_sharding._bytes_sent(planned(way))

    less = sent()
    others = tuple(one for one in pipeline.PASSES if one.name != "conversions")
    monkeypatch.setattr(pipeline, "PASSES", others)
    assert less < 0.9 * sent()


def test_sums_are_as_precise_as_recorded_unless_the_options_say_otherwise():
    for way in ("ZeRO 3, half precision", "tensor, half precision"):
        assert half_sums(way) == 0, way
    assert half_sums("half-precision sums") > 0


def test_conversions_that_the_user_asked_for_stay():
    def build(x, weight):
        return (x @ weight).to_global(sbp=B).sin().to_global(sbp=S(1)).softmax(1)

    flow.manual_seed(0)
    x, weight = flow.randn(8, 4), flow.randn(4, 64)
    graph = graph_of(build)
    value = graph(
        x.to_global(FOUR, B).to_global(sbp=S(0)), weight.to_global(FOUR, B).to_global(sbp=S(1))
    )
    targets = [after.sbp for _, after in conversions(only_step(graph).executable.program)]
    assert (B,) in targets
    assert (S(1),) in targets
    np.testing.assert_allclose(value.numpy(), (x @ weight).sin().softmax(1).numpy(), rtol=1e-5)


def test_the_dtype_of_sums_is_half_precision():
    graph = graph_of(lambda x: x)
    with pytest.raises(ValueError, match="`reduce_dtype` must be"):
        graph.config.enable_amp(True, reduce_dtype=flow.float32)
