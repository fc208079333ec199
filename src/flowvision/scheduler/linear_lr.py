"""Learning rates that fall along a line."""

from __future__ import annotations

from typing import Any

from flowvision.scheduler.scheduler import WarmupScheduler
from oneflow import optim


class LinearLRScheduler(WarmupScheduler):
    """Learning rates that fall along a line, after a rise.

    Args:
        optimizer: the optimizer.
        t_initial: when the line ends; the rise is a part of it.
        lr_min_rate: the last learning rate, as a part of the first.
        *rest: further arguments by position, as for `WarmupScheduler` from `warmup_t` on.
        **options: the same further arguments, by name.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.scheduler import LinearLRScheduler
        >>> optimizer = flow.optim.SGD([flow.ones(1, requires_grad=True)], lr=1.0)
        >>> schedule = LinearLRScheduler(optimizer, t_initial=10, lr_min_rate=0.0)
        >>> for epoch in range(5):
        ...     schedule.step(epoch + 1)
        >>> round(optimizer.param_groups[0]["lr"], 4)
        0.5
    """

    def __init__(
        self,
        optimizer: optim.Optimizer,
        t_initial: int,
        lr_min_rate: float,
        *rest: Any,
        **options: Any,
    ) -> None:
        super().__init__(optimizer, *rest, **options)
        self.t_initial = t_initial
        self.lr_min_rate = lr_min_rate

    def _decayed(self, t: int) -> list[float]:
        progress = (t - self.warmup_t) / (self.t_initial - self.warmup_t)
        share = 1 - (1 - self.lr_min_rate) * progress
        return [value * share for value in self.base_values]
