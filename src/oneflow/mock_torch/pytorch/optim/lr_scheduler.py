"""Schedules of learning rates that are PyTorch's where OneFlow's differ.

OneFlow computes a rate from the one that a schedule began with. PyTorch changes the present rate,
so that one set by hand, or loaded by the optimizer, is where the schedule goes on from.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from typing import Any

from oneflow.optim import lr_scheduler
from oneflow.optim.groups import copied_option
from oneflow.optim.lr_scheduler.scheduler import EPOCH_DEPRECATION_WARNING
from oneflow.optim.optimizer import Optimizer


class ChangeableLR(lr_scheduler.LRScheduler):
    """Abstract: a schedule that changes the present rates, of groups added later too.

    The distance of a rate from its floor is that of the first rate times `curve`.
    """

    # Made with `last_epoch`, it takes the optimizer's rates for those of the step after that.
    _starts_with_current_lr = False

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
        is_restart = not self._step_count and self.last_step >= 0
        self._step_count += 1
        self.last_step += 1
        groups = self.optimizer.param_groups
        step = self._curve_step
        before = self.curve(step - 1) if step else 1.0
        after = self.curve(step)
        if is_restart and self._starts_with_current_lr:
            before = after
        self.update_lrs([self._changed(group, before, after) for group in groups])

    def options_ahead(self, steps: int) -> list[list[dict[str, Any]]] | None:
        if not self._is_formula:
            return None
        groups = [dict(group) for group in self.optimizer.param_groups]
        options, before = [], self.curve(self._curve_step)
        for step in range(self._curve_step + 1, self._curve_step + 1 + steps):
            after = self.curve(step)
            for group in groups:
                group["lr"] = self._changed(group, before, after)
            options.append([{"lr": group["lr"]} for group in groups])
            before = after
        return options

    def _changed(self, group: dict[str, Any], before: float, after: float) -> float:
        """The next rate of a group."""
        lr, floor = group["lr"], self.floor(group)
        if before:
            return floor + (lr - floor) * (after / before)
        return lr + (group.get("initial_lr", lr) - floor) * after


class StepLR(ChangeableLR, lr_scheduler.StepLR):
    """`StepLR` that changes the present rates."""


class MultiStepLR(ChangeableLR, lr_scheduler.MultiStepLR):
    """`MultiStepLR` that changes the present rates."""


class ExponentialLR(ChangeableLR, lr_scheduler.ExponentialLR):
    """`ExponentialLR` that changes the present rates."""

    _starts_with_current_lr = True


class MultiplicativeLR(lr_scheduler.MultiplicativeLR):
    """`MultiplicativeLR` that begins with the present rates, also with `last_epoch`."""

    def _next_lrs(self, previous: int) -> list[float]:
        is_first = self._step_count == 1
        return self._present_lrs() if is_first else super()._next_lrs(previous)


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

    @property
    def T_cur(self) -> float:
        """Epochs since the last restart."""
        return self._position(self.last_step)[1]

    @property
    def T_i(self) -> int:
        """Epochs from the last restart to the next."""
        return self._position(self.last_step)[2]

    @property
    def last_epoch(self) -> int:
        """The last whole epoch."""
        return math.floor(self.last_step)

    @last_epoch.setter
    def last_epoch(self, step: int) -> None:
        self.last_step = step

    def state_dict(self) -> dict[str, Any]:
        """PyTorch's names."""
        position = {"last_epoch": self.last_epoch, "T_cur": self.T_cur, "T_i": self.T_i}
        return {**super().state_dict(), **position}

    def _state_in_pytorch(self) -> dict[str, Any]:
        position = {"last_epoch": self.last_epoch, "T_cur": self.T_cur, "T_i": self.T_i}
        return {**super()._state_in_pytorch(), **position}

    def _from_pytorch(self, state: dict[str, Any]) -> dict[str, Any]:
        position = ("last_epoch", "T_cur", "T_i")
        here = super()._from_pytorch({n: v for n, v in state.items() if n not in position})
        if "T_cur" in state:
            here["last_step"] = state["last_epoch"] + state["T_cur"] % 1
        return here


class ChainedScheduler(lr_scheduler.ChainedScheduler):
    """`ChainedScheduler` that steps its schedules one after the other."""

    def step(self) -> None:
        """Step every schedule."""
        if self._step_count:
            for scheduler in self.schedulers:
                scheduler.step()
        self._step_count += 1
        self.last_step += 1
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

    def step(self) -> None:
        """Step the schedule whose turn it is."""
        is_first = not self._step_count
        self._step_count += 1
        self.last_step += 1
        index = bisect.bisect_right(self.milestones, self.last_step)
        if is_first or (index and self.milestones[index - 1] == self.last_step):
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
    "ExponentialLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "PolynomialLR",
    "SequentialLR",
    "StepLR",
]
