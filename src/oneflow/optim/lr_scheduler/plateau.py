"""A schedule that reacts to how training goes."""

from __future__ import annotations

import math
from typing import Any

from oneflow.optim.groups import copied_option, set_rate
from oneflow.optim.lr_scheduler.scheduler import LRScheduler, functions_of_groups
from oneflow.optim.optimizer import Optimizer


class ReduceLROnPlateau(LRScheduler):
    """Lower the learning rate when a number, such as the validation loss, has stopped improving.

    Args:
        optimizer: whose learning rates to set.
        mode: ``"min"``: smaller is better; ``"max"``: larger is better.
        factor: factor of the learning rate.
        patience: steps without improvement to wait for.
        threshold: what counts as an improvement.
        threshold_mode: whether `threshold` is relative to the best number (``"rel"``) or absolute
            (``"abs"``).
        cooldown: steps to wait after a change.
        min_lr: smallest learning rate, one or a list with one per parameter group.
        eps: smaller changes than this are not made.
        verbose: print every change.

    Raises:
        ValueError: `factor` is not below 1, or a mode is unknown.

    Example:
        >>> import oneflow as flow
        >>> optimizer = flow.optim.SGD([flow.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = flow.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)
        >>> for loss in (1.0, 1.0, 1.0):
        ...     scheduler.step(loss)
        >>> optimizer.param_groups[0]["lr"]
        0.1
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float | list[float] = 0,
        eps: float = 1e-8,
        verbose: bool = False,
    ) -> None:
        if factor >= 1.0:
            raise ValueError(f"`factor` must be smaller than 1, got {factor}")
        if mode not in ("min", "max"):
            raise ValueError(f"`mode` must be 'min' or 'max', got {mode!r}")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"`threshold_mode` must be 'rel' or 'abs', got {threshold_mode!r}")
        # `super().__init__` is not called: the first step needs a number.
        self._attach(optimizer, last_step=-1, verbose=verbose)
        self.last_step = 0
        self.mode = mode
        self.factor = factor
        self.patience = patience
        self.threshold = threshold
        self.threshold_mode = threshold_mode
        self.cooldown = cooldown
        self.min_lrs = functions_of_groups(min_lr, optimizer, "min_lr")
        self.default_min_lr = None if isinstance(min_lr, list | tuple) else min_lr
        self.eps = eps
        self.best = math.inf if mode == "min" else -math.inf
        self.num_bad_steps = 0
        self.cooldown_counter = 0

    def _in_pytorch(self, state: dict[str, Any]) -> dict[str, Any]:
        mode_worse = math.inf if self.mode == "min" else -math.inf
        return {**super()._in_pytorch(state), "mode_worse": mode_worse}

    def _from_pytorch(self, state: dict[str, Any]) -> dict[str, Any]:
        state = super()._from_pytorch(state)
        return {name: value for name, value in state.items() if name != "mode_worse"}

    @property
    def in_cooldown(self) -> bool:
        """True while the scheduler waits after a change."""
        return self.cooldown_counter > 0

    @property
    def num_bad_epochs(self) -> int:
        """PyTorch's name of `num_bad_steps`."""
        return self.num_bad_steps

    def is_better(self, a: float, best: float) -> bool:
        """Return True if `a` improves on `best`."""
        sign = 1 if self.mode == "max" else -1
        if self.threshold_mode == "abs":
            return sign * (a - best) > self.threshold
        return sign * (a - best * (1 + sign * self.threshold)) > 0

    def step(self, metrics: Any, epoch: int | None = None) -> None:
        """Take notice of one more number and react.

        Args:
            metrics: the number, or a tensor of one element.
            epoch: number of this step, default the next one.
        """
        current = float(metrics)
        self.last_step = self.last_step + 1 if epoch is None else epoch
        if self.is_better(current, self.best):
            self.best = current
            self.num_bad_steps = 0
        else:
            self.num_bad_steps += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_steps = 0
        if self.num_bad_steps > self.patience:
            self._reduce()
            self.cooldown_counter = self.cooldown
            self.num_bad_steps = 0
        self._last_lr = [copied_option(group["lr"]) for group in self.optimizer.param_groups]

    def _reduce(self) -> None:
        count = len(self.optimizer.param_groups)
        if count != len(self.min_lrs):
            if self.default_min_lr is None:
                raise ValueError(
                    f"`min_lr` has {len(self.min_lrs)} rates, and the optimizer has {count} "
                    "parameter groups by now; write one for each to `min_lrs`"
                )
            self.min_lrs = [self.default_min_lr] * count
        # One after the other: a tensor that is the rate of several groups is reduced for each.
        pairs = zip(self.optimizer.param_groups, self.min_lrs, strict=True)
        for index, (group, smallest) in enumerate(pairs):
            lower = max(group["lr"] * self.factor, smallest)
            if group["lr"] - lower > self.eps:
                set_rate(group, lower)
            if self.verbose:
                self.print_lr(index, group["lr"])
