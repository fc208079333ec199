"""LAMB."""

from __future__ import annotations

from typing import Any

from oneflow.optim.adam import check_adam, compute_bias_correction, initial_moments
from oneflow.optim.groups import ParamsT
from oneflow.optim.optimizer import Optimizer, accept_common_keywords
from oneflow.optim.step_counter import root
from oneflow.primitives.operators.lamb import LAMBNumbers, lamb_update


class LAMB(Optimizer):
    """LAMB: Adam's direction, scaled for every parameter by its own norm; made for large batches.

    Args:
        params: tensors or parameter groups.
        lr: learning rate.
        betas: decay rates of the running means of the gradient and of its square.
        eps: added to the divisor.
        weight_decay: factor of the penalty.
        adam_w_mode: add the penalty to the direction after scaling; False adds it to the gradient.
        do_bias_correction: make up for the running means starting at zero.
        amsgrad: divide by the largest root mean square so far.

    Raises:
        ValueError: a number is out of range.

    Example:
        >>> import oneflow as flow
        >>> w = flow.tensor([2.0], requires_grad=True)
        >>> optimizer = flow.optim.LAMB([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> round(w.item(), 4)
        1.8
    """

    _update = lamb_update

    @accept_common_keywords
    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        adam_w_mode: bool = True,
        do_bias_correction: bool = True,
        amsgrad: bool = False,
    ) -> None:
        check_adam(lr, betas, eps, weight_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "adam_w_mode": adam_w_mode,
            "do_bias_correction": do_bias_correction,
            "amsgrad": amsgrad,
        }
        super().__init__(params, defaults)

    def _penalty(self, group: dict[str, Any]) -> float:
        return 0.0 if group["adam_w_mode"] else group["weight_decay"]

    def _initial_state(self, group: dict[str, Any]) -> dict[str, float]:
        return initial_moments(group)

    def _numbers(self, group: dict[str, Any], state: dict[str, Any]) -> LAMBNumbers:
        beta1, beta2 = group["betas"]
        correction1, correction2 = compute_bias_correction(group, state["step"])
        decay, decoupled = group["weight_decay"], group["adam_w_mode"]
        return LAMBNumbers(
            lr=group["lr"],
            beta2=beta2,
            fresh1=1 - beta1,
            fresh2=1 - beta2,
            correction1=correction1,
            root_correction=root(correction2),
            eps=group["eps"],
            decay=self._penalty(group),
            decoupled=decay if decoupled else 0.0,
        )
