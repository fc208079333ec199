"""Learning rates that fall at given times."""

from __future__ import annotations

import bisect
from collections.abc import Sequence

from flowvision.scheduler.scheduler import NoiseRange, WarmupScheduler
from oneflow import optim


class MultiStepLRScheduler(WarmupScheduler):
    """Learning rates times a factor at given times.

    As in timm, a step at 10 acts from 9 on.

    Args:
        optimizer: the optimizer.
        decay_t: the times, sorted.
        decay_rate: the factor.
        warmup_t: length of a linear rise at the beginning.
        warmup_lr_init: where it begins.
        t_in_epochs: times are epochs, instead of updates.
        noise_range_t: times (first, end) with noise, or the first one.
        noise_pct: limit of the noise, as a part of the learning rate.
        noise_std: its standard deviation, likewise.
        noise_seed: its seed.
        initialize: begin with the groups' present learning rates; otherwise with those that an
            earlier schedule began with.
    """

    def __init__(
        self,
        optimizer: optim.Optimizer,
        decay_t: Sequence[int],
        decay_rate: float = 1.0,
        warmup_t: int = 0,
        warmup_lr_init: float = 0,
        t_in_epochs: bool = True,
        noise_range_t: NoiseRange = None,
        noise_pct: float = 0.67,
        noise_std: float = 1.0,
        noise_seed: int = 42,
        initialize: bool = True,
    ) -> None:
        super().__init__(
            optimizer,
            warmup_t,
            warmup_lr_init,
            warmup_prefix=False,
            t_in_epochs=t_in_epochs,
            noise_range_t=noise_range_t,
            noise_pct=noise_pct,
            noise_std=noise_std,
            noise_seed=noise_seed,
            initialize=initialize,
        )
        self.decay_t = decay_t
        self.decay_rate = decay_rate

    def get_curr_decay_steps(self, t: int) -> int:
        """Return how many steps there have been."""
        return bisect.bisect_right(self.decay_t, t + 1)

    def _decayed(self, t: int) -> list[float]:
        factor = self.decay_rate ** self.get_curr_decay_steps(t)
        return [value * factor for value in self.base_values]
