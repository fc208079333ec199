"""Schedules of learning rates that are PyTorch's where OneFlow's differ.

OneFlow computes a rate from the one that a schedule began with. PyTorch changes the present rate,
so that one set by hand, or loaded by the optimizer, is where the schedule goes on from.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Iterator, Sequence
from typing import Any

from oneflow.optim import lr_scheduler
from oneflow.optim.groups import copied_option, set_rate
from oneflow.optim.lr_scheduler.scheduler import EPOCH_DEPRECATION_WARNING
from oneflow.optim.optimizer import Optimizer


class ChangeableLR(lr_scheduler.LRScheduler):
    """Abstract: a schedule that changes the present rates, of groups added later too.

    The distance of a rate from its floor is that of the first rate times `curve`.
    """

    # The first step of all leaves the rates as they are, unless it is step 0.
    _starts_with_current_lr = False
    # A step to 0 that is not the first of all goes on from where the curve was before its start.
    _extends_before_start = False

    def curve(self, step: int) -> float:
        """The factor of the distance from the floor after `step` steps."""
        return self.get_lr(1.0, step)

    def floor(self, group: dict[str, Any]) -> float:
        """The rate from which distances are measured."""
        return 0.0

    @property
    def _curve_step(self) -> int:
        """The step of the curve where the present rates are."""
        return self.last_step

    def _go_to(self, epoch: int | None) -> None:
        """Go on by one step from the present rates, or to step `epoch` from the first ones."""
        if epoch is not None:
            super()._go_to(epoch)
            return
        self.last_step += 1
        is_initial = self._step_count == 1
        step = self._curve_step
        after = self.curve(step)
        if is_initial and step and self._starts_with_current_lr:
            before = after
        elif step or (self._extends_before_start and not is_initial):
            before = self.curve(step - 1)
        else:
            before = 1.0
        self.update_lrs(self._changed_lrs(self.optimizer.param_groups, before, after))

    def options_ahead(self, steps: int) -> list[list[dict[str, Any]]] | None:
        if not self._is_formula:
            return None
        groups = [dict(group) for group in self.optimizer.param_groups]
        options, before = [], self.curve(self._curve_step)
        for step in range(self._curve_step + 1, self._curve_step + 1 + steps):
            after = self.curve(step)
            for group, lr in zip(groups, self._changed_lrs(groups, before, after), strict=True):
                group["lr"] = lr
            options.append([{"lr": group["lr"]} for group in groups])
            before = after
        return options

    def _changed_lrs(
        self, groups: Sequence[dict[str, Any]], before: float, after: float
    ) -> list[float]:
        """The next rates of the groups; those added later begin at their own first rates."""
        added = groups[len(self.base_lrs) :]
        firsts = [*self.base_lrs, *[group.get("initial_lr", group["lr"]) for group in added]]
        return [
            self._changed(group, first, before, after)
            for group, first in zip(groups, firsts, strict=False)
        ]

    def _changed(self, group: dict[str, Any], first: float, before: float, after: float) -> float:
        """The next rate of a group that began with rate `first`."""
        lr, floor = group["lr"], self.floor(group)
        if before:
            return floor + (lr - floor) * (after / before)
        return lr + (first - floor) * after


class StepLR(ChangeableLR, lr_scheduler.StepLR):
    """`StepLR` that changes the present rates."""


class MultiStepLR(ChangeableLR, lr_scheduler.MultiStepLR):
    """`MultiStepLR` that changes the present rates."""


class ExponentialLR(ChangeableLR, lr_scheduler.ExponentialLR):
    """`ExponentialLR` that changes the present rates."""

    _starts_with_current_lr = True
    _extends_before_start = True


class MultiplicativeLR(lr_scheduler.MultiplicativeLR):
    """`MultiplicativeLR` whose first step of all leaves the rates as they are."""

    def _go_to(self, epoch: int | None) -> None:
        is_initial = epoch is None and self._step_count == 1
        self.last_step = self.last_step + 1 if epoch is None else epoch
        lrs = self._present_lrs()
        if not is_initial:
            pairs = zip(lrs, self.lr_lambdas, strict=True)
            lrs = [lr * function(self.last_step) for lr, function in pairs]
        self.update_lrs(lrs)


class ConstantLR(ChangeableLR, lr_scheduler.ConstantLR):
    """`ConstantLR` that changes the present rates."""


class LinearLR(ChangeableLR, lr_scheduler.LinearLR):
    """`LinearLR` that changes the present rates, which must not begin with 0."""

    _starts_with_current_lr = True

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not start_factor:
            raise ValueError("`start_factor` must be in (0, 1], got 0: no rate is a multiple of it")
        super().__init__(optimizer, start_factor, end_factor, total_iters, last_epoch)


class PolynomialLR(ChangeableLR, lr_scheduler.PolynomialLR):
    """`PolynomialLR` that ends at 0, with PyTorch's arguments, and changes the present rates."""

    _starts_with_current_lr = True
    _extends_before_start = True

    def __init__(
        self,
        optimizer: Optimizer,
        total_iters: int = 5,
        power: float = 1.0,
        last_epoch: int = -1,
    ) -> None:
        super().__init__(optimizer, power=power, last_step=last_epoch, total_iters=total_iters)

    @property
    def total_iters(self) -> int:
        """Steps until the rates are 0."""
        return self.max_decay_steps


class CosineAnnealingLR(ChangeableLR, lr_scheduler.CosineAnnealingLR):
    """`CosineAnnealingLR` that changes the present rates."""

    _starts_with_current_lr = True
    _extends_before_start = True

    def curve(self, step: int) -> float:
        """Half a cosine."""
        return 0.5 * (1 + math.cos(math.pi * step / self.T_max))

    def floor(self, group: dict[str, Any]) -> float:
        """The smallest rate."""
        return self.eta_min


