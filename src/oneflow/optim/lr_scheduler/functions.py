"""Schedules given as functions."""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import Any

from oneflow.optim.lr_scheduler.scheduler import LRScheduler, functions_of_groups
from oneflow.optim.optimizer import Optimizer

Function = Callable[[int], float]


class _FunctionLR(LRScheduler):
    """A schedule with one function of the step per parameter group.

    Functions are not saved; the attributes of callable objects are.
    """

    _not_saved = ("optimizer", "lr_lambdas")
    _is_formula = False

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Function | Sequence[Function],
        last_step: int = -1,
        verbose: bool = False,
    ) -> None:
        self.lr_lambdas = functions_of_groups(lr_lambda, optimizer)
        super().__init__(optimizer, last_step, verbose)

    def state_dict(self) -> dict[str, Any]:
        saved = [
            None if isinstance(function, types.FunctionType) else dict(function.__dict__)
            for function in self.lr_lambdas
        ]
        return {**super().state_dict(), "lr_lambdas": saved}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict({n: v for n, v in state_dict.items() if n != "lr_lambdas"})
        for function, attributes in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=True):
            if attributes is not None:
                function.__dict__.update(attributes)


class LambdaLR(_FunctionLR):
    """Multiply the base learning rate by a function of the step.

    Args:
        optimizer: whose learning rates to set.
        lr_lambda: the function, or a list with one per parameter group.
        last_step: number of the last step done.
        verbose: print every change.

    Example:
        >>> import oneflow as flow
        >>> optimizer = flow.optim.SGD([flow.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = flow.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 / (1 + step))
        >>> scheduler.step()
        >>> scheduler.get_last_lr()
        [0.5]
    """

    def lrs_at(self, base_lrs: list[float], step: int) -> list[float]:
        return [lr * function(step) for lr, function in zip(base_lrs, self.lr_lambdas, strict=True)]


class MultiplicativeLR(_FunctionLR):
    """Multiply the current learning rate by a function of the step.

    Args:
        optimizer: whose learning rates to set.
        lr_lambda: the function, or a list with one per parameter group.
        last_step: number of the last step done.
        verbose: print every change.

    Example:
        >>> import oneflow as flow
        >>> optimizer = flow.optim.SGD([flow.ones(1, requires_grad=True)], lr=1.0)
        >>> scheduler = flow.optim.lr_scheduler.MultiplicativeLR(optimizer, lambda step: 0.5)
        >>> scheduler.step(), scheduler.step()
        (None, None)
        >>> scheduler.get_last_lr()
        [0.25]
    """

    def _next_lrs(self, previous: int) -> list[float]:
        return self._scaled(self._present_lrs(), self.last_step)

    def lrs_at(self, base_lrs: list[float], step: int) -> list[float]:
        for number in range(1, step + 1):
            base_lrs = self._scaled(base_lrs, number)
        return base_lrs

    def _scaled(self, lrs: list[float], step: int) -> list[float]:
        """The learning rates of a step, given the rates of the previous step."""
        if step == 0:
            return lrs
        return [lr * function(step) for lr, function in zip(lrs, self.lr_lambdas, strict=True)]
