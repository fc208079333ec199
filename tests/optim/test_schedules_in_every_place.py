"""Every schedule of PyTorch, fresh, made late, resumed and inside others: PyTorch's rates.

In PyTorch's place these are all of them; under `oneflow` those where no default of OneFlow's own
says otherwise (docs/differences.md).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import oneflow
from tests.in_place import enabled, in_place_of

mock = in_place_of("torch")
STEPS = 30
LATE = (0, 1, 3, 6, 11)

# Each schedule as a function of the library, the optimizer, and the keywords of a late start.
SCHEDULES: dict[str, Callable[..., Any]] = {
    "StepLR": lambda lib, o, **late: lib.StepLR(o, 3, 0.5, **late),
    "MultiStepLR": lambda lib, o, **late: lib.MultiStepLR(o, [3, 5, 5, 12], 0.5, **late),
    "ConstantLR": lambda lib, o, **late: lib.ConstantLR(o, 0.5, 6, **late),
    "LinearLR": lambda lib, o, **late: lib.LinearLR(o, 0.3, 1.0, 8, **late),
    "ExponentialLR": lambda lib, o, **late: lib.ExponentialLR(o, 0.9, **late),
    "PolynomialLR": lambda lib, o, **late: lib.PolynomialLR(o, total_iters=9, power=2.0, **late),
    "CosineAnnealingLR": lambda lib, o, **late: lib.CosineAnnealingLR(o, 7, 0.01, **late),
    "CosineAnnealingWarmRestarts": lambda lib, o, **late: lib.CosineAnnealingWarmRestarts(
        o, 3, 2, 0.01, **late
    ),
    "LambdaLR": lambda lib, o, **late: lib.LambdaLR(o, lambda step: 1 / (2 + step), **late),
    "MultiplicativeLR": lambda lib, o, **late: lib.MultiplicativeLR(
        o, lambda step: 0.9 + 0.01 * step, **late
    ),
    "CyclicLR": lambda lib, o, **late: lib.CyclicLR(o, 0.01, 0.1, 3, 2, **late),
    "CyclicLR exp": lambda lib, o, **late: lib.CyclicLR(
        o, 0.01, 0.1, 3, mode="exp_range", gamma=0.9, **late
    ),
    "OneCycleLR": lambda lib, o, **late: lib.OneCycleLR(o, 0.2, total_steps=50, **late),
    "OneCycleLR three": lambda lib, o, **late: lib.OneCycleLR(
        o, [0.2, 0.4], total_steps=50, three_phase=True, anneal_strategy="linear", **late
    ),
    "SWALR": lambda lib, o, **late: lib.SWALR(o, 0.05, 5, **late),
    "SWALR linear": lambda lib, o, **late: lib.SWALR(o, 0.05, 5, "linear", **late),
}


class Schedules:
    """The schedules of a library by name: those of averaging as well."""

    def __init__(self, library: Any) -> None:
        self.SWALR = library.optim.swa_utils.SWALR
        self._schedules = library.optim.lr_scheduler
        # OneFlow's own defaults differ from PyTorch's.
        self._is_own = library is oneflow

    def __getattr__(self, name: str) -> Any:
        return getattr(self._schedules, name)

    def PolynomialLR(self, *args: Any, **kwargs: Any) -> Any:
        if self._is_own:
            kwargs["end_learning_rate"] = 0.0
        return self._schedules.PolynomialLR(*args, **kwargs)

    def SequentialLR(self, *args: Any, **kwargs: Any) -> Any:
        if self._is_own:
            kwargs["interval_rescaling"] = True
        return self._schedules.SequentialLR(*args, **kwargs)


def make_optimizer(library: Any) -> Any:
    groups = [{"params": [library.nn.Parameter(library.ones(1))], "lr": lr} for lr in (0.1, 0.3)]
    return library.optim.SGD(groups, lr=0.1, momentum=0.9)


def late_optimizer(library: Any) -> Any:
    """An optimizer that has gone on from other rates; two groups of different options."""
    optimizer = make_optimizer(library)
    for group in optimizer.param_groups:
        group["initial_lr"] = group["lr"] * 2
        group.update(max_lr=group["lr"] * 3, min_lr=0.001, max_momentum=0.95, base_momentum=0.85)
    return optimizer


def rates_of(optimizer: Any, schedule: Any, steps: int = STEPS) -> list[float]:
    """The rates and momenta of the steps to come, and what the schedule says of them."""
    numbers: list[float] = []
    for _ in range(steps):
        for group in optimizer.param_groups:
            numbers += [float(group["lr"]), float(group["momentum"])]
        numbers += map(float, schedule.get_last_lr())
        optimizer.step()
        schedule.step()
    return numbers


Place = Callable[[Any, str], list[float]]


def fresh(library: Any, name: str) -> list[float]:
    optimizer = make_optimizer(library)
    return rates_of(optimizer, SCHEDULES[name](Schedules(library), optimizer))


def on_a_used_optimizer(library: Any, name: str) -> list[float]:
    optimizer = late_optimizer(library)
    return rates_of(optimizer, SCHEDULES[name](Schedules(library), optimizer))


def late(last: int) -> Place:
    def run(library: Any, name: str) -> list[float]:
        optimizer = late_optimizer(library)
        return rates_of(optimizer, SCHEDULES[name](Schedules(library), optimizer, last_epoch=last))

    run.__name__ = f"late_{last}"
    return run


def resumed_from(make: Callable[[Any, Any, str], Any], label: str) -> Place:
    """Schedules go on from the `state_dict` of others, whose optimizer's state is loaded, too."""

    def run(library: Any, name: str) -> list[float]:
        numbers: list[float] = []
        lib, optimizer = Schedules(library), make_optimizer(library)
        schedule = make(lib, optimizer, name)
        for steps in (4, 5):
            numbers += rates_of(optimizer, schedule, steps)
            states = optimizer.state_dict(), schedule.state_dict()
            optimizer = make_optimizer(library)
            schedule = make(lib, optimizer, name)
            optimizer.load_state_dict(states[0])
            schedule.load_state_dict(states[1])
        return numbers + rates_of(optimizer, schedule, STEPS - 9)

    run.__name__ = f"resumed_{label}"
    return run


