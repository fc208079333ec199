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


def planned_step(device_type, count, monkeypatch, rows=2048):
    """The program of a step before and after its updates are ordered."""
    passes = []
    monkeypatch.setattr(pipeline, "PASS_CALLBACKS", [lambda *args: passes.append(args)])
    layers = [layer for _ in range(3) for layer in (flow.nn.Linear(256, 256), flow.nn.GELU())]
    with planning():
        placement = flow.placement(device_type, list(range(count)))
        model = flow.nn.Sequential(*layers[:-1]).to_global(placement, flow.sbp.broadcast)
        inputs = flow.zeros(rows, 256, placement=placement, sbp=flow.sbp.split(0))
        plan_step(Step(model), (inputs,), {})
    return next((before, after) for name, before, after in passes if name == "order_updates")


def values_of(program):
    """The computation of each output, without barriers."""
    values = {number: str(number) for number in range(len(program.inputs) + len(program.scalars))}
    for instruction in program.instructions:
        read = [values[number] for number in instruction.operands]
        if instruction.operation.primitive.name != "optimization_barrier":
            name = hash((str(instruction.operation), *read))
            read = [f"{name}.{place}" for place in range(len(instruction.results))]
        values.update(zip(instruction.results, read, strict=True))
    return [values[number] for number in program.outputs]


@pytest.mark.parametrize("count", [1, 4])
def test_gradients_of_weights_wait_for_products_that_read_the_weights(count, monkeypatch):
    before, after = planned_step("tpu", count, monkeypatch)
    verify(after)
    assert values_of(after) == values_of(before)
    barriers = [index for index, name in enumerate(names(after)) if name == "optimization_barrier"]
    # The first layer has no gradient of its input.
    assert len(barriers) == 2
    for barrier in barriers:
        awaited, operand = after.instructions[barrier].operands
        others = [after.instructions[index] for index in range(len(names(after)))]
        (producer,) = [other for other in others if awaited in other.results]
        assert producer.operation.primitive.name == "gelu_gradient"
        tied_awaited, tied = after.instructions[barrier].results
        readers = {
            number: [o.operation.primitive.name for o in others if number in o.operands]
            for number in (awaited, operand, tied_awaited, tied)
        }
        assert readers[tied] == ["outer_rows"]
        assert len(readers[tied_awaited]) == 1
        # The gradient of a bias is added up where the values are computed.
        assert {"cast", "optimization_barrier"} <= set(readers[awaited])


def test_gpus_keep_their_order(monkeypatch):
    before, after = planned_step("cuda", 4, monkeypatch)
    assert after is before


def test_small_weights_are_copied_on_tpus(monkeypatch):
    before, after = planned_step("tpu", 1, monkeypatch, rows=4096)
    assert after is before
