"""Schedules that fall (or rise) once: steps, exponentials, polynomials, lines."""

from __future__ import annotations

import bisect
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from oneflow.optim.lr_scheduler.scheduler import LRScheduler, check_count
from oneflow.optim.optimizer import Optimizer


class StepLR(LRScheduler):
    """Multiply the learning rate by `gamma` every `step_size` steps.

    Args:
        optimizer: whose learning rates to set.
        step_size: steps between two changes.
        gamma: factor of each change.
        last_step: number of the last step done.
        verbose: print every change.

    Example:
        >>> import oneflow as flow
        >>> optimizer = flow.optim.SGD([flow.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = flow.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
        >>> [scheduler.get_lr(1.0, step) for step in range(5)]
        [1.0, 1.0, 0.5, 0.5, 0.25]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        step_size: int,
        gamma: float = 0.1,
        last_step: int = -1,
        verbose: bool = False,
    ) -> None:
        check_count("step_size", step_size, low=1)
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_step, verbose)

    def get_lr(self, base_lr: float, step: int) -> float:
        return base_lr * self.gamma ** (step // self.step_size)


class MultiStepLR(LRScheduler):
    """Multiply the learning rate by `gamma` at each of `milestones`.

    Args:
        optimizer: whose learning rates to set.
        milestones: numbers of steps, in rising order.
        gamma: factor of each change.
        last_step: number of the last step done.
        verbose: print every change.

    Example:
        >>> import oneflow as flow
        >>> optimizer = flow.optim.SGD([flow.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = flow.optim.lr_scheduler.MultiStepLR(optimizer, [1, 3], gamma=0.5)
        >>> [scheduler.get_lr(1.0, step) for step in range(5)]
        [1.0, 0.5, 0.5, 0.25, 0.25]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        milestones: Sequence[int],
        gamma: float = 0.1,
        last_step: int = -1,
        verbose: bool = False,
    ) -> None:
        for step in milestones:
            check_count("milestones", step)
        self.milestones = sorted(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_step, verbose)

    def get_lr(self, base_lr: float, step: int) -> float:
        return base_lr * self.gamma ** bisect.bisect_right(self.milestones, step)

    def _in_pytorch(self, state: dict[str, Any]) -> dict[str, Any]:
        return {**super()._in_pytorch(state), "milestones": Counter(self.milestones)}

    def _from_pytorch(self, state: dict[str, Any]) -> dict[str, Any]:
        state = super()._from_pytorch(state)
        milestones = state.get("milestones")
        # PyTorch counts how often each one is given.
        if isinstance(milestones, Mapping):
            counts = sorted(milestones.items())
            state["milestones"] = [step for step, count in counts for _ in range(count)]
        return state


class ExponentialLR(LRScheduler):
    """Multiply the learning rate by `gamma` after every step.

    Args:
        optimizer: whose learning rates to set.
        gamma: factor of each step.
        last_step: number of the last step done.
        verbose: print every change.

    Example:
        >>> import oneflow as flow
        >>> optimizer = flow.optim.SGD([flow.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = flow.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
        >>> [scheduler.get_lr(1.0, step) for step in range(3)]
        [1.0, 0.5, 0.25]
    """

    def __init__(
        self, optimizer: Optimizer, gamma: float, last_step: int = -1, verbose: bool = False
    ) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_step, verbose)

    def get_lr(self, base_lr: float, step: int) -> float:
        return base_lr * self.gamma**step


