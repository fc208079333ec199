"""Adadelta."""

from __future__ import annotations

from typing import Any

from oneflow.optim.groups import ParamsT, check_range
from oneflow.optim.optimizer import Optimizer, accept_common_keywords
from oneflow.primitives.operators.optimizer import AdadeltaNumbers, adadelta_update


class Adadelta(Optimizer):
    """Adadelta: steps scaled by the running size of past steps over the size of past gradients.

    Args:
        params: tensors or parameter groups.
        lr: factor of the step.
        rho: decay rate of the running means of squares.
        eps: added to both running means.
        weight_decay: factor of the L2 penalty added to the gradient.
        maximize: go up instead of down.

    Raises:
        ValueError: a number is out of range.

    Example:
        >>> import oneflow as flow
        >>> w = flow.tensor([1.0], requires_grad=True)
        >>> optimizer = flow.optim.Adadelta([w])
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> round(w.item(), 4)
        0.9968
    """

    _update = adadelta_update

    @accept_common_keywords
    def __init__(
        self,
        params: ParamsT,
        lr: float = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        maximize: bool = False,
    ) -> None:
        check_range("lr", lr, 0.0)
        check_range("rho", rho, 0.0, 1.0)
        check_range("eps", eps, 0.0)
        check_range("weight_decay", weight_decay, 0.0)
        defaults = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def _initial_state(self, group: dict[str, Any]) -> dict[str, float]:
        return {"square_avg": 0.0, "acc_delta": 0.0}

    def _numbers(self, group: dict[str, Any], state: dict[str, Any]) -> AdadeltaNumbers:
        return AdadeltaNumbers(
            lr=group["lr"],
            rho=group["rho"],
            fresh=1 - group["rho"],
            eps=group["eps"],
            decay=self._penalty(group),
        )
