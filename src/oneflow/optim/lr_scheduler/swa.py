"""The learning rate while weights are averaged."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from oneflow.optim.lr_scheduler.scheduler import LRScheduler
from oneflow.optim.optimizer import Optimizer


class SWALR(LRScheduler):
    """Go from the present learning rate of a parameter group to another one, and stay there.

    Args:
        optimizer: whose learning rates to set.
        swa_lr: the rate to go to, one for all groups or one for each.
        anneal_epochs: number of steps on the way.
        anneal_strategy: ``"cos"`` or ``"linear"``.
        last_step: number of the last step done.

    Raises:
        ValueError: an unknown strategy, a negative number of steps, or not one rate per group.

    Example:
        >>> import oneflow as flow
        >>> optimizer = flow.optim.SGD([flow.ones(1, requires_grad=True)], lr=1.0)
        >>> schedule = flow.optim.swa_utils.SWALR(optimizer, 0.5, 2, "linear")
        >>> rates = []
        >>> for _ in range(3):
        ...     rates.append(optimizer.param_groups[0]["lr"])
        ...     optimizer.step()
        ...     schedule.step()
        >>> rates
        [1.0, 0.75, 0.5]
    """

    _pytorch_names: ClassVar = {**LRScheduler._pytorch_names, "anneal_strategy": "_anneal_strategy"}

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | Sequence[float],
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_step: int = -1,
    ) -> None:
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must by one of 'cos' or 'linear', instead got {anneal_strategy!r}"
            )
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        count = len(optimizer.param_groups)
        values = list(swa_lr) if isinstance(swa_lr, Sequence) else [swa_lr] * count
        if len(values) != count:
            raise ValueError(f"swa_lr must have one rate for each of {count} groups, got {values}")
        for group, rate in zip(optimizer.param_groups, values, strict=True):
            group["swa_lr"] = rate
        self.anneal_epochs, self.anneal_strategy = anneal_epochs, anneal_strategy
        super().__init__(optimizer, last_step)

    # PyTorch's names: its files hold the function of a schedule.
    @staticmethod
    def _cosine_anneal(t: float) -> float:
        return (1 - math.cos(math.pi * t)) / 2

    @staticmethod
    def _linear_anneal(t: float) -> float:
        return t

    def _state_in_pytorch(self) -> dict[str, Any]:
        return {**super()._state_in_pytorch(), "anneal_func": self._curve()}

    def _from_pytorch(self, state: dict[str, Any]) -> dict[str, Any]:
        state = super()._from_pytorch(state)
        return {name: value for name, value in state.items() if name != "anneal_func"}

    def _curve(self) -> Callable[[float], float]:
        return self._cosine_anneal if self.anneal_strategy == "cos" else self._linear_anneal

    def _share(self, step: int) -> float:
        """The part of the way that is behind after `step` steps."""
        done = min(step / self.anneal_epochs, 1.0) if self.anneal_epochs else 1.0
        return self._curve()(done)

    def lrs_at(self, base_lrs: list[float], step: int) -> list[float]:
        """Return the rates of all groups after `step` steps from `base_lrs`."""
        return self._between(base_lrs, 0, step)

    def _next_lrs(self, previous: int) -> list[float]:
        return self._between(self._present_lrs(), max(previous, 0), self.last_step)

    def _between(self, lrs: list[float], first: int, last: int) -> list[float]:
        """The rates after `last` steps where those after `first` steps are `lrs`."""
        left = 1.0 - self._share(first)
        part = (1.0 - self._share(last)) / left if left else 0.0
        groups = self.optimizer.param_groups
        return [
            group["swa_lr"] + (lr - group["swa_lr"]) * part
            for lr, group in zip(lrs, groups, strict=False)
        ]
