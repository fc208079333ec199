"""Schedules that rise and fall, and move the momentum the other way."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from oneflow.optim.groups import set_rate
from oneflow.optim.lr_scheduler.scheduler import LRScheduler, check_count, functions_of_groups
from oneflow.optim.optimizer import Optimizer


def _along_cosine(start: float, end: float, done: float) -> float:
    return end + (start - end) / 2 * (1 + math.cos(math.pi * done))


def _along_line(start: float, end: float, done: float) -> float:
    return start + (end - start) * done


class _MomentumLR(LRScheduler):
    """A schedule that may set the momentum as well: `momentum`, or the first of `betas`."""

    cycle_momentum: bool
    base_momentums: list[float]
    max_momentums: list[float]

    def _momentum_bounds(self) -> Iterator[tuple[float, float]]:
        """The lower and upper bound of each group."""
        return zip(self.base_momentums, self.max_momentums, strict=True)

    def _momentum_name(self, optimizer: Optimizer) -> str:
        for name in ("momentum", "betas"):
            if name in optimizer.defaults:
                return name
        raise ValueError(
            "`cycle_momentum=True` needs an optimizer with `momentum` or `betas`; "
            f"{type(optimizer).__name__} has neither"
        )

    def _state_in_pytorch(self) -> dict[str, Any]:
        return {**super()._state_in_pytorch(), "use_beta1": "betas" in self.optimizer.defaults}

    def _other_options(self, step: int) -> list[dict[str, Any]]:
        if not self.cycle_momentum:
            return []
        groups = self.optimizer.param_groups
        return [
            {"betas": (momentum, *group["betas"][1:])}
            if "betas" in group
            else {"momentum": momentum}
            for group, momentum in zip(groups, self.momentum_at(step), strict=False)
        ]

    def momentum_at(self, step: int) -> list[float]:
        """The momentum of the groups after `step` steps."""
        raise NotImplementedError


class CyclicLR(_MomentumLR):
    """Let the learning rate go up and down between `base_lr` and `max_lr`.

    Args:
        optimizer: whose learning rates to set.
        base_lr: lower bound, one or a list with one per parameter group.
        max_lr: upper bound of the first cycle, likewise.
        step_size_up: steps of the way up.
        step_size_down: steps of the way down, default as many.
        mode: ``"triangular"``, ``"triangular2"`` (half as high every cycle) or ``"exp_range"``
            (`gamma` per step).
        gamma: factor per step for ``"exp_range"``.
        scale_fn: height of a cycle as a function, instead of `mode`.
        scale_mode: what `scale_fn` takes: the number of the ``"cycle"`` from 1, or of the step
            (``"iterations"``).
        cycle_momentum: move the momentum down and up at the same time.
        base_momentum: lower bound of the momentum, one or a list with one per parameter group.
        max_momentum: upper bound of the momentum, likewise.
        last_step: number of the last step done.
        verbose: print every change.

    Example:
        >>> import oneflow as flow
        >>> optimizer = flow.optim.SGD([flow.ones(1, requires_grad=True)], lr=1.0, momentum=0.9)
        >>> scheduler = flow.optim.lr_scheduler.CyclicLR(optimizer, 0.0, 1.0, step_size_up=2)
        >>> [scheduler.lrs_at([0.0], step)[0] for step in range(5)]
        [0.0, 0.5, 1.0, 0.5, 0.0]
    """

    _not_saved = ("optimizer", "scale_fn")

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | Sequence[float],
        max_lr: float | Sequence[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | Sequence[float] = 0.8,
        max_momentum: float | Sequence[float] = 0.9,
        last_step: int = -1,
        verbose: bool = False,
    ) -> None:
        if scale_fn is None and mode not in ("triangular", "triangular2", "exp_range"):
            raise ValueError(
                f"`mode` must be 'triangular', 'triangular2' or 'exp_range', got {mode!r}"
            )
        check_count("step_size_up", step_size_up, low=1)
        lowest = functions_of_groups(base_lr, optimizer, "base_lr")
        if last_step == -1:
            for group, lr in zip(optimizer.param_groups, lowest, strict=True):
                set_rate(group, lr)
        self.max_lrs = functions_of_groups(max_lr, optimizer, "max_lr")
        self.step_size_up = step_size_up
        self.step_size_down = step_size_up if step_size_down is None else step_size_down
        self.mode = mode
        self.gamma = gamma
        self.scale_fn = scale_fn
        built_in_mode = "iterations" if mode == "exp_range" else "cycle"
        self.scale_mode = scale_mode if scale_fn is not None else built_in_mode
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._momentum_name(optimizer)
        self.base_momentums = functions_of_groups(base_momentum, optimizer, "base_momentum")
        self.max_momentums = functions_of_groups(max_momentum, optimizer, "max_momentum")
        # `super().__init__` is not called: the rates to start from are the lower bounds.
        self._attach(optimizer, last_step, verbose)
        self._begin_between(lowest)

    def _begin_between(self, lowest: list[float]) -> None:
        """Set the first rates, which lie between `lowest` and `max_lrs`, as all later ones do."""
        self.base_lrs = lowest
        self._begin()

    def _in_pytorch(self, state: dict[str, Any]) -> dict[str, Any]:
        length = float(self.step_size_up + self.step_size_down)
        sizes = {"total_size": length, "step_ratio": self.step_size_up / length}
        function = getattr(self.scale_fn, "__dict__", None)
        return {**super()._in_pytorch(state), **sizes, "_scale_fn_custom": function or None}

    def _from_pytorch(self, state: dict[str, Any]) -> dict[str, Any]:
        state = super()._from_pytorch(state)
        # PyTorch has a cycle's length and the part that rises.
        if "total_size" in state:
            length, part = state.pop("total_size"), state.pop("step_ratio")
            state["step_size_up"] = length * part
            state["step_size_down"] = length - length * part
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a `state_dict`, which may be one of PyTorch's."""
        state = dict(state_dict)
        attributes = state.pop("_scale_fn_custom", None)
        super().load_state_dict(state)
        if attributes is not None and self.scale_fn is not None:
            vars(self.scale_fn).update(attributes)

    def _state_in_pytorch(self) -> dict[str, Any]:
        state = super()._state_in_pytorch()
        # There `scale_fn` is a method, which asks the one or the other.
        del state["scale_fn"]
        own: Any = {
            "triangular": self._triangular_scale_fn,
            "triangular2": self._triangular2_scale_fn,
            "exp_range": functools.partial(self._exp_range_scale_fn, self.gamma),
        }
        functions = {"_scale_fn_custom": self.scale_fn, "_scale_fn_ref": own.get(self.mode)}
        return {**state, **functions}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take the attributes of a copy, or of a whole schedule in a file of PyTorch."""
        if "_scale_fn_custom" in state:
            functions = ("_scale_fn_custom", "_scale_fn_ref")
            others = {name: value for name, value in state.items() if name not in functions}
            state = {**others, "scale_fn": state["_scale_fn_custom"]}
        super().__setstate__(state)

    # PyTorch's names: its files hold the function of a schedule.
    @staticmethod
    def _triangular_scale_fn(x: float) -> float:
        return 1.0

    @staticmethod
    def _triangular2_scale_fn(x: float) -> float:
        return 0.5 ** (x - 1)

    @staticmethod
    def _exp_range_scale_fn(gamma: float, x: float) -> float:
        return gamma**x

    def options_ahead(self, steps: int) -> list[list[dict[str, Any]]] | None:
        return super().options_ahead(steps) if self.scale_fn is None else None

    def _height(self, step: int) -> float:
        """The height of the learning rate in its cycle, 1 at the top of an unscaled one."""
        length = self.step_size_up + self.step_size_down
        cycle, since = 1 + step // length, step % length
        if since <= self.step_size_up:
            height = since / self.step_size_up
        else:
            height = (length - since) / self.step_size_down
        count = cycle if self.scale_mode == "cycle" else step
        if self.scale_fn is not None:
            return height * self.scale_fn(count)
        if self.mode == "exp_range":
            return height * self._exp_range_scale_fn(self.gamma, count)
        is_triangular2 = self.mode == "triangular2"
        function = self._triangular2_scale_fn if is_triangular2 else self._triangular_scale_fn
        return height * function(count)

    def lrs_at(self, base_lrs: list[float], step: int) -> list[float]:
        height = self._height(step)
        return [
            low + (high - low) * height for low, high in zip(base_lrs, self.max_lrs, strict=True)
        ]

    def momentum_at(self, step: int) -> list[float]:
        height = self._height(step)
        return [high - (high - low) * height for low, high in self._momentum_bounds()]


# PyTorch's names of the rate and of the momentum at the points of `OneCycleLR`, in groups.
_PYTORCH_POINTS = {
    "start": ("initial_lr", "max_momentum"),
    "top": ("max_lr", "base_momentum"),
    "end": ("min_lr", "max_momentum"),
}


class OneCycleLR(_MomentumLR):
    """Let the learning rate rise once and then fall far below where it started.

    Args:
        optimizer: whose learning rates to set.
        max_lr: highest learning rate, one or a list with one per parameter group.
        total_steps: steps of the whole schedule; or give `epochs` and `steps_per_epoch`.
        epochs: number of epochs.
        steps_per_epoch: steps in an epoch.
        pct_start: part of the steps that the rise takes.
        anneal_strategy: ``"cos"`` or ``"linear"``.
        cycle_momentum: move the momentum down and up at the same time.
        base_momentum: lower bound of the momentum, one or a list with one per parameter group.
        max_momentum: upper bound of the momentum, likewise.
        div_factor: the learning rate starts at ``max_lr / div_factor``.
        final_div_factor: and ends at its start divided by this.
        three_phase: come back to the start symmetrically before the last fall.
        last_step: number of the last step done.
        verbose: print every change.

    Raises:
        ValueError: it is asked for a step after the last, or the number of steps is not given.

    Example:
        >>> import oneflow as flow
        >>> optimizer = flow.optim.SGD([flow.ones(1, requires_grad=True)], lr=1.0, momentum=0.9)
        >>> scheduler = flow.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=10)
        >>> [round(scheduler.lrs_at([], step)[0], 2) for step in (0, 2, 9)]
        [0.04, 1.0, 0.0]
    """

    _pytorch_names: ClassVar = {
        **LRScheduler._pytorch_names,
        "anneal_strategy": "_anneal_func_type",
    }

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | Sequence[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | Sequence[float] = 0.85,
        max_momentum: float | Sequence[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_step: int = -1,
        verbose: bool = False,
    ) -> None:
        if total_steps is None:
            if epochs is None or steps_per_epoch is None:
                raise ValueError("give `total_steps`, or both `epochs` and `steps_per_epoch`")
            total_steps = epochs * steps_per_epoch
        check_count("total_steps", total_steps, low=1)
        if not 0 <= pct_start <= 1:
            raise ValueError(f"`pct_start` must be in [0, 1], got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"`anneal_strategy` must be 'cos' or 'linear', got {anneal_strategy!r}"
            )
        self.total_steps = total_steps
        self.pct_start = pct_start
        self.three_phase = three_phase
        self.anneal_strategy = anneal_strategy
        self.max_lrs = functions_of_groups(max_lr, optimizer, "max_lr")
        self.div_factor = div_factor
        self.final_div_factor = final_div_factor
        if last_step == -1:
            for group, highest in zip(optimizer.param_groups, self.max_lrs, strict=True):
                start = group["initial_lr"] = highest / div_factor
                # PyTorch's schedule reads them, which may go on from here.
                group.update(max_lr=highest, min_lr=start / final_div_factor)
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._momentum_name(optimizer)
        self.base_momentums = functions_of_groups(base_momentum, optimizer, "base_momentum")
        self.max_momentums = functions_of_groups(max_momentum, optimizer, "max_momentum")
        if cycle_momentum and last_step == -1:
            for index, (low, high) in enumerate(self._momentum_bounds()):
                optimizer.param_groups[index].update(base_momentum=low, max_momentum=high)
        super().__init__(optimizer, last_step, verbose)

    def _in_pytorch(self, state: dict[str, Any]) -> dict[str, Any]:
        phases = []
        for last, start, end in self._intervals():
            names = zip(
                ("start", "end"), (_PYTORCH_POINTS[start], _PYTORCH_POINTS[end]), strict=True
            )
            phase: dict[str, Any] = {"end_step": last}
            for side, (lr, momentum) in names:
                phase.update({f"{side}_lr": lr, f"{side}_momentum": momentum})
            phases.append(phase)
        return {**super()._in_pytorch(state), "_schedule_phases": phases}

    def _from_pytorch(self, state: dict[str, Any]) -> dict[str, Any]:
        state = super()._from_pytorch(state)
        phases = state.pop("_schedule_phases", None)
        if phases and "max_lrs" not in state:
            state.update(self._settings_of(phases, state["total_steps"]))
        return state

    def _settings_of(self, phases: Sequence[Mapping[str, Any]], steps: int) -> dict[str, Any]:
        """The settings that PyTorch keeps as phases, and in the parameter groups."""
        groups = self.optimizer.param_groups
        first = groups[0]
        momentums = [(group.get("base_momentum"), group.get("max_momentum")) for group in groups]
        return {
            "pct_start": (phases[0]["end_step"] + 1) / steps,
            "three_phase": len(phases) == 3,
            "max_lrs": [group["max_lr"] for group in groups],
            "div_factor": first["max_lr"] / first["initial_lr"],
            "final_div_factor": first["initial_lr"] / first["min_lr"],
            "base_momentums": [low for low, _ in momentums],
            "max_momentums": [high for _, high in momentums],
        }

    def _intervals(self) -> list[tuple[float, str, str]]:
        """Last step of each phase and the points it goes between."""
        top = self.pct_start * self.total_steps - 1
        end = self.total_steps - 1
        if self.three_phase:
            back = 2 * self.pct_start * self.total_steps - 2
            return [(top, "start", "top"), (back, "top", "start"), (end, "start", "end")]
        return [(top, "start", "top"), (end, "top", "end")]

    def _interpolate(self, step: int, points: dict[str, float]) -> float:
        """The value at `step` of a curve through `points`."""
        # One past the phases is fine: the last call of `step` in a loop is followed by nothing.
        if step > self.total_steps:
            raise ValueError(
                f"tried to step {step} times; the total number of steps is {self.total_steps}"
            )
        along = _along_cosine if self.anneal_strategy == "cos" else _along_line
        intervals = self._intervals()
        index = next((i for i, end in enumerate(intervals) if step <= end[0]), -1) % len(intervals)
        before = intervals[index - 1][0] if index else 0
        last, start, end = intervals[index]
        done = (step - before) / (last - before) if last > before else 1.0
        return along(points[start], points[end], done)

    def _options_at(self, step: int) -> list[dict[str, Any]]:
        return super()._options_at(min(step, self.total_steps))

    def lrs_at(self, base_lrs: list[float], step: int) -> list[float]:
        return [self._interpolate(step, points) for points in self._rates_at_points()]

    def _rates_at_points(self) -> Iterator[dict[str, float]]:
        """The rates of each group where the phases begin and end."""
        for highest in self.max_lrs:
            start = highest / self.div_factor
            yield {"start": start, "top": highest, "end": start / self.final_div_factor}

    def momentum_at(self, step: int) -> list[float]:
        return [
            self._interpolate(step, {"start": high, "top": low, "end": high})
            for low, high in self._momentum_bounds()
        ]
