"""Schedules of learning rates whose arguments are PyTorch's where OneFlow's differ."""

from __future__ import annotations

from collections.abc import Sequence

from oneflow.optim import lr_scheduler
from oneflow.optim.optimizer import Optimizer


class SequentialLR(lr_scheduler.SequentialLR):
    """`SequentialLR` whose schedules count from their milestones."""

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: Sequence[lr_scheduler.LRScheduler],
        milestones: Sequence[int],
        last_epoch: int = -1,
    ) -> None:
        super().__init__(optimizer, schedulers, milestones, True, last_epoch)


class PolynomialLR(lr_scheduler.PolynomialLR):
    """`PolynomialLR` that ends at 0, with PyTorch's arguments."""

    def __init__(
        self,
        optimizer: Optimizer,
        total_iters: int = 5,
        power: float = 1.0,
        last_epoch: int = -1,
    ) -> None:
        super().__init__(optimizer, power=power, last_step=last_epoch, total_iters=total_iters)


__all__ = ["PolynomialLR", "SequentialLR"]
