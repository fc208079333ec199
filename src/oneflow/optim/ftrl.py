"""Follow the regularized leader."""

from __future__ import annotations

from typing import Any

from oneflow.optim.groups import ParamsT, check_range
from oneflow.optim.optimizer import Optimizer, accept_common_keywords
from oneflow.primitives.operators.optimizer import FTRLNumbers, ftrl_update


class Ftrl(Optimizer):
    """FTRL-proximal, for sparse linear models: parameters that carry little stay exactly zero.

    Args:
        params: tensors or parameter groups.
        lr: learning rate.
        weight_decay: factor of the L2 penalty added to the gradient.
        lr_power: the power of the sums of squared gradients by which the learning rate is divided;
            0.5 gives the algorithm of McMahan et al., "Ad Click Prediction" (2013).
        initial_accumulator_value: what the sums of squared gradients start with.
        lambda1: strength of the L1 penalty.
        lambda2: strength of the L2 penalty.
        beta: smooths the learning rate at the start.

    Raises:
        ValueError: a number is out of range.

    Example:
        >>> import oneflow as flow
        >>> w = flow.tensor([0.5], requires_grad=True)
        >>> optimizer = flow.one_embedding.Ftrl([w], lr=0.1, lr_power=0.5, lambda1=10.0)
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> w.item()
        0.0
    """

    _update = ftrl_update

    @accept_common_keywords
    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-3,
        weight_decay: float = 0.0,
        lr_power: float = -0.5,
        initial_accumulator_value: float = 0.1,
        lambda1: float = 0.0,
        lambda2: float = 0.0,
        beta: float = 0.0,
    ) -> None:
        check_range("lr", lr, 0.0)
        check_range("weight_decay", weight_decay, 0.0)
        check_range("initial_accumulator_value", initial_accumulator_value, 0.0)
        check_range("lambda1", lambda1, 0.0)
        check_range("lambda2", lambda2, 0.0)
        if lr_power < 0 and not initial_accumulator_value:
            raise ValueError(
                f"Invalid initial_accumulator_value: 0; lr_power {lr_power} needs a positive one"
            )
        defaults = {
            "lr": lr,
            "weight_decay": weight_decay,
            "lr_power": lr_power,
            "initial_accumulator_value": initial_accumulator_value,
            "lambda1": lambda1,
            "lambda2": lambda2,
            "beta": beta,
        }
        super().__init__(params, defaults)

    def _initial_state(self, group: dict[str, Any]) -> dict[str, float]:
        return {"accumulate": group["initial_accumulator_value"], "z": 0.0}

    def _numbers(self, group: dict[str, Any], state: dict[str, Any]) -> FTRLNumbers:
        return FTRLNumbers(
            lr=group["lr"],
            power=group["lr_power"],
            lambda1=group["lambda1"],
            lambda2=group["lambda2"],
            beta=group["beta"],
            decay=self._penalty(group),
        )
