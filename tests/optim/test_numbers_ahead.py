"""An optimizer knows the numbers of the steps to come, bit by bit."""

import copy
import gc
import pickle
import weakref

import pytest

import oneflow as flow
from oneflow.optim.numbers_ahead import numbers_of_update
from oneflow.program import update_number
from oneflow.program.update_number import UpdateNumber
from tests.optim.table import OWN_ROWS, ROWS
from tests.optim.test_lr_scheduler import SAME, schedulers

STEPS = 8
KNOWN = [(n, o) for n, o in SAME if not any(map(callable, o.values())) and "lambda" not in str(o)]


@pytest.fixture(autouse=True)
def _tables_on_cpus(monkeypatch):
    monkeypatch.setattr(update_number, "_TYPES_WITHOUT_TABLES", ())


def numbers_of_steps(optimizer, schedule=None):
    """The numbers of each update in the steps."""
    parameter = optimizer.param_groups[0]["params"][0]
    numbers, pack = [], optimizer._pack

    def note(group, state, device):
        numbers.append(numbers_of_update(optimizer, group, state, device))
        return pack(group, state, device)

    optimizer._pack = note
    ahead = None
    for step in range(STEPS):
        parameter.grad = flow.ones_like(parameter)
        optimizer.step()
        if step == 1:
            first = numbers[-1][0]
            assert type(first) is UpdateNumber
            ahead = list(map(list, first.ahead(STEPS - 2)))
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


class Halved(flow.optim.SGD):
    """An optimizer of a user."""

    calls = 0

    def _numbers(self, group, state):
        Halved.calls += 1
        return super()._numbers({**group, "lr": group["lr"] / 2}, state)


def test_optimizers_of_users_run_when_their_step_has_come():
    parameter = flow.ones(1).requires_grad_()
    optimizer = Halved([parameter], lr=0.5)
    flow.optim.lr_scheduler.StepLR(optimizer, 1)
    for _ in range(STEPS):
        parameter.grad = flow.ones_like(parameter)
        optimizer.step()
        flow.eager.synchronize()
    assert Halved.calls == STEPS
    assert parameter.item() == 1 - STEPS * 0.25


@pytest.mark.parametrize("has_tables", [False, True])
@pytest.mark.parametrize("kind", ["SGD", "Adam"])
def test_what_was_run_keeps_no_optimizer_alive(has_tables, kind, monkeypatch):
    if not has_tables:
        monkeypatch.setattr(update_number, "_TYPES_WITHOUT_TABLES", ("cpu",))
    parameter = flow.ones(3).requires_grad_()
    optimizer = getattr(flow.optim, kind)([parameter], lr=0.1)
    for _ in range(STEPS):
        parameter.grad = flow.ones_like(parameter)
        optimizer.step()
    reference = weakref.ref(optimizer)
    del optimizer, parameter
    flow.eager.synchronize()
    gc.collect()
    assert reference() is None


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_copies_are_numbers(copied):
    number = copied(UpdateNumber(0.5, lambda steps: [[0.25]] * steps))
    assert type(number) is float
    assert number == 0.5