class ConstantLR(LRScheduler):
    """Multiply the learning rate by `factor` for the first `total_iters` steps.

    Args:
        optimizer: whose learning rates to set.
        factor: the factor.
        total_iters: how long it lasts.
        last_step: number of the last step done.
        verbose: print every change.

    Example:
        >>> import oneflow as flow
        >>> optimizer = flow.optim.SGD([flow.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = flow.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=2)
        >>> [scheduler.get_lr(1.0, step) for step in range(4)]
        [0.5, 0.5, 1.0, 1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        factor: float = 1.0 / 3,
        total_iters: int = 5,
        last_step: int = -1,
        verbose: bool = False,
    ) -> None:
        if not 0 <= factor <= 1:
            raise ValueError(f"`factor` must be in [0, 1], got {factor}")
        check_count("total_iters", total_iters)
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_step, verbose)

    def get_lr(self, base_lr: float, step: int) -> float:
        return base_lr * self.factor if step < self.total_iters else base_lr


class LinearLR(LRScheduler):
    """Multiply the learning rate by a factor on the line from `start_factor` to `end_factor`.

    Args:
        optimizer: whose learning rates to set.
        start_factor: factor of the first step.
        end_factor: factor after `total_iters` steps and later.
        total_iters: length of the line.
        last_step: number of the last step done.
        verbose: print every change.

    Example:
        >>> import oneflow as flow
        >>> optimizer = flow.optim.SGD([flow.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = flow.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.5, total_iters=2)
        >>> [scheduler.get_lr(1.0, step) for step in range(4)]
        [0.5, 0.75, 1.0, 1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_step: int = -1,
        verbose: bool = False,
    ) -> None:
        if not 0 <= start_factor <= 1:
            raise ValueError(f"`start_factor` must be in [0, 1], got {start_factor}")
        if not 0 <= end_factor <= 1:
            raise ValueError(f"`end_factor` must be in [0, 1], got {end_factor}")
        check_count("total_iters", total_iters, low=1)
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_step, verbose)

    def get_lr(self, base_lr: float, step: int) -> float:
        if step >= self.total_iters:
            return base_lr * self.end_factor
        done = step / self.total_iters
        return base_lr * (self.start_factor + (self.end_factor - self.start_factor) * done)


class PolynomialLR(LRScheduler):
    """Let the learning rate fall like a power of the steps that are left.

    Args:
        optimizer: whose learning rates to set.
        decay_batch: steps until the end.
        end_learning_rate: the last learning rate.
        power: the power; 1 is a line.
        cycle: start again, over a longer time, when the end is reached; counts from step 1.
        last_step: number of the last step done.
        verbose: print every change.
        total_iters: PyTorch's `decay_batch`; with it the end is 0, as in PyTorch.

    Example:
        >>> import oneflow as flow
        >>> optimizer = flow.optim.SGD([flow.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = flow.optim.lr_scheduler.PolynomialLR(optimizer, 4, end_learning_rate=0.0)
        >>> [scheduler.get_lr(1.0, step) for step in range(6)]
        [1.0, 0.75, 0.5, 0.25, 0.0, 0.0]
    """

    _pytorch_names: ClassVar = {**LRScheduler._pytorch_names, "max_decay_steps": "total_iters"}

    def __init__(
        self,
        optimizer: Optimizer,
        decay_batch: int | None = None,
        end_learning_rate: float = 0.0001,
        power: float = 1.0,
        cycle: bool = False,
        last_step: int = -1,
        verbose: bool = False,
        *,
        total_iters: int | None = None,
    ) -> None:
        limits = [steps for steps in (decay_batch, total_iters) if steps is not None]
        if len(limits) != 1:
            raise TypeError("PolynomialLR takes either `decay_batch` or `total_iters`")
        if total_iters is not None:
            end_learning_rate = 0.0
        self.max_decay_steps = limits[0]
        check_count("decay_batch", self.max_decay_steps, low=1)
        self.end_learning_rate = end_learning_rate
        self.power = power
        self.cycle = cycle
        super().__init__(optimizer, last_step, verbose)

    def _defaults_of_pytorch(self) -> dict[str, Any]:
        return {**super()._defaults_of_pytorch(), "end_learning_rate": 0.0, "cycle": False}

    def get_lr(self, base_lr: float, step: int) -> float:
        length = self.max_decay_steps
        if self.cycle:
            step = max(step, 1)
            length *= math.ceil(step / length)
        left = 1 - min(step, length) / length
        return (base_lr - self.end_learning_rate) * left**self.power + self.end_learning_rate
