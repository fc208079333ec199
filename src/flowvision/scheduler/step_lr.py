"""Learning rates that fall in equal steps."""

from __future__ import annotations

from typing import Any

from flowvision.scheduler.scheduler import WarmupScheduler
from oneflow import optim


class StepLRScheduler(WarmupScheduler):
    """Learning rates times a factor after each so many epochs.

    Args:
        optimizer: the optimizer.
        decay_t: length of a step.
        decay_rate: the factor.
        *rest: further arguments by position, as for `WarmupScheduler` from `warmup_t` on.
        **options: the same further arguments, by name.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.scheduler import StepLRScheduler
        >>> optimizer = flow.optim.SGD([flow.ones(1, requires_grad=True)], lr=1.0)
        >>> schedule = StepLRScheduler(optimizer, decay_t=2, decay_rate=0.1)
        >>> for epoch in range(4):
        ...     schedule.step(epoch + 1)
        >>> round(optimizer.param_groups[0]["lr"], 4)
        0.01
    """

    def __init__(
        self,
        optimizer: optim.Optimizer,
        decay_t: float,
        decay_rate: float = 1.0,
        *rest: Any,
        **options: Any,
    ) -> None:
        super().__init__(optimizer, *rest, **options)
        self.decay_t = decay_t
        self.decay_rate = decay_rate

    def _decayed(self, t: int) -> list[float]:
        return [value * self.decay_rate ** (t // self.decay_t) for value in self.base_values]
