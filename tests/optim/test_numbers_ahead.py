"""An optimizer knows the numbers of the steps to come, bit by bit."""

import pytest

import oneflow as flow
from oneflow.program.update_number import UpdateNumber
from tests.optim.table import OWN_ROWS, ROWS
from tests.optim.test_lr_scheduler import SAME, schedulers

STEPS = 8
KNOWN = [(n, o) for n, o in SAME if not any(map(callable, o.values())) and "lambda" not in str(o)]


def numbers_of_steps(optimizer, schedule=None):
    """The numbers of each update in the steps."""
    parameter = optimizer.param_groups[0]["params"][0]
    numbers, pack = [], optimizer._pack

    def note(group, state, device):
        numbers.append(optimizer.numbers(group, state))
        return pack(group, state, device)

    optimizer._pack = note
    ahead = None
    for step in range(STEPS):
        parameter.grad = flow.ones_like(parameter)
        optimizer.step()
        if step == 1:
            first = numbers[-1][0]
            assert type(first) is UpdateNumber
            ahead = first.ahead(STEPS - 2)
        if schedule is not None:
            schedule.step()
    return [list(row) for row in numbers[2:]], ahead


@pytest.mark.parametrize("row", [*ROWS, *OWN_ROWS], ids=lambda row: row.label)
def test_of_every_optimizer(row):
    parameter = flow.ones(2, 2).requires_grad_()
    numbers, ahead = numbers_of_steps(row.make([parameter]))
    assert numbers == ahead


@pytest.mark.parametrize(("name", "options"), KNOWN)
@pytest.mark.parametrize("kind", ["SGD", "AdamW"])
def test_with_every_schedule(name, options, kind):
    groups = [{"params": [flow.ones(1).requires_grad_()], "lr": lr} for lr in (1.0, 0.2)]
    options_of_kind = {"momentum": 0.9} if kind == "SGD" else {}
    optimizer = getattr(flow.optim, kind)(groups, lr=0.5, **options_of_kind)
    numbers, ahead = numbers_of_steps(optimizer, getattr(schedulers, name)(optimizer, **options))
    assert numbers == ahead


def make_combined(optimizer):
    warm_up = schedulers.LinearLR(optimizer, total_iters=4)
    chain = schedulers.ChainedScheduler(
        [schedulers.StepLR(optimizer, 2, 0.5), schedulers.ConstantLR(optimizer, total_iters=3)]
    )
    return schedulers.SequentialLR(
        optimizer, [warm_up, chain], milestones=[4], interval_rescaling=True
    )


def test_with_schedules_within_schedules():
    optimizer = flow.optim.AdamW([flow.ones(1).requires_grad_()], lr=0.5)
    schedule = make_combined(optimizer)
    numbers, ahead = numbers_of_steps(optimizer, schedule)
    assert numbers == ahead
    steps = [schedule.last_step, *(inner.last_step for inner in schedule.schedulers)]
    assert steps == [STEPS, 3, STEPS - 4]  # looking ahead counts nothing


def test_functions_of_users_run_when_their_step_has_come():
    calls = []
    optimizer = flow.optim.SGD([flow.ones(1).requires_grad_()], lr=0.5)
    schedule = schedulers.LambdaLR(optimizer, lambda step: calls.append(step) or 0.5**step)
    numbers_of_steps(optimizer, schedule)
    assert calls == list(range(STEPS + 1))
