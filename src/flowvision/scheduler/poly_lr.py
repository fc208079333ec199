"""Learning rates that fall like a power."""

from __future__ import annotations

from typing import Any

from flowvision.scheduler.scheduler import CyclicScheduler
from oneflow import optim


class PolyLRScheduler(CyclicScheduler):
    """Learning rates that fall like a power of the remaining time, repeatedly.

    Args:
        optimizer: the optimizer.
        t_initial: length of the first cycle.
        power: the exponent.
        *rest: further arguments by position, as for `CyclicScheduler` from `lr_min` on.
        k_decay: exponent of the time (Zhang and Li, 2020); above 1 it stays high for longer.
        **options: the same further arguments, by name.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.scheduler import PolyLRScheduler
        >>> optimizer = flow.optim.SGD([flow.ones(1, requires_grad=True)], lr=1.0)
        >>> schedule = PolyLRScheduler(optimizer, t_initial=10, power=2.0)
        >>> for epoch in range(5):
        ...     schedule.step(epoch + 1)
        >>> round(optimizer.param_groups[0]["lr"], 4)
        0.25
    """

    def __init__(
        self,
        optimizer: optim.Optimizer,
        t_initial: int,
        power: float = 0.5,
        *rest: Any,
        k_decay: float = 1.0,
        **options: Any,
    ) -> None:
        super().__init__(optimizer, t_initial, *rest, **options)
        self.power = power
        self.k_decay = k_decay

    def _share(self, progress: float) -> float:
        return (1 - progress**self.k_decay) ** self.power
