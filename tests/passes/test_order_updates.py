"""Gradients are tied to what else reads their parameters, and nothing else changes."""

import pytest

import oneflow as flow
from oneflow.passes import pipeline
from oneflow.passes.order_updates import order_updates
from oneflow.plan.step_program import plan_step
from oneflow.program.verifier import verify
from oneflow.runtime.planning_mode import planning
from oneflow.runtime.program_cache import PROGRAMS


def hot_step(width: int):
    """The program and the executable of a training step of two layers."""
    model = flow.nn.Sequential(flow.nn.Linear(width, width), flow.nn.Linear(width, width))
    optimizer = flow.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    rows = flow.randn(8, width)
    for _ in range(4):
        optimizer.zero_grad()
        model(rows).square().mean().backward()
        optimizer.step()
    steps = [
        step
        for step in PROGRAMS.values()
        if "sgd_update" in names(step.program)
        and any(spec.shape == (width, width) for spec in step.program.inputs)
    ]
    return max(steps, key=lambda step: step.seen)


def names(program):
    return [instruction.operation.primitive.name for instruction in program.instructions]


def test_large_weights_are_ordered():
    cached = hot_step(128)
    ordered = order_updates(cached.program)
    verify(ordered)
    # The first layer has no gradient of its input, and biases are small.
    assert names(ordered).count("optimization_barrier") == 1
    barrier = names(ordered).index("optimization_barrier")
    assert barrier < names(ordered).index("sgd_update")
    assert [name for name in names(ordered) if name != "optimization_barrier"] == names(
        cached.program
    )


def test_small_weights_are_left_alone():
    program = hot_step(16).program
    assert order_updates(program) is program


def test_nothing_of_a_weights_size_is_copied():
    hlo = hot_step(128).executable.hlo()
    assert "f32[128,128]{1,0} copy(" not in hlo


class Step(flow.nn.Graph):
    """A step of three layers under autocast."""

    def __init__(self, model):
        super().__init__()
        self.model = model
        self.add_optimizer(flow.optim.SGD(model.parameters(), lr=0.1))
        self.config.enable_amp(True, dtype=flow.bfloat16)

    def build(self, rows):
        loss = self.model(rows).float().square().mean()
        loss.backward()
        return loss


@pytest.mark.parametrize("device_type", ["cuda", "tpu"])
def test_accelerators_keep_their_order(device_type, monkeypatch):
    passes = []
    monkeypatch.setattr(pipeline, "PASS_CALLBACKS", [lambda *args: passes.append(args)])
    layers = [layer for _ in range(3) for layer in (flow.nn.Linear(256, 256), flow.nn.GELU())]
    with planning():
        placement = flow.placement(device_type, list(range(4)))
        model = flow.nn.Sequential(*layers[:-1]).to_global(placement, flow.sbp.broadcast)
        inputs = flow.zeros(2048, 256, placement=placement, sbp=flow.sbp.split(0))
        plan_step(Step(model), (inputs,), {})
    before, after = next(programs for name, *programs in passes if name == "order_updates")
    assert after is before
