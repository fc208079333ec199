"""Learning rates that fall at given times."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from typing import Any

from flowvision.scheduler.scheduler import WarmupScheduler
from oneflow import optim


class MultiStepLRScheduler(WarmupScheduler):
    """Learning rates times a factor at given times.

    As in timm, a step at 10 acts from 9 on.

    Args:
        optimizer: the optimizer.
        decay_t: the times, sorted.
        decay_rate: the factor.
        *rest: further arguments by position, as for `WarmupScheduler` from `warmup_t` on.
        **options: the same further arguments, by name.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.scheduler import MultiStepLRScheduler
        >>> optimizer = flow.optim.SGD([flow.ones(1, requires_grad=True)], lr=1.0)
        >>> schedule = MultiStepLRScheduler(optimizer, decay_t=[2, 4], decay_rate=0.1)
        >>> for epoch in range(4):
        ...     schedule.step(epoch + 1)
        >>> round(optimizer.param_groups[0]["lr"], 4)
        0.01
    """

    def __init__(
        self,
        optimizer: optim.Optimizer,
        decay_t: Sequence[int],
        decay_rate: float = 1.0,
        *rest: Any,
        **options: Any,
    ) -> None:
        super().__init__(optimizer, *rest, **options)
        self.decay_t = decay_t
        self.decay_rate = decay_rate

    def get_curr_decay_steps(self, t: int) -> int:
        """Return how many steps there have been."""
        return bisect.bisect_right(self.decay_t, t + 1)

    def _decayed(self, t: int) -> list[float]:
        factor = self.decay_rate ** self.get_curr_decay_steps(t)
        return [value * factor for value in self.base_values]
