"""Plans of pipelines: stage by stage, with what they send and when they wait."""

import dataclasses
import re

import pytest

import oneflow as flow
from examples import plans
from oneflow.plan import chip_named, plan_graph, planning
from oneflow.plan.command import main

B = flow.sbp.broadcast
ROWS, WIDTH = 1 << 14, 1024
# Nothing takes time but products: a stage is as long as its operations.
QUICK = dataclasses.replace(
    chip_named("h100"), name="quick", bandwidth=1e30, link=1e30, network=1e30, latency=0.0
)


class Layers(flow.nn.Graph):
    """Linear layers, each a stage with the same products."""

    def __init__(self, places, micro_batches=1):
        super().__init__()
        layers = (flow.nn.Linear(WIDTH, WIDTH, bias=False).to_global(p, B) for p in places)
        self.layers = flow.nn.ModuleList(layers)
        # The first layer computes a gradient for what is before it, too.
        self.scale = flow.nn.Parameter(flow.ones(WIDTH, placement=places[0], sbp=B))
        self.add_optimizer(flow.optim.SGD([self.scale, *self.layers.parameters()], lr=0.1))
        self.config.set_gradient_accumulation_steps(micro_batches)
        for number, place in enumerate(places):
            self.layers[number].config.set_stage(number, place)

    def build(self, x):
        x = x * self.scale
        for layer in self.layers:
            x = layer(x)
        loss = x.square().mean()
        loss.backward()
        return loss


def plan_of(stages, micro_batches, chip=QUICK, ranks=None, compile=False):
    with planning():
        ranks = ranks or [[2 * stage, 2 * stage + 1] for stage in range(stages)]
        places = [flow.placement("cuda", part) for part in ranks]
        x = flow.ones(ROWS, WIDTH, placement=places[0], sbp=flow.sbp.split(0))
        return plan_graph(Layers(places, micro_batches), x, compile=compile, chip=chip)


@pytest.mark.parametrize(("stages", "micro_batches"), [(2, 1), (2, 4), (4, 1), (4, 8)])
def test_bubbles_are_those_of_the_formula(stages, micro_batches):
    plan = plan_of(stages, micro_batches)
    bubble = (stages - 1) / (stages - 1 + micro_batches)
    found = [stage.idle for stage in plan.contents.pipeline.stages]
    assert found == pytest.approx([bubble] * stages, abs=0.01)
    assert plan.account.flops == pytest.approx(3 * 2 * ROWS // 2 * WIDTH * WIDTH, rel=0.01)


def test_what_stages_send_and_keep():
    stages = plan_of(3, 4).contents.pipeline.stages
    part = ROWS // 2 * WIDTH * 4
    assert [stage.bytes_sent for stage in stages] == [part, 2 * part, part]
    assert [stage.micro_batches for stage in stages] == [3, 2, 1]
    # Each keeps the input of its product for the backward pass, and little besides.
    kept = [stage.activation_bytes / (part / 4) for stage in stages]
    assert kept == sorted(kept, reverse=True)
    for stage in stages:
        arguments = stage.model.memory.arguments
        assert arguments >= WIDTH * WIDTH * 4
        assert stage.model.memory.peak >= arguments + stage.activation_bytes


def test_a_slow_link_delays_the_step():
    slow = dataclasses.replace(QUICK, name="slow", network=1e10, node_size=2)
    near = dataclasses.replace(QUICK, name="near", network=1e10, node_size=8)
    quick, delayed, inside = (plan_of(2, 1, chip) for chip in (QUICK, slow, near))
    assert inside.seconds == quick.seconds
    sent = 2 * ROWS // 2 * WIDTH * 4
    assert delayed.seconds == pytest.approx(quick.seconds + sent / 1e10)


def test_memory_is_that_of_the_fullest_stage():
    plan = plan_of(3, 4)
    peaks = [stage.model.memory.peak for stage in plan.contents.pipeline.stages]
    assert plan.account.memory.peak == max(peaks)
    given = plan.contents.pipeline.largest_stage.model.memory.arguments
    assert sum(plan.contents.input_bytes().values()) == given


def test_a_pipeline_of_one_stage_is_a_plan():
    assert plan_of(1, 2).contents.pipeline is None


def test_the_table_of_stages(tmp_path):
    plan = plan_of(2, 4)
    text = repr(plan)
    assert "on 4 quick devices in 2 stages" in text
    assert "exchanging and waiting" in text
    assert re.search(r"^    1        2 ", text, re.MULTILINE)
    plan.save(tmp_path / "plan.html")
    assert "<h2>Stages</h2>" in (tmp_path / "plan.html").read_text()


def test_xla_compiles_each_task():
    contents = plan_of(2, 2, chip=None, ranks=[[0], [1]], compile=True).contents
    assert contents.xla is not None
    for stage in contents.pipeline.stages:
        assert stage.xla.by == "XLA"
        assert stage.xla.flops == pytest.approx(stage.model.flops, rel=0.05)
        assert stage.xla.memory.peak == pytest.approx(stage.model.memory.peak, rel=0.3)


def test_a_search_over_stages(capsys):
    options = ["layers=4", "width=64", "stages=1,2,3,4", "micro_batches=4"]
    main(["examples/plans.py:gpt", "--model", "--chips", "h100:4", "--search", *options])
    out = capsys.readouterr().out
    assert "stages=3: ValueError: `stages` must divide 4, got 3" in out
    assert re.search(r"the fastest that fits: stages=[124]$", out, re.MULTILINE)


@pytest.mark.parametrize("strategy", ["data", "tensor"])
def test_the_example_trains_in_stages_as_without(strategy):
    def losses(stages):
        flow.manual_seed(0)
        placement = flow.placement("cpu", range(4))
        graph, inputs = plans.gpt(
            placement, 8, 16, 32, 16, 2, 2, strategy, stages=stages, micro_batches=2
        )
        return [graph(*inputs).mean().item() for _ in range(2)]

    assert losses(2) == pytest.approx(losses(1), rel=1e-5)