class CosineAnnealingWarmRestarts(lr_scheduler.CosineAnnealingWarmRestarts):
    """`CosineAnnealingWarmRestarts` with PyTorch's arguments, at any part of an epoch."""

    _warns_of_epochs = False

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        super().__init__(optimizer, T_0, T_mult, eta_min, last_step=last_epoch)

    def _attach(self, optimizer: Optimizer, last_step: int, verbose: bool) -> None:
        super()._attach(optimizer, last_step, verbose)
        # Epochs since the last restart, and from there to the next: a schedule that begins late
        # counts them from the first restart on.
        self.T_cur: float = last_step
        self.T_i = self.T_0

    def step(self, epoch: float | None = None) -> None:
        """Go on by one epoch, or to `epoch`, which may be a part of one."""
        self._step_count += 1
        if epoch is None and self.last_step < 0:
            epoch = 0
        if epoch is None:
            self.T_cur, self.T_i = self._next_position(self.T_cur, self.T_i)
            self.last_step += 1
        elif epoch < 0:
            raise ValueError(f"`epoch` must not be negative, got {epoch}")
        else:
            _, self.T_cur, self.T_i = self._position(epoch)
            self.last_step = math.floor(epoch)
        self.update_lrs(self._lrs_at_position(self.T_cur, self.T_i))

    def _next_lrs(self, previous: int) -> list[float]:
        return self._lrs_at_position(self.T_cur, self.T_i)

    def _next_position(self, since: float, length: int) -> tuple[float, int]:
        """The epochs since the last restart and to the next one, after one more epoch."""
        since += 1
        return (since % length, length * self.T_mult) if since >= length else (since, length)

    def _lrs_at_position(self, since: float, length: int) -> list[float]:
        part = (1 + math.cos(math.pi * since / length)) / 2
        return [self.eta_min + (lr - self.eta_min) * part for lr in self.base_lrs]

    def options_ahead(self, steps: int) -> list[list[dict[str, Any]]] | None:
        """The rates of the next steps, by step and group."""
        position, options = (self.T_cur, self.T_i), []
        for _ in range(steps):
            position = self._next_position(*position)
            options.append([{"lr": lr} for lr in self._lrs_at_position(*position)])
        return options if self._is_formula else None

    def _from_pytorch(self, state: dict[str, Any]) -> dict[str, Any]:
        here = super()._from_pytorch(state)
        if "T_cur" not in here:  # a state of OneFlow's schedule
            _, here["T_cur"], here["T_i"] = self._position(here["last_step"])
        return here


class CyclicLR(lr_scheduler.CyclicLR):
    """`CyclicLR` whose first rates rise from those that the groups began with."""

    def _begin_between(self, lowest: list[float]) -> None:
        self._begin()
        self.base_lrs = lowest


class OneCycleLR(lr_scheduler.OneCycleLR):
    """`OneCycleLR` that reads its rates and momenta in the parameter groups."""

    def _rates_at_points(self) -> Iterator[dict[str, float]]:
        for group in self.optimizer.param_groups[: len(self.max_lrs)]:
            yield {"start": group["initial_lr"], "top": group["max_lr"], "end": group["min_lr"]}

    def momentum_at(self, step: int) -> list[float]:
        """The momentum of the groups after `step` steps."""
        bounds = [
            (group["base_momentum"], group["max_momentum"])
            for group in self.optimizer.param_groups[: len(self.max_lrs)]
        ]
        return [
            self._interpolate(step, {"start": high, "top": low, "end": high})
            for low, high in bounds
        ]


def _undo_first_step(schedule: lr_scheduler.LRScheduler) -> None:
    """Take back the count of the step that the schedules in one of schedules began with."""
    if isinstance(schedule, ChainedScheduler | SequentialLR):
        for inner in schedule.schedulers:
            _undo_first_step(inner)
    else:
        schedule.last_step -= 1


class ChainedScheduler(lr_scheduler.ChainedScheduler):
    """`ChainedScheduler` that steps its schedules one after the other."""

    def _begin(self) -> None:
        self.last_step, self._step_count = 0, 1
        self._note_lrs()

    def step(self) -> None:
        """Step every schedule."""
        for scheduler in self.schedulers:
            scheduler.step()
        self._step_count += 1
        self.last_step = self.schedulers[0].last_step
        self._note_lrs()

    def _note_lrs(self) -> None:
        self._last_lr = [copied_option(group["lr"]) for group in self.optimizer.param_groups]


class SequentialLR(lr_scheduler.SequentialLR):
    """`SequentialLR` whose schedules count from their milestones, and are stepped themselves."""

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: Sequence[lr_scheduler.LRScheduler],
        milestones: Sequence[int],
        last_epoch: int = -1,
    ) -> None:
        super().__init__(optimizer, schedulers, milestones, True, last_epoch)

    def _begin(self) -> None:
        """Begin with the schedule of step 0 and the first rates, also with `last_epoch`."""
        self.last_step += 1
        self._step_count = 1
        for group in self.optimizer.param_groups:
            set_rate(group, group["initial_lr"])
        for scheduler in self.schedulers:
            _undo_first_step(scheduler)
        first = self.schedulers[bisect.bisect_right(self.milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def step(self) -> None:
        """Step the schedule whose turn it is."""
        self._step_count += 1
        self.last_step += 1
        index = bisect.bisect_right(self.milestones, self.last_step)
        if index and self.milestones[index - 1] == self.last_step:
            self.schedulers[index]._go_to(0)
        else:
            self.schedulers[index].step()
        self._last_lr = self.schedulers[index].get_last_lr()


__all__ = [
    "EPOCH_DEPRECATION_WARNING",
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "SequentialLR",
    "StepLR",
]
