"""Whole schedules of learning rates travel in files in both directions, with their optimizers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from tests.checkpoint.both_libraries import travelled
from tests.in_place import in_place_of

OURS = in_place_of("torch")
WAYS = [(torch, OURS), (OURS, torch), (OURS, OURS)]
# PyTorch's optimizers forget in files that a schedule counts their steps.
pytestmark = pytest.mark.filterwarnings("ignore:.*has been overridden:UserWarning")


def _half(step: int) -> float:
    return 0.5


def _one_by(count: float) -> float:
    return 1 / count


def _cyclic(**options: Any) -> Callable[[Any, Any], Any]:
    return lambda module, optimizer: module.CyclicLR(
        optimizer, 0.1, 0.4, step_size_up=2, step_size_down=3, **options
    )


SCHEDULES: dict[str, Callable[[Any, Any], Any]] = {
    "lambda": lambda module, optimizer: module.LambdaLR(optimizer, _half),
    "multiplicative": lambda module, optimizer: module.MultiplicativeLR(optimizer, _half),
    "step": lambda module, optimizer: module.StepLR(optimizer, 2, 0.5),
    "milestones": lambda module, optimizer: module.MultiStepLR(optimizer, [1, 4, 4], 0.5),
    "constant": lambda module, optimizer: module.ConstantLR(optimizer, 0.5, 4),
    "linear": lambda module, optimizer: module.LinearLR(optimizer, 0.5, total_iters=6),
    "exponential": lambda module, optimizer: module.ExponentialLR(optimizer, 0.9),
    "polynomial": lambda module, optimizer: module.PolynomialLR(optimizer, 7, 2.0),
    "cosine": lambda module, optimizer: module.CosineAnnealingLR(optimizer, 4, 0.01),
    "restarts": lambda module, optimizer: module.CosineAnnealingWarmRestarts(optimizer, 2, 2),
    "plateau": lambda module, optimizer: module.ReduceLROnPlateau(optimizer, "max", patience=1),
    "triangular": _cyclic(),
    "triangular, halved": _cyclic(mode="triangular2"),
    "triangular, falling": _cyclic(mode="exp_range", gamma=0.9),
    "triangular, by a function": _cyclic(scale_fn=_one_by, scale_mode="cycle"),
    "one cycle": lambda module, optimizer: module.OneCycleLR(optimizer, 0.5, 12),
    "one cycle in three": lambda module, optimizer: module.OneCycleLR(
        optimizer, 0.5, 12, anneal_strategy="linear", three_phase=True, div_factor=4.0
    ),
    "one after another": lambda module, optimizer: module.SequentialLR(
        optimizer,
        [module.ConstantLR(optimizer, 0.5, 9), module.ExponentialLR(optimizer, 0.5)],
        milestones=[4],
    ),
    "chained": lambda module, optimizer: module.ChainedScheduler(
        [module.ConstantLR(optimizer, 0.5, 4), module.ExponentialLR(optimizer, 0.9)]
    ),
}


def _rates(make: Callable[[Any, Any], Any], writer: Any, reader: Any) -> list[Any]:
    parameter = writer.nn.Parameter(writer.ones(2))
    optimizer = writer.optim.SGD([parameter], lr=0.5, momentum=0.9)
    schedule, rates = make(writer, optimizer), []
    for step in range(9):
        if step == 3:
            # The schedule's optimizer is the one beside it, not a copy.
            everything = (schedule, optimizer, parameter)
            schedule, optimizer, parameter = travelled(everything, writer, reader)
            assert schedule.optimizer is optimizer
            assert isinstance(schedule, reader.optim.lr_scheduler.LRScheduler)
        optimizer.zero_grad()
        (parameter * parameter).sum().backward()
        optimizer.step()
        has_metric = type(schedule).__name__ == "ReduceLROnPlateau"
        schedule.step(*([1.0 / (1 + step)] if has_metric else []))
        group = optimizer.param_groups[0]
        rates.append([group["lr"], group["momentum"], *schedule.get_last_lr()])
    state = schedule.state_dict()
    return [rates, parameter.tolist(), state.get("last_epoch", state.get("last_step"))]


@pytest.mark.parametrize("name", [*SCHEDULES, "averaging", "averaging along a line"])
@pytest.mark.parametrize(("writer", "reader"), WAYS)
def test_schedules_travel_and_go_on(writer: Any, reader: Any, name: str) -> None:
    def make(library: Any, optimizer: Any) -> Any:
        if name in SCHEDULES:
            return SCHEDULES[name](library.optim.lr_scheduler, optimizer)
        strategy = "cos" if name == "averaging" else "linear"
        return library.optim.swa_utils.SWALR(optimizer, 0.1, 6, strategy)

    expected, rates = _rates(make, torch, torch), _rates(make, writer, reader)
    assert rates[2] == expected[2] or expected[2] is None  # Its chains do not count steps.
    torch.testing.assert_close(torch.tensor(rates[0]), torch.tensor(expected[0]))
    torch.testing.assert_close(torch.tensor(rates[1]), torch.tensor(expected[1]))