def alone(lib: Any, optimizer: Any, name: str) -> Any:
    return SCHEDULES[name](lib, optimizer)


def first(lib: Any, optimizer: Any, name: str) -> Any:
    other = lib.ExponentialLR(optimizer, 0.8)
    return lib.SequentialLR(optimizer, [SCHEDULES[name](lib, optimizer), other], [7])


def second(lib: Any, optimizer: Any, name: str) -> Any:
    other = lib.LinearLR(optimizer, 0.1, 1.0, 3)
    schedules = [other, SCHEDULES[name](lib, optimizer), lib.StepLR(optimizer, 2, 0.7)]
    return lib.SequentialLR(optimizer, schedules, [4, 20])


def second_of_other(lib: Any, optimizer: Any, name: str) -> Any:
    schedule = SCHEDULES[name](lib, optimizer)
    return lib.SequentialLR(optimizer, [lib.ConstantLR(optimizer, 0.2, 2), schedule], [3])


def in_chain(lib: Any, optimizer: Any, name: str) -> Any:
    schedule = SCHEDULES[name](lib, optimizer)
    return lib.ChainedScheduler([schedule, lib.ExponentialLR(optimizer, 0.9)])


def sequence_in_chain(lib: Any, optimizer: Any, name: str) -> Any:
    return lib.ChainedScheduler([second(lib, optimizer, name), lib.StepLR(optimizer, 4, 0.5)])


def chain_in_sequence(lib: Any, optimizer: Any, name: str) -> Any:
    chain = in_chain(lib, optimizer, name)
    return lib.SequentialLR(optimizer, [chain, lib.LinearLR(optimizer)], [9])


def sequence_in_sequence(lib: Any, optimizer: Any, name: str) -> Any:
    inner = second(lib, optimizer, name)
    return lib.SequentialLR(optimizer, [inner, lib.CosineAnnealingLR(optimizer, 6)], [24])


COMBINED = [first, second, second_of_other, in_chain]
NESTED = [sequence_in_chain, chain_in_sequence, sequence_in_sequence]


def placed(make: Callable[[Any, Any, str], Any], optimizer_of: Callable = make_optimizer) -> Place:
    def run(library: Any, name: str) -> list[float]:
        optimizer = optimizer_of(library)
        return rates_of(optimizer, make(Schedules(library), optimizer, name))

    is_late = optimizer_of is late_optimizer
    run.__name__ = make.__name__ + ("_used" if is_late else "")
    return run


def sequence_made_late(last: int) -> Place:
    def make(lib: Any, optimizer: Any, name: str) -> Any:
        schedules = [lib.LinearLR(optimizer, 0.1, 1.0, 3), SCHEDULES[name](lib, optimizer)]
        return lib.SequentialLR(optimizer, schedules, [4], last_epoch=last)

    make.__name__ = f"sequence_late_{last}"
    return placed(make)


def sequence_of_late(lib: Any, optimizer: Any, name: str) -> Any:
    schedule = SCHEDULES[name](lib, optimizer, last_epoch=4)
    return lib.SequentialLR(optimizer, [schedule, lib.StepLR(optimizer, 2, 0.5)], [8])


PLACES: list[Place] = [
    *[fresh, on_a_used_optimizer],
    *map(late, LATE),
    resumed_from(alone, "alone"),
    *[resumed_from(make, make.__name__) for make in COMBINED],
    *map(placed, [*COMBINED, *NESTED]),
    placed(second, late_optimizer),
    *map(sequence_made_late, LATE),
    placed(sequence_of_late, late_optimizer),
]
OWN_PLACES: list[Place] = [fresh, resumed_from(alone, "alone"), placed(first)]
LATER_PLACES: list[Place] = [placed(second), placed(second_of_other)]
# Schedules that multiply a rate: all others end at a rate that a chain of OneFlow scales.
FACTORS = ["StepLR", "MultiStepLR", "ConstantLR", "LinearLR", "ExponentialLR", "PolynomialLR"]
# In a later place PyTorch calls the function for step 0, and begins with the rates of the cycle.
QUIRKS = ["MultiplicativeLR", "OneCycleLR", "OneCycleLR three"]


@pytest.mark.filterwarnings("ignore:.*lr_scheduler.step")
@pytest.mark.filterwarnings("ignore:.*scheduler.step")
@pytest.mark.filterwarnings("ignore:The epoch parameter in")
@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
def test_rates_in_place_of_pytorch_are_its_own(place: Place, name: str) -> None:
    with enabled():
        ours = place(mock, name)
    assert ours == pytest.approx(place(torch, name), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    ("place", "name"),
    [
        *[(place, name) for place in OWN_PLACES for name in SCHEDULES],
        *[(place, name) for place in LATER_PLACES for name in SCHEDULES if name not in QUIRKS],
        *[(placed(in_chain), name) for name in FACTORS],
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_rates_under_oneflow_are_those_of_pytorch(place: Place, name: str) -> None:
    assert place(oneflow, name) == pytest.approx(place(torch, name), rel=1e-9, abs=1e-12)
