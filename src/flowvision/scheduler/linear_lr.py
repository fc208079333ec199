"""Learning rates that fall along a line."""

from __future__ import annotations

from flowvision.scheduler.scheduler import NoiseRange, WarmupScheduler
from oneflow import optim


class LinearLRScheduler(WarmupScheduler):
    """Learning rates that fall along a line, after a rise.

    Args:
        optimizer: the optimizer.
        t_initial: when the line ends; the rise is a part of it.
        lr_min_rate: the last learning rate, as a part of the first.
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
        t_initial: int,
        lr_min_rate: float,
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
        self.t_initial = t_initial
        self.lr_min_rate = lr_min_rate

    def _decayed(self, t: int) -> list[float]:
        progress = (t - self.warmup_t) / (self.t_initial - self.warmup_t)
        share = 1 - (1 - self.lr_min_rate) * progress
        return [value * share for value in self.base_values]
