"""Learning rates that fall like half a cosine wave."""

from __future__ import annotations

import math
from typing import Any

from flowvision.scheduler.scheduler import CyclicScheduler
from oneflow import optim


class CosineLRScheduler(CyclicScheduler):
    """Learning rates that fall like half a cosine wave, repeatedly.

    The paper: Loshchilov and Hutter, "SGDR: Stochastic Gradient Descent with Warm Restarts", 2016.

    Args:
        optimizer: the optimizer.
        t_initial: length of the first cycle.
        t_mul: factor of the length from one cycle to the next.
        lr_min: lowest learning rate.
        decay_rate: factor of the highest learning rate from one cycle to the next.
        warmup_t: length of a linear rise at the beginning.
        warmup_lr_init: where it begins.
        warmup_prefix: the first cycle begins after the rise, instead of with it.
        cycle_limit: number of cycles; 0: no limit.
        *rest: further arguments by position, as for `WarmupScheduler` from `t_in_epochs` on.
        **options: the same further arguments, by name.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.scheduler import CosineLRScheduler
        >>> optimizer = flow.optim.SGD([flow.nn.Parameter(flow.ones(1))], lr=1.0)
        >>> schedule = CosineLRScheduler(optimizer, t_initial=4)
        >>> schedule.step(2)
        >>> round(optimizer.param_groups[0]["lr"], 6)
        0.5
    """

    def __init__(
        self,
        optimizer: optim.Optimizer,
        t_initial: int,
        t_mul: float = 1.0,
        lr_min: float = 0.0,
        decay_rate: float = 1.0,
        warmup_t: int = 0,
        warmup_lr_init: float = 0,
        warmup_prefix: bool = False,
        cycle_limit: int = 0,
        *rest: Any,
        **options: Any,
    ) -> None:
        cycles = (t_mul, decay_rate, cycle_limit)
        warmup = (warmup_t, warmup_lr_init, warmup_prefix)
        super().__init__(optimizer, t_initial, lr_min, *cycles, *warmup, *rest, **options)

    def _share(self, progress: float) -> float:
        return 0.5 * (1 + math.cos(math.pi * progress))
