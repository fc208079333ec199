"""Learning rates that fall like a hyperbolic tangent."""

from __future__ import annotations

import math
from typing import Any

from flowvision.scheduler.scheduler import CyclicScheduler
from oneflow import optim


class TanhLRScheduler(CyclicScheduler):
    """Learning rates that fall like a hyperbolic tangent, repeatedly.

    The paper: Hsueh et al., "Stochastic Gradient Descent with Hyperbolic-Tangent Decay", 2018.

    Args:
        optimizer: the optimizer.
        t_initial: length of the first cycle.
        lb: where on the tangent a cycle begins.
        ub: where it ends.
        *rest: further arguments by position, as for `CyclicScheduler` from `lr_min` on.
        **options: the same further arguments, by name.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.scheduler import TanhLRScheduler
        >>> optimizer = flow.optim.SGD([flow.ones(1, requires_grad=True)], lr=1.0)
        >>> schedule = TanhLRScheduler(optimizer, t_initial=10)
        >>> for epoch in range(5):
        ...     schedule.step(epoch + 1)
        >>> round(optimizer.param_groups[0]["lr"], 4)
        0.982
    """

    def __init__(
        self,
        optimizer: optim.Optimizer,
        t_initial: int,
        lb: float = -7.0,
        ub: float = 3.0,
        *rest: Any,
        **options: Any,
    ) -> None:
        super().__init__(optimizer, t_initial, *rest, **options)
        self.lb = lb
        self.ub = ub

    def _warm_values(self) -> list[float]:
        return self.base_values if self.warmup_prefix else self._decayed(self.warmup_t)

    def _share(self, progress: float) -> float:
        return 0.5 * (1 - math.tanh(self.lb * (1 - progress) + self.ub * progress))
