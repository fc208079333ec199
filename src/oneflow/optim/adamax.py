"""Adamax."""

from __future__ import annotations

from typing import Any

from oneflow.optim.adam import check_adam, compute_bias_correction
from oneflow.optim.groups import ParamsT
from oneflow.optim.optimizer import Optimizer, accept_common_keywords
from oneflow.primitives.operators.optimizer import AdamaxNumbers, adamax_update


class Adamax(Optimizer):
    """Adam with the infinity norm: steps divided by the largest recent gradient.

    Args:
        params: tensors or parameter groups.
        lr: learning rate.
        betas: decay rates of the running mean of the gradient and of the largest gradient.
        eps: added to the size of each gradient.
        weight_decay: factor of the L2 penalty added to the gradient.
        maximize: go up instead of down.

    Raises:
        ValueError: a number is out of range.

    Example:
        >>> import oneflow as flow
        >>> w = flow.tensor([1.0], requires_grad=True)
        >>> optimizer = flow.optim.Adamax([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> round(w.item(), 4)
        0.9
    """

    _update = adamax_update

    @accept_common_keywords
    def __init__(
        self,
        params: ParamsT,
        lr: float = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        maximize: bool = False,
    ) -> None:
        check_adam(lr, betas, eps, weight_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def _initial_state(self, group: dict[str, Any]) -> dict[str, float]:
        return {"exp_avg": 0.0, "exp_inf": 0.0}

    def _numbers(self, group: dict[str, Any], state: dict[str, Any]) -> AdamaxNumbers:
        beta1, beta2 = group["betas"]
        return AdamaxNumbers(
            step_size=group["lr"] / compute_bias_correction(group, state["step"])[0],
            beta2=beta2,
            fresh1=1 - beta1,
            eps=group["eps"],
            decay=self._penalty(group),
        )
