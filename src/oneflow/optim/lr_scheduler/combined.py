"""Schedules made of schedules."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from typing import Any, ClassVar

from oneflow.base.program_name import PYTORCH, program_name
from oneflow.optim.lr_scheduler.decay import ConstantLR, LinearLR
from oneflow.optim.lr_scheduler.scheduler import LRScheduler
from oneflow.optim.optimizer import Optimizer


class _CombinedLR(LRScheduler):
    """A schedule with others inside; they belong to the same optimizer."""

    _not_saved = ("optimizer", "schedulers")
    schedulers: list[LRScheduler]

    def _take(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer) -> None:
        for index, scheduler in enumerate(schedulers):
            if not isinstance(scheduler, LRScheduler):
                raise ValueError(
                    f"{type(self).__name__} expects schedulers, but number {index} is a "
                    f"{type(scheduler).__name__}"
                )
            if scheduler.optimizer is not optimizer:
                raise ValueError(
                    f"{type(self).__name__} expects all schedulers to belong to the same "
                    "optimizer, "
                    f"but number {index} belongs to another one"
                )
        self.schedulers = list(schedulers)

    def options_ahead(self, steps: int) -> list[list[dict[str, Any]]] | None:
        is_known = all(scheduler.options_ahead(0) is not None for scheduler in self.schedulers)
        return super().options_ahead(steps) if is_known else None

    def _first_lrs(self, scheduler: LRScheduler, lrs: list[float]) -> list[float]:
        """The rates that a schedule in this one starts from: its own, unless `lrs` are others.

        A schedule may have set the first rates of the groups after another one was made.
        """
        return scheduler.base_lrs if lrs is self.base_lrs else lrs

    def _next_lrs(self, previous: int) -> list[float]:
        self._note_step(self.last_step)
        return super()._next_lrs(previous)

    def _state_in_pytorch(self) -> dict[str, Any]:
        state = super()._state_in_pytorch()
        return {**state, "_schedulers": state.pop("schedulers")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the attributes of a copy, or of a whole schedule in a file of PyTorch."""
        if "_schedulers" in state:
            state = dict(state)
            state["schedulers"] = schedulers = state.pop("_schedulers")
            state.setdefault("last_epoch", schedulers[0].last_step)
            state.setdefault("_step_count", schedulers[0]._step_count)
            state.setdefault("base_lrs", list(schedulers[0].base_lrs))
        super().__setstate__(state)

    def state_dict(self) -> dict[str, Any]:
        state = super().state_dict()
        name = "_schedulers" if program_name() == PYTORCH else "schedulers"
        return {**state, name: [scheduler.state_dict() for scheduler in self.schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        state = dict(state_dict)
        if "_schedulers" in state:  # PyTorch's; its chains do not count steps
            state["schedulers"] = state.pop("_schedulers")
            state.setdefault("last_epoch", state["schedulers"][0]["last_epoch"])
        inner = state.pop("schedulers")
        super().load_state_dict(state)
        for scheduler, inner_state in zip(self.schedulers, inner, strict=True):
            scheduler.load_state_dict(inner_state)


class ChainedScheduler(_CombinedLR):
    """Apply several schedules at once: each starts from what the one before it gives.

    Args:
        schedulers: schedulers of one optimizer.
        optimizer: that optimizer; default: that of the first scheduler.

    Example:
        >>> import oneflow as flow
        >>> optimizer = flow.optim.SGD([flow.ones(1, requires_grad=True)], lr=1.0)
        >>> steps = flow.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
        >>> constant = flow.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=9)
        >>> scheduler = flow.optim.lr_scheduler.ChainedScheduler([steps, constant])
        >>> scheduler.step()
        >>> scheduler.get_last_lr()
        [0.25]
    """

    def __init__(
        self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None
    ) -> None:
        if not isinstance(schedulers, list | tuple) or not schedulers:
            raise ValueError("ChainedScheduler expects a list of at least one scheduler")
        common: Any = optimizer or getattr(schedulers[0], "optimizer", None)
        self._take(schedulers, common)
        super().__init__(common)

    def lrs_at(self, base_lrs: list[float], step: int) -> list[float]:
        for scheduler in self.schedulers:
            base_lrs = scheduler.lrs_at(self._first_lrs(scheduler, base_lrs), step)
        return base_lrs

    def _other_options(self, step: int) -> list[dict[str, Any]]:
        merged: list[dict[str, Any]] = [{} for _ in self.base_lrs]
        for scheduler in self.schedulers:
            for options, others in zip(merged, scheduler._other_options(step), strict=False):
                options.update(others)
        return merged

    def _note_step(self, step: int) -> None:
        super()._note_step(step)
        for scheduler in self.schedulers:
            scheduler._note_step(step)


class SequentialLR(_CombinedLR):
    """Apply schedules one after the other.

    Args:
        optimizer: whose learning rates to set.
        schedulers: schedulers of `optimizer`, in order.
        milestones: numbers of steps at which the next one takes over; one fewer than schedulers.
        interval_rescaling: whether a schedule counts its steps from its own milestone on, as in
            PyTorch, instead of from the very beginning; one bool, or one per milestone.
        last_step: number of the last step done.
        verbose: print every change.

    Example:
        >>> import oneflow as flow
        >>> optimizer = flow.optim.SGD([flow.ones(1, requires_grad=True)], lr=1.0)
        >>> first = flow.optim.lr_scheduler.ConstantLR(optimizer, factor=0.1, total_iters=2)
        >>> second = flow.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.9)
        >>> scheduler = flow.optim.lr_scheduler.SequentialLR(
        ...     optimizer, [first, second], milestones=[2], interval_rescaling=True
        ... )
        >>> for _ in range(3):
        ...     scheduler.step()
        >>> scheduler.get_last_lr()
        [0.9]
    """

    _pytorch_names: ClassVar = {**LRScheduler._pytorch_names, "milestones": "_milestones"}

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: Sequence[LRScheduler],
        milestones: Sequence[int],
        interval_rescaling: Sequence[bool] | bool = False,
        last_step: int = -1,
        verbose: bool = False,
    ) -> None:
        if not schedulers:
            raise ValueError("SequentialLR expects at least one scheduler")
        self._take(schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "SequentialLR expects one milestone fewer than schedulers, "
                f"got {len(schedulers)} schedulers and {len(milestones)} milestones"
            )
        if isinstance(interval_rescaling, bool):
            interval_rescaling = [interval_rescaling] * len(milestones)
        if len(interval_rescaling) != len(milestones):
            raise ValueError(
                "`interval_rescaling` must be a bool or one bool per milestone, "
                f"got {len(interval_rescaling)} for {len(milestones)} milestones"
            )
        self.milestones = list(milestones)
        self.interval_rescaling = list(interval_rescaling)
        super().__init__(optimizer, last_step, verbose)

    def lrs_at(self, base_lrs: list[float], step: int) -> list[float]:
        scheduler, inner_step = self._scheduler_at(step)
        return scheduler.lrs_at(self._first_lrs(scheduler, base_lrs), inner_step)

    def _other_options(self, step: int) -> list[dict[str, Any]]:
        scheduler, inner_step = self._scheduler_at(step)
        return scheduler._other_options(inner_step)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the attributes of a copy, or of a whole schedule in a file of PyTorch."""
        super().__setstate__(state)
        # PyTorch's schedules always count from their own milestones on.
        self.__dict__.setdefault("interval_rescaling", [True] * len(self.milestones))

    def _scheduler_at(self, step: int) -> tuple[LRScheduler, int]:
        """The schedule of a step, and the number of the step in it."""
        index = bisect.bisect_right(self.milestones, step)
        if index and self.interval_rescaling[index - 1]:
            step -= self.milestones[index - 1]
        return self.schedulers[index], step

    def _note_step(self, step: int) -> None:
        super()._note_step(step)
        scheduler, inner_step = self._scheduler_at(step)
        scheduler._note_step(inner_step)


class _LinearLR(LinearLR):
    """`LinearLR` with an end factor for each parameter group."""

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float,
        end_factors: list[float],
        total_iters: int,
        last_step: int,
    ) -> None:
        self.end_factors = end_factors
        super().__init__(optimizer, start_factor, total_iters=total_iters, last_step=last_step)

    def lrs_at(self, base_lrs: list[float], step: int) -> list[float]:
        done = step / self.total_iters
        return [
            lr * (end if done >= 1 else self.start_factor + (end - self.start_factor) * done)
            for lr, end in zip(base_lrs, self.end_factors, strict=True)
        ]


class WarmUpLR(SequentialLR):
    """Start with a small learning rate.

    Args:
        scheduler_or_optimizer: the schedule to go on with, or the optimizer whose learning rate to
            reach.
        warmup_factor: factor of the first step.
        warmup_iters: how many steps it takes.
        warmup_method: ``"linear"`` rises along a line, ``"constant"`` jumps at the end.
        warmup_prefix: the schedule starts from its beginning after the warm-up, instead of having
            run meanwhile.
        last_step: number of the last step done.
        verbose: print every change.

    Raises:
        ValueError: `warmup_method` is neither, or there is nothing to do.

    Parameter groups may have rates of their own; each rises to what the schedule gives it.

    Example:
        >>> import oneflow as flow
        >>> optimizer = flow.optim.SGD([flow.ones(1, requires_grad=True)], lr=1.0)
        >>> cosine = flow.optim.lr_scheduler.CosineDecayLR(optimizer, decay_steps=4)
        >>> scheduler = flow.optim.lr_scheduler.WarmUpLR(cosine, warmup_factor=0.5, warmup_iters=2)
        >>> [round(scheduler.lrs_at([1.0], step)[0], 3) for step in range(5)]
        [0.5, 0.5, 0.5, 0.146, 0.0]
    """

    def __init__(
        self,
        scheduler_or_optimizer: LRScheduler | Optimizer,
        warmup_factor: float = 1.0 / 3,
        warmup_iters: int = 5,
        warmup_method: str = "linear",
        warmup_prefix: bool = False,
        last_step: int = -1,
        verbose: bool = False,
    ) -> None:
        if warmup_method not in ("linear", "constant"):
            raise ValueError(
                f"`warmup_method` must be 'linear' or 'constant', got {warmup_method!r}"
            )
        if isinstance(scheduler_or_optimizer, LRScheduler):
            after, optimizer = scheduler_or_optimizer, scheduler_or_optimizer.optimizer
        else:
            after, optimizer = None, scheduler_or_optimizer
        if after is None and warmup_iters <= 0:
            raise ValueError(
                "`warmup_iters` must be at least 1 when there is no scheduler after it"
            )
        self._attach(optimizer, last_step, verbose)
        schedulers: list[LRScheduler] = []
        if warmup_iters > 0 and warmup_method == "constant":
            schedulers.append(ConstantLR(optimizer, warmup_factor, warmup_iters, last_step))
        elif warmup_iters > 0:
            ends = [1.0] * len(self.base_lrs)
            if after is not None and not warmup_prefix:
                ends = self._end_factors(after, warmup_iters)
            schedulers.append(_LinearLR(optimizer, warmup_factor, ends, warmup_iters, last_step))
        if after is not None:
            schedulers.append(after)
        self.warmup_factor = warmup_factor
        self.warmup_iters = warmup_iters
        self.warmup_method = warmup_method
        self.warmup_prefix = warmup_prefix
        milestones = [warmup_iters] * (len(schedulers) - 1)
        super().__init__(optimizer, schedulers, milestones, warmup_prefix, last_step, verbose)

    def _end_factors(self, after: LRScheduler, warmup_iters: int) -> list[float]:
        """For each group, the factor that `after` has reached when it takes over."""
        lrs = after.lrs_at(self.base_lrs, warmup_iters)
        return [lr / base if base else 1.0 for lr, base in zip(lrs, self.base_lrs, strict=True)]


WarmupLR = WarmUpLR
