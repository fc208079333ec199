"""Options that are tensors and are filled between two calls of a graph count in the next one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import oneflow as flow
from tests.optim.test_oneflow_schedules import (
    MODES,
    SCHEDULES,
    Trained,
    assert_as_eager,
    trained_with,
)


def _write_through_numpy(option: flow.Tensor, number: float) -> None:
    option.numpy()[...] = number


FILLS: dict[str, Callable[[flow.Tensor, float], object]] = {
    "fill": lambda option, number: option.fill_(number),
    "fill with one number": lambda option, number: option.fill_(0.3),
    "copy": lambda option, number: option.copy_(flow.tensor(number)),
    "through data": lambda option, number: option.data.fill_(number),
    "through NumPy's array": _write_through_numpy,
}


def trained_with_tensors(schedule: str, name: str) -> Trained:
    """An optimizer whose option `name` is a tensor in each group, or a pair of them."""
    trained = trained_with(schedule, name)
    for group in trained.optimizer.param_groups:
        value = group[name]
        numbers = value if isinstance(value, tuple) else (value,)
        tensors = tuple(flow.tensor(number, dtype=flow.float64) for number in numbers)
        group[name] = tensors if isinstance(value, tuple) else tensors[0]
    return trained


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", ["lr", "momentum", "betas"])
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("way", FILLS)
def test_options_that_are_tensors_and_are_filled_count_in_the_next_call(
    way: str, schedule: str, name: str
) -> None:
    def run(mode: str) -> tuple[Any, dict[str, Any]]:
        trained = trained_with_tensors(schedule, name)
        step = MODES[mode](trained)
        rates = trained.rates(step, 2)
        for number in (0.3, 0.2, 0.45):
            for group in trained.optimizer.param_groups:
                option = group[name][0] if isinstance(group[name], tuple) else group[name]
                if isinstance(option, flow.Tensor):  # cycles put numbers in place of momenta
                    FILLS[way](option, number)
            rates += trained.rates(step, 1)
        return rates + trained.rates(step, 2), trained.schedule.state_dict()

    assert_as_eager(run)
