"""The bases of schedules: setting a number of parameter groups, warming up, repeating cycles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from oneflow import optim

NoiseRange = int | Sequence[int] | None


class Scheduler:
    """Base class of schedules of a number of an optimizer's parameter groups.

    Call `step` at the end of each epoch or `step_update` after each update, with how many there
    have been; nothing else is remembered, so that training can be resumed anywhere.

    Args:
        optimizer: the optimizer.
        param_group_field: name of the number, such as ``"lr"``.
        noise_range_t: times (first, end) with noise, or the first one.
        noise_type: ``"normal"``, or ``"uniform"``.
        noise_pct: its limit, as a part of the number.
        noise_std: its standard deviation, likewise.
        noise_seed: seed of the noise.
        initialize: begin with the groups' present numbers; otherwise with those that an earlier
            schedule began with.

    Raises:
        KeyError: a group does not have the number.

    Example:
        >>> from flowvision.scheduler import CosineLRScheduler, Scheduler
        >>> issubclass(CosineLRScheduler, Scheduler)
        True
    """

    def __init__(
        self,
        optimizer: optim.Optimizer,
        param_group_field: str,
        noise_range_t: NoiseRange = None,
        noise_type: str = "normal",
        noise_pct: float = 0.67,
        noise_std: float = 1.0,
        noise_seed: int | None = None,
        initialize: bool = True,
    ) -> None:
        self.optimizer = optimizer
        self.param_group_field = param_group_field
        first = f"initial_{param_group_field}"
        for index, group in enumerate(optimizer.param_groups):
            needed = param_group_field if initialize else first
            if needed not in group:
                raise KeyError(f"{needed} missing from param_groups[{index}]")
            group.setdefault(first, group[param_group_field])
        self.base_values = [group[first] for group in optimizer.param_groups]
        self.noise_range_t = noise_range_t
        self.noise_type = noise_type
        self.noise_pct = noise_pct
        self.noise_std = noise_std
        self.noise_seed = 42 if noise_seed is None else noise_seed
        self.metric: float | None = None
        self.update_groups(self.base_values)

    def state_dict(self) -> dict[str, Any]:
        """Return all numbers, without the optimizer."""
        return {name: value for name, value in self.__dict__.items() if name != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over the numbers of `state_dict`."""
        self.__dict__.update(state_dict)

    def get_epoch_values(self, epoch: int) -> list[float] | None:
        """Return the groups' numbers in an epoch; None if they do not follow epochs."""
        raise NotImplementedError(f"{type(self).__name__} must define `get_epoch_values`")

    def get_update_values(self, num_updates: int) -> list[float] | None:
        """Return the groups' numbers after some updates; None if they do not follow updates."""
        raise NotImplementedError(f"{type(self).__name__} must define `get_update_values`")

    def step(self, epoch: int, metric: float | None = None) -> None:
        """Set the numbers of an epoch."""
        self.metric = metric
        self._set(self.get_epoch_values(epoch), epoch)

    def step_update(self, num_updates: int, metric: float | None = None) -> None:
        """Set the numbers after some updates."""
        self.metric = metric
        self._set(self.get_update_values(num_updates), num_updates)

    def _set(self, values: list[float] | None, t: int) -> None:
        if values is not None:
            noise = self._noise(t)
            self.update_groups([value + value * noise for value in values])

    def update_groups(self, values: float | Sequence[float]) -> None:
        """Set the groups' numbers, or one number for all."""
        groups = self.optimizer.param_groups
        group_values = values if isinstance(values, Sequence) else [values] * len(groups)
        for group, value in zip(groups, group_values, strict=True):
            # The optimizer itself multiplies learning rates.
            scale = 1.0 if self.param_group_field == "lr" else group.get("lr_scale", 1.0)
            group[self.param_group_field] = value * scale

    def _noise(self, t: int) -> float:
        """Return the noise at a time; every call for one time gives the same noise."""
        if self.noise_range_t is None:
            return 0.0
        limits = self.noise_range_t
        first, end = (limits, math.inf) if isinstance(limits, int) else (limits[0], limits[1])
        if not first <= t < end:
            return 0.0
        random = np.random.default_rng(self.noise_seed + t)
        if self.noise_type != "normal":
            return float(random.uniform(-self.noise_pct, self.noise_pct))
        while True:
            noise = float(random.normal(0, self.noise_std))
            if abs(noise) < self.noise_pct:
                return noise


