"""Adagrad."""

from __future__ import annotations

from typing import Any

from oneflow.optim.groups import ParamsT, check_range
from oneflow.optim.optimizer import Optimizer, accept_common_keywords
from oneflow.primitives.operators.optimizer import AdagradNumbers, adagrad_update


class Adagrad(Optimizer):
    """Adagrad: steps divided by the root of the sum of all squared gradients so far.

    Args:
        params: tensors or parameter groups.
        lr: learning rate.
        lr_decay: the learning rate is divided by ``1 + (step - 1) * lr_decay``.
        weight_decay: factor of the L2 penalty added to the gradient.
        initial_accumulator_value: what the sums start with.
        eps: added to the divisor.
        maximize: go up instead of down.

    Raises:
        ValueError: a number is negative.

    Example:
        >>> import oneflow as flow
        >>> w = flow.tensor([1.0], requires_grad=True)
        >>> optimizer = flow.optim.Adagrad([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> round(w.item(), 4)
        0.9
    """

    _update = adagrad_update

    @accept_common_keywords
    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-3,
        lr_decay: float = 0.0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0.0,
        eps: float = 1e-10,
        *,
        maximize: bool = False,
    ) -> None:
        check_range("lr", lr, 0.0)
        check_range("lr_decay", lr_decay, 0.0)
        check_range("weight_decay", weight_decay, 0.0)
        check_range("initial_accumulator_value", initial_accumulator_value, 0.0)
        check_range("eps", eps, 0.0)
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "eps": eps,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def _initial_state(self, group: dict[str, Any]) -> dict[str, float]:
        return {"sum": group["initial_accumulator_value"]}

    def _numbers(self, group: dict[str, Any], state: dict[str, Any]) -> AdagradNumbers:
        return AdagradNumbers(
            lr=group["lr"] / (1 + (state["step"] - 1) * group["lr_decay"]),
            eps=group["eps"],
            decay=self._penalty(group),
        )
