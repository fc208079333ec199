"""New parameters and states take over the memory of the old ones, and nothing is copied for it."""

import re

import oneflow as flow
from oneflow.compiler.donation import assign_donated
from oneflow.primitives.operators.optimizer import adam_update
from oneflow.runtime.eager_settings import SETTINGS
from oneflow.runtime.program_cache import PROGRAMS
from tests.oracle import eager_mode


def trained_program():
    """The executable of a hot training step of one layer, whose gradients are kept."""
    layer = flow.nn.Linear(64, 64)
    optimizer = flow.optim.Adam(layer.parameters(), lr=0.1)
    rows = flow.randn(8, 64)
    with eager_mode("compiled"):
        for _ in range(4):
            optimizer.zero_grad()
            layer(rows).square().mean().backward()
            optimizer.step()
    # Not the last entry, which is of a step that other tests have not run before.
    return next(program.executable for program in reversed(PROGRAMS.values()) if is_step(program))


def is_step(cached):
    """Return whether it is a compiled program with an update of the layer's weight."""
    operations = [instruction.operation for instruction in cached.program.instructions]
    updates = [operation for operation in operations if operation.primitive is adam_update]
    return cached.executable is not None and any(
        spec.shape == (64, 64) for update in updates for spec in update.out_specs
    )


def test_updates_are_in_place():
    compiled = trained_program().compile().hlo()
    entry = compiled[compiled.index("\nENTRY") :]
    # Weight, bias and two states of each: six outputs lie where an input was.
    assert len(re.findall(r"(?:may|must)-alias", compiled)) == 6
    # XLA may order a fusion that still reads the layer after its update; the states it only reads
    # there.
    assert len(re.findall(r"copy\(%arguments", entry)) <= 2


def test_results_come_back_in_the_programs_order():
    executable = trained_program()
    program = executable.program
    donated = range(len(program.inputs))
    used, order = assign_donated(program, donated)
    assert sorted(order) == list(range(len(program.outputs)))
    table = program.spec_table()
    for place, index in enumerate(used):
        assert table[program.outputs[order[place]]] is program.inputs[index]


def test_values_do_not_depend_on_donation():
    def run(mode: str) -> list:
        SETTINGS.mode = mode
        flow.manual_seed(0)
        layer = flow.nn.Linear(8, 8)
        optimizer = flow.optim.SGD(layer.parameters(), lr=0.1, momentum=0.9)
        for _ in range(5):
            optimizer.zero_grad()
            layer(flow.ones(2, 8)).square().sum().backward()
            optimizer.step()
        return [*layer.parameters(), layer.weight.grad, layer.bias.grad]

    before = SETTINGS.mode
    try:
        for mine, theirs in zip(run("deferred"), run("immediate"), strict=True):
            # Cold programs add in another order than compiled ones.
            assert flow.allclose(mine, theirs, rtol=1e-4, atol=1e-6)
    finally:
        SETTINGS.mode = before