class WarmupScheduler(Scheduler):
    """Base class of schedules of learning rates that begin with a linear rise.

    Args:
        optimizer: the optimizer.
        warmup_t: length of the rise.
        warmup_lr_init: where it begins.
        t_in_epochs: times are epochs, instead of updates.
        noise_range_t: times (first, end) with noise, or the first one.
        noise_pct: limit of the noise, as a part of the learning rate.
        noise_std: its standard deviation, likewise.
        noise_seed: its seed.
        initialize: begin with the groups' present learning rates; otherwise with those that an
            earlier schedule began with.
        warmup_prefix: the schedule begins after the rise, instead of with it.
    """

    def __init__(
        self,
        optimizer: optim.Optimizer,
        warmup_t: int = 0,
        warmup_lr_init: float = 0,
        t_in_epochs: bool = True,
        noise_range_t: NoiseRange = None,
        noise_pct: float = 0.67,
        noise_std: float = 1.0,
        noise_seed: int = 42,
        initialize: bool = True,
        *,
        warmup_prefix: bool = False,
    ) -> None:
        super().__init__(
            optimizer,
            "lr",
            noise_range_t,
            noise_pct=noise_pct,
            noise_std=noise_std,
            noise_seed=noise_seed,
            initialize=initialize,
        )
        self.warmup_t = warmup_t
        self.warmup_lr_init = warmup_lr_init
        self.warmup_prefix = warmup_prefix
        self.t_in_epochs = t_in_epochs
        if warmup_t:
            self.update_groups(warmup_lr_init)

    def get_epoch_values(self, epoch: int) -> list[float] | None:
        """Return the learning rates in an epoch; None if they follow updates."""
        return self._values(epoch) if self.t_in_epochs else None

    def get_update_values(self, num_updates: int) -> list[float] | None:
        """Return the learning rates after some updates; None if they follow epochs."""
        return None if self.t_in_epochs else self._values(num_updates)

    def _values(self, t: int) -> list[float]:
        if t >= self.warmup_t:
            return self._decayed(t - self.warmup_t if self.warmup_prefix else t)
        low = self.warmup_lr_init
        return [low + t * (top - low) / self.warmup_t for top in self._warm_values()]

    def _warm_values(self) -> list[float]:
        """Return where the rise leads to."""
        return self.base_values

    def _decayed(self, t: int) -> list[float]:
        """Return the learning rates after the rise."""
        raise NotImplementedError(f"{type(self).__name__} must define `_decayed`")


class CyclicScheduler(WarmupScheduler):
    """Base class of schedules that fall from the first learning rates to `lr_min`, repeatedly.

    Args:
        optimizer: the optimizer.
        t_initial: length of the first cycle.
        lr_min: lowest learning rate.
        cycle_mul: factor of the length from one cycle to the next.
        cycle_decay: factor of the highest learning rate from one cycle to the next.
        cycle_limit: number of cycles; 0: no limit.
        warmup_t: length of a linear rise at the beginning.
        warmup_lr_init: where it begins.
        warmup_prefix: the first cycle begins after the rise, instead of with it.
        *rest: `t_in_epochs` and what follows it in `WarmupScheduler`.
        **options: the same further arguments, by name.

    Raises:
        ValueError: `t_initial` is not positive or `lr_min` negative.
    """

    def __init__(
        self,
        optimizer: optim.Optimizer,
        t_initial: int,
        lr_min: float = 0.0,
        cycle_mul: float = 1.0,
        cycle_decay: float = 1.0,
        cycle_limit: int = 1,
        warmup_t: int = 0,
        warmup_lr_init: float = 0,
        warmup_prefix: bool = False,
        *rest: Any,
        **options: Any,
    ) -> None:
        if t_initial <= 0 or lr_min < 0:
            raise ValueError(
                f"t_initial must be positive and lr_min not negative, got {t_initial} and {lr_min}"
            )
        options["warmup_prefix"] = warmup_prefix
        super().__init__(optimizer, warmup_t, warmup_lr_init, *rest, **options)
        self.t_initial = t_initial
        self.lr_min = lr_min
        self.cycle_mul = cycle_mul
        self.cycle_decay = cycle_decay
        self.cycle_limit = cycle_limit

    def get_cycle_length(self, cycles: int = 0) -> int:
        """Return the length of some cycles, by default of all."""
        count = max(1, cycles or self.cycle_limit)
        length = math.floor(self._begin(count))
        return length + self.warmup_t if self.warmup_prefix else length

    def _begin(self, cycle: int) -> float:
        """Return when a cycle begins: the sum of a geometric series."""
        if self.cycle_mul == 1:
            return self.t_initial * cycle
        return self.t_initial * (1 - self.cycle_mul**cycle) / (1 - self.cycle_mul)

    def _decayed(self, t: int) -> list[float]:
        if self.cycle_mul == 1:
            cycle = t // self.t_initial
        else:
            growth = 1 - t / self.t_initial * (1 - self.cycle_mul)
            cycle = math.floor(math.log(growth, self.cycle_mul))
        if self.cycle_limit and cycle >= self.cycle_limit:
            return [self.lr_min] * len(self.base_values)
        length = self.t_initial * self.cycle_mul**cycle
        share = self._share((t - self._begin(cycle)) / length)
        max_values = [value * self.cycle_decay**cycle for value in self.base_values]
        return [self.lr_min + (top - self.lr_min) * share for top in max_values]

    def _share(self, progress: float) -> float:
        """Return the part of the way from `lr_min` to the top, at a part of the cycle."""
        raise NotImplementedError(f"{type(self).__name__} must define `_share`")
