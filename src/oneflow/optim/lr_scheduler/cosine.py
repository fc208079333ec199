"""Schedules along a cosine."""

from __future__ import annotations

import math
from typing import Any

from oneflow.optim.lr_scheduler.scheduler import LRScheduler, check_count
from oneflow.optim.optimizer import Optimizer


def _half_cosine(done: float) -> float:
    """Falls from 1 to 0 while `done` goes from 0 to 1."""
    return 0.5 * (1 + math.cos(math.pi * done))


class CosineDecayLR(LRScheduler):
    """Let the learning rate fall along a cosine to `alpha` times itself, and stay there.

    Args:
        optimizer: whose learning rates to set.
        decay_steps: steps until the end.
        alpha: factor at the end.
        last_step: number of the last step done.
        verbose: print every change.

    Example:
        >>> import oneflow as flow
        >>> optimizer = flow.optim.SGD([flow.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = flow.optim.lr_scheduler.CosineDecayLR(optimizer, decay_steps=2, alpha=0.1)
        >>> [round(scheduler.get_lr(1.0, step), 2) for step in range(4)]
        [1.0, 0.55, 0.1, 0.1]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        decay_steps: int,
        alpha: float = 0.0,
        last_step: int = -1,
        verbose: bool = False,
    ) -> None:
        check_count("decay_steps", decay_steps, low=1)
        self.decay_steps = decay_steps
        self.alpha = alpha
        super().__init__(optimizer, last_step, verbose)

    def get_lr(self, base_lr: float, step: int) -> float:
        if step >= self.decay_steps:
            return base_lr * self.alpha
        return base_lr * ((1 - self.alpha) * _half_cosine(step / self.decay_steps) + self.alpha)


class CosineAnnealingLR(LRScheduler):
    """Let the learning rate swing along a cosine between its base and `eta_min`.

    Args:
        optimizer: whose learning rates to set.
        T_max: steps of half a swing, not necessarily a whole number.
        eta_min: smallest learning rate.
        last_step: number of the last step done.
        verbose: print every change.

    Example:
        >>> import oneflow as flow
        >>> optimizer = flow.optim.SGD([flow.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = flow.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=2)
        >>> [round(scheduler.get_lr(1.0, step), 2) for step in range(5)]
        [1.0, 0.5, 0.0, 0.5, 1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        T_max: float,
        eta_min: float = 0.0,
        last_step: int = -1,
        verbose: bool = False,
    ) -> None:
        if not T_max > 0:
            raise ValueError(f"`T_max` must be positive, got {T_max!r}")
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_step, verbose)

    def get_lr(self, base_lr: float, step: int) -> float:
        return self.eta_min + (base_lr - self.eta_min) * _half_cosine(step / self.T_max)


class CosineAnnealingWarmRestarts(LRScheduler):
    """Let the learning rate fall along a cosine again and again (SGDR).

    Args:
        optimizer: whose learning rates to set.
        T_0: steps until the first restart.
        T_mult: factor of the length after each restart.
        eta_min: smallest learning rate.
        decay_rate: factor of the base learning rate after each restart.
        restart_limit: number of falls, after which `eta_min` stays; 0 means no limit.
        last_step: number of the last step done.
        verbose: print every change.

    Example:
        >>> import oneflow as flow
        >>> optimizer = flow.optim.SGD([flow.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = flow.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2)
        >>> [round(scheduler.get_lr(1.0, step), 2) for step in range(5)]
        [1.0, 0.5, 1.0, 0.5, 1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0.0,
        decay_rate: float = 1.0,
        restart_limit: int = 0,
        last_step: int = -1,
        verbose: bool = False,
    ) -> None:
        check_count("T_0", T_0, low=1)
        check_count("T_mult", T_mult, low=1)
        check_count("restart_limit", restart_limit)
        self.T_0 = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.decay_rate = decay_rate
        self.restart_limit = restart_limit
        super().__init__(optimizer, last_step, verbose)

    def get_lr(self, base_lr: float, step: int) -> float:
        cycle, since, length = self._position(step)
        if 0 < self.restart_limit <= cycle:
            return self.eta_min
        highest = base_lr * self.decay_rate**cycle
        return self.eta_min + (highest - self.eta_min) * _half_cosine(since / length)

    def _defaults_of_pytorch(self) -> dict[str, Any]:
        return {**super()._defaults_of_pytorch(), "decay_rate": 1.0, "restart_limit": 0}

    def _position(self, step: float) -> tuple[int, Any, int]:
        """Number of restarts before `step`, steps since then, length of the current fall."""
        if self.T_mult == 1:
            return int(step // self.T_0), step % self.T_0, self.T_0
        cycle, length = 0, self.T_0
        while step >= length:
            step -= length
            length *= self.T_mult
            cycle += 1
        return cycle, step, length
