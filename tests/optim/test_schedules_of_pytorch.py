"""In PyTorch's place schedules change the present rates: those of PyTorch whatever a program does.

A program sets rates by hand, loads them, adds groups and steps two schedules on one optimizer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from tests.in_place import enabled, in_place_of

mock = in_place_of("torch")
STEPS = 12


def schedules(library: Any) -> dict[str, Callable[[Any], Any]]:
    """Every schedule of PyTorch, as a function of the optimizer."""
    lib = library.optim.lr_scheduler
    swa = library.optim.swa_utils.SWALR
    return {
        "StepLR": lambda o: lib.StepLR(o, 2, 0.5),
        "MultiStepLR": lambda o: lib.MultiStepLR(o, [2, 5, 5], 0.5),
        "ExponentialLR": lambda o: lib.ExponentialLR(o, 0.5),
        "ConstantLR": lambda o: lib.ConstantLR(o, 0.5, 4),
        "LinearLR": lambda o: lib.LinearLR(o, 0.25, 1.0, 5),
        "PolynomialLR": lambda o: lib.PolynomialLR(o, 6, 2.0),
        "CosineAnnealingLR": lambda o: lib.CosineAnnealingLR(o, 5, 0.05),
        "CosineAnnealingWarmRestarts": lambda o: lib.CosineAnnealingWarmRestarts(o, 3),
        "LambdaLR": lambda o: lib.LambdaLR(o, lambda step: 0.5**step),
        "MultiplicativeLR": lambda o: lib.MultiplicativeLR(o, lambda step: 0.5),
        "CyclicLR": lambda o: lib.CyclicLR(o, 0.1, 1.0, 3),
        "OneCycleLR": lambda o: lib.OneCycleLR(o, 1.0, total_steps=20),
        "SequentialLR": lambda o: lib.SequentialLR(
            o,
            [lib.LinearLR(o, 0.1, 1.0, 3), lib.CyclicLR(o, 0.1, 1.0, 3), lib.StepLR(o, 2, 0.5)],
            [3, 8],
        ),
        "ChainedScheduler": lambda o: lib.ChainedScheduler(
            [lib.ConstantLR(o, 0.1, 2), lib.ExponentialLR(o, 0.9)]
        ),
        "SWALR linear": lambda o: swa(o, 0.05, 4, "linear"),
        "SWALR cosine": lambda o: swa(o, [0.05, 0.5], 4),
        "ReduceLROnPlateau": lambda o: lib.ReduceLROnPlateau(o, patience=1),
    }


class Run:
    """An optimizer with two groups, and a schedule; `has_tensors`: its rates are tensors."""

    def __init__(self, library: Any, name: str, has_tensors: bool = False) -> None:
        self.library, self.name, self.has_tensors = library, name, has_tensors
        self.optimizer = self.make_optimizer()
        self.schedules = [schedules(library)[name](self.optimizer)]

    def make_optimizer(self) -> Any:
        rates = [1.0, 0.3]
        if self.has_tensors:
            rates = [self.library.tensor(rate, dtype=self.library.float64) for rate in rates]
        self.first_rate = rates[0]
        groups = [{"params": [self.parameter()], "lr": rates[0]}, {"params": [self.parameter()]}]
        return self.library.optim.SGD(groups, lr=rates[1], momentum=0.9)

    def parameter(self) -> Any:
        return self.library.nn.Parameter(self.library.zeros(1))

    def rates(self, change: Callable[[Run], None]) -> list[list[float]]:
        """The rates and momenta of every step; `change` comes after the third."""
        found = []
        for step in range(STEPS):
            self.optimizer.step()
            for schedule in self.schedules:
                schedule.step(*([1.0] if "Plateau" in self.name else []))
            if step == 2:
                change(self)
            options = [(group["lr"], group["momentum"]) for group in self.optimizer.param_groups]
            found.append([float(number) for pair in options for number in pair])
            found[-1] += map(float, self.schedules[0].get_last_lr())
        return found


def by_hand(run: Run) -> None:
    run.optimizer.param_groups[0]["lr"] *= 0.5


def load(run: Run) -> None:
    state = run.optimizer.state_dict()
    state["param_groups"][0]["lr"] = 0.66
    run.optimizer.load_state_dict(state)


def resume(run: Run) -> None:
    optimizer_state, states = run.optimizer.state_dict(), run.schedules[0].state_dict()
    run.optimizer = run.make_optimizer()
    run.schedules = [schedules(run.library)[run.name](run.optimizer)]
    run.optimizer.load_state_dict(optimizer_state)
    run.schedules[0].load_state_dict(states)


def add_group(run: Run) -> None:
    run.optimizer.add_param_group({"params": [run.parameter()], "lr": 0.2})


def add_schedule(run: Run) -> None:
    other = run.library.optim.lr_scheduler.ExponentialLR(run.optimizer, 0.9)
    if "Plateau" not in run.name:
        run.schedules.append(other)


CHANGES = [by_hand, load, resume, add_group, add_schedule]
# PyTorch raises where it has a list of first rates, and none of the new group.
REFUSED_BY_PYTORCH = {
    *[(name, add_group) for name in ("CosineAnnealingWarmRestarts", "LambdaLR", "OneCycleLR")],
    *[(name, add_group) for name in ("CyclicLR", "MultiplicativeLR", "SequentialLR")],
    *[(name, add_group) for name in ("CosineAnnealingLR", "SWALR linear", "SWALR cosine")],
}


@pytest.mark.filterwarnings("ignore:.*lr_scheduler.step")
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
@pytest.mark.parametrize("name", schedules(mock))
def test_rates_are_those_of_pytorch(name: str, change: Callable[[Run], None]) -> None:
    ours = Run(mock, name).rates(change)
    if (name, change) in REFUSED_BY_PYTORCH:
        with pytest.raises((ValueError, KeyError)):
            Run(torch, name).rates(change)
        return
    for rates, expected in zip(ours, Run(torch, name).rates(change), strict=True):
        assert rates == pytest.approx(expected, rel=1e-9, abs=1e-12)


def fill(run: Run) -> None:
    run.first_rate.fill_(0.2)


def keep(run: Run) -> None:
    """Change nothing."""


@pytest.mark.filterwarnings("ignore:.*lr_scheduler.step")
@pytest.mark.parametrize(
    "change", [keep, fill, load, resume, add_schedule], ids=lambda c: c.__name__
)
@pytest.mark.parametrize("name", schedules(mock))
def test_rates_that_are_tensors_are_filled_as_by_pytorch(
    name: str, change: Callable[[Run], None]
) -> None:
    runs = [Run(library, name, has_tensors=True) for library in (mock, torch)]
    rates, expected = [run.rates(change) for run in runs]
    np.testing.assert_allclose(rates, expected, rtol=1e-9, atol=1e-12)
    filled, expected_filled = [
        run.optimizer.param_groups[0]["lr"] is run.first_rate for run in runs
    ]
    assert filled == expected_filled


# PyTorch's internals for rates, and functions, which are the same objects in neither.
INTERNAL = {
    *["total_size", "step_ratio", "scale_mode", "use_beta1"],
    *["base_momentums", "max_momentums", "mode_worse", "milestones", "lr_lambdas"],
}


def _numbers(values: Any) -> Any:
    return values if isinstance(values, str) or values is None else pytest.approx(values)


@pytest.mark.filterwarnings("ignore:.*lr_scheduler.step")
@pytest.mark.filterwarnings("ignore:The epoch parameter in")
@pytest.mark.parametrize("name", schedules(mock))
def test_states_and_attributes_are_those_of_pytorch(name: str) -> None:
    runs = [Run(library, name) for library in (mock, torch)]
    for run in runs:
        run.rates(lambda run: None)
    ours, theirs = [run.schedules[0] for run in runs]
    with enabled():
        state, saved = ours.state_dict(), theirs.state_dict()
    public = {key for key in saved if not key.startswith("_")} - INTERNAL
    for key in public:
        assert getattr(ours, key) == _numbers(getattr(theirs, key)), key
    for attribute in ("last_epoch", "base_lrs", "_last_lr", "T_cur", "T_i", "num_bad_epochs"):
        if attribute in saved:
            assert state[attribute] == _numbers(saved[attribute]), attribute


@pytest.mark.filterwarnings("ignore:.*lr_scheduler.step")
@pytest.mark.filterwarnings("ignore:The epoch parameter in")
@pytest.mark.parametrize("reader", [torch, mock], ids=["theirs reads ours", "ours reads theirs"])
@pytest.mark.parametrize("name", schedules(mock))
def test_schedules_go_on_in_the_other_library(name: str, reader: Any) -> None:
    writer = mock if reader is torch else torch
    before, after, whole = Run(writer, name), Run(reader, name), Run(torch, name)
    before.rates(lambda run: None)
    with enabled():
        states = before.optimizer.state_dict(), before.schedules[0].state_dict()
        assert "last_step" not in states[1]
        assert "verbose" not in states[1]
    if name == "OneCycleLR":
        phases = Run(torch, name).schedules[0].state_dict()["_schedule_phases"]
        assert states[1]["_schedule_phases"] == phases
    # Only the state says in which step the schedule is.
    after.optimizer.load_state_dict(states[0])
    after.schedules[0].load_state_dict(states[1])
    whole.rates(lambda run: None)
    assert after.schedules[0]._last_lr == pytest.approx(whole.schedules[0]._last_lr)
    if name == "OneCycleLR":
        for run in (after, whole):
            run.optimizer.step()
            run.schedules[0].step()
        assert after.schedules[0].get_last_lr() == pytest.approx(whole.schedules[0].get_last_lr())
        return
    for rates, expected in zip(
        after.rates(lambda run: None), whole.rates(lambda run: None), strict=True
    ):
        assert rates == pytest.approx(expected, rel=1e-9, abs=1e-12)


def _restarts(library: Any, *arguments: Any) -> Any:
    parameter = library.nn.Parameter(library.zeros(1))
    lib = library.optim.lr_scheduler
    return lib.CosineAnnealingWarmRestarts(library.optim.SGD([parameter], lr=1.0), *arguments)


@pytest.mark.filterwarnings("ignore:.*lr_scheduler.step")
@pytest.mark.parametrize("arguments", [(3,), (2, 2), (2, 3, 0.1)])
@pytest.mark.parametrize("steps", [[None] * 12, [0.5, 2.25, None, None, 7.5, None, 1.0, None]])
def test_restarts_at_parts_of_an_epoch(arguments: tuple, steps: list[float | None]) -> None:
    ours, theirs = _restarts(mock, *arguments), _restarts(torch, *arguments)
    for step in steps:
        for schedule in (ours, theirs):
            schedule.step(step)
        resumed = _restarts(mock, *arguments)
        with enabled():
            resumed.load_state_dict(ours.state_dict())
        converted = _restarts(mock, *arguments)
        converted.load_state_dict(theirs.state_dict())
        for scheduler in (ours, resumed, converted):
            found = (scheduler.T_cur, scheduler.T_i, scheduler.last_epoch, *scheduler.get_last_lr())
            expected = (theirs.T_cur, theirs.T_i, theirs.last_epoch, *theirs.get_last_lr())
            assert found == pytest.approx(expected)


@pytest.mark.filterwarnings("ignore:.*lr_scheduler.step")
def test_the_epoch_of_restarts_can_be_set() -> None:
    states = []
    for library in (mock, torch):
        schedule = _restarts(library, 3)
        schedule.last_epoch = 4
        schedule.step()
        states.append((schedule.last_epoch, schedule.T_cur, *schedule.get_last_lr()))
    assert states[0] == pytest.approx(states[1])


@pytest.mark.parametrize("last_epoch", [2, 4, 7])
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("StepLR", (2, 0.5)),
        ("MultiStepLR", ([2, 5], 0.5)),
        ("ExponentialLR", (0.5,)),
        ("ConstantLR", (0.5, 5)),
        ("LinearLR", (0.25, 1.0, 6)),
        ("PolynomialLR", (8, 2.0)),
        ("CosineAnnealingLR", (5, 0.05)),
        ("CosineAnnealingWarmRestarts", (3,)),
        ("LambdaLR", (lambda step: 0.5**step,)),
        ("MultiplicativeLR", (lambda step: 0.9 + 0.01 * step,)),
        ("SWALR", (0.05, 5)),
        ("SWALR", (0.05, 5, "linear")),
        ("SWALR", (0.05, 0)),
    ],
)
def test_a_schedule_that_begins_later(name: str, arguments: tuple, last_epoch: int) -> None:
    found = []
    for library in (mock, torch):
        optimizer = library.optim.SGD([library.nn.Parameter(library.zeros(1))], lr=0.37)
        optimizer.param_groups[0]["initial_lr"] = 1.0
        averaging, others = library.optim.swa_utils, library.optim.lr_scheduler
        kind = averaging.SWALR if name == "SWALR" else getattr(others, name)
        schedule = kind(optimizer, *arguments, last_epoch=last_epoch)
        rates = []
        for _ in range(8):
            rates.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            schedule.step()
        found.append(rates)
    assert found[0] == pytest.approx(found[1], rel=1e-9, abs=1e-12)


@pytest.mark.filterwarnings("ignore:The epoch parameter in")
@pytest.mark.filterwarnings("ignore:`epoch` of `scheduler.step")
@pytest.mark.parametrize("name", ["SWALR linear", "SWALR cosine"])
def test_averaging_counts_its_steps_and_not_the_epochs(name: str) -> None:
    def rates(run: Run) -> list[float]:
        values: list[float] = []
        for epoch in (None, 5, None, 2, None, None):
            run.optimizer.step()
            run.schedules[0].step(epoch)
            groups = run.optimizer.param_groups
            values += [*[group["lr"] for group in groups], run.schedules[0].last_epoch]
        return values

    with enabled():
        ours = rates(Run(mock, name))
    assert ours == pytest.approx(rates(Run(torch, name)))


@pytest.mark.parametrize("name", [*schedules(torch), "ReduceLROnPlateau"])
def test_a_tensor_may_be_the_rate_of_several_groups(name):
    """Each group sets it, one after the other."""

    def rates(lib):
        rate = lib.tensor(1.0, dtype=lib.float64)
        groups = [{"params": [lib.nn.Parameter(lib.ones(1))]} for _ in range(2)]
        optimizer = lib.optim.SGD(groups, lr=rate, momentum=0.9)
        plateau = lib.optim.lr_scheduler.ReduceLROnPlateau
        if name == "ReduceLROnPlateau":
            schedule = plateau(optimizer, factor=0.5, patience=0)
        else:
            schedule = schedules(lib)[name](optimizer)
        values = []
        for _ in range(6):
            optimizer.step()
            schedule.step(*([1.0] if name == "ReduceLROnPlateau" else []))
            assert optimizer.param_groups[1]["lr"] is rate
            values.append([float(rate), *map(float, schedule.get_last_lr())])
        return values

    with enabled():
        ours = rates(mock)
    np.testing.assert_allclose(ours, rates(torch), rtol=1e-12)
