"""Learning rates that fall like a power."""

from __future__ import annotations

from flowvision.scheduler.scheduler import CyclicScheduler, NoiseRange
from oneflow import optim


class PolyLRScheduler(CyclicScheduler):
    """Learning rates that fall like a power of the remaining time, repeatedly.

    Args:
        optimizer: the optimizer.
        t_initial: length of the first cycle.
        power: the exponent.
        lr_min: lowest learning rate.
        cycle_mul: factor of the length from one cycle to the next.
        cycle_decay: factor of the highest learning rate from one cycle to the next.
        cycle_limit: number of cycles; 0: no limit.
        warmup_t: length of a linear rise at the beginning.
        warmup_lr_init: where it begins.
        warmup_prefix: the first cycle begins after the rise, instead of with it.
        t_in_epochs: times are epochs, instead of updates.
        noise_range_t: times (first, end) with noise, or the first one.
        noise_pct: limit of the noise, as a part of the learning rate.
        noise_std: its standard deviation, likewise.
        noise_seed: its seed.
        k_decay: exponent of the time (Zhang and Li, 2020); above 1 it stays high for longer.
        initialize: begin with the groups' present learning rates; otherwise with those that an
            earlier schedule began with.
    """

    def __init__(
        self,
        optimizer: optim.Optimizer,
        t_initial: int,
        power: float = 0.5,
        lr_min: float = 0.0,
        cycle_mul: float = 1.0,
        cycle_decay: float = 1.0,
        cycle_limit: int = 1,
        warmup_t: int = 0,
        warmup_lr_init: float = 0,
        warmup_prefix: bool = False,
        t_in_epochs: bool = True,
        noise_range_t: NoiseRange = None,
        noise_pct: float = 0.67,
        noise_std: float = 1.0,
        noise_seed: int = 42,
        k_decay: float = 1.0,
        initialize: bool = True,
    ) -> None:
        super().__init__(
            optimizer,
            t_initial,
            lr_min,
            cycle_mul,
            cycle_decay,
            cycle_limit,
            warmup_t=warmup_t,
            warmup_lr_init=warmup_lr_init,
            warmup_prefix=warmup_prefix,
            t_in_epochs=t_in_epochs,
            noise_range_t=noise_range_t,
            noise_pct=noise_pct,
            noise_std=noise_std,
            noise_seed=noise_seed,
            initialize=initialize,
        )
        self.power = power
        self.k_decay = k_decay

    def _share(self, progress: float) -> float:
        return (1 - progress**self.k_decay) ** self.power
