"""Adam and its relatives with decoupled weight decay."""

from __future__ import annotations

from typing import Any

from oneflow.optim.groups import ParamsT, check_range
from oneflow.optim.optimizer import Optimizer, accept_common_keywords
from oneflow.optim.step_counter import root
from oneflow.primitives.operators.optimizer import AdamNumbers, adam_update


class Adam(Optimizer):
    """Adam: steps divided by a running root mean square of the gradients.

    Args:
        params: tensors or parameter groups.
        lr: learning rate.
        betas: decay rates of the running means of the gradient and of its square.
        eps: added to the divisor.
        weight_decay: factor of the L2 penalty added to the gradient.
        amsgrad: divide by the largest root mean square so far.
        do_bias_correction: make up for the running means starting at zero.
        fused: accepted; all updates are one program anyway.
        maximize: go up instead of down.
        decoupled_weight_decay: let the weights decay apart from the gradient, as `AdamW` does.

    Raises:
        ValueError: a number is out of range.

    Example:
        >>> import oneflow as flow
        >>> w = flow.tensor([1.0], requires_grad=True)
        >>> optimizer = flow.optim.Adam([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> round(w.item(), 4)
        0.9
    """

    _update = adam_update
    _decoupled = False

    @accept_common_keywords
    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        do_bias_correction: bool = True,
        fused: bool = False,
        *,
        maximize: bool = False,
        decoupled_weight_decay: bool = False,
    ) -> None:
        check_adam(lr, betas, eps, weight_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "do_bias_correction": do_bias_correction,
            "fused": fused,
            "maximize": maximize,
            "decoupled_weight_decay": self._decoupled or decoupled_weight_decay,
        }
        super().__init__(params, defaults)

    def _is_decoupled(self, group: dict[str, Any]) -> bool:
        return self._decoupled or group.get("decoupled_weight_decay", False)

    def _penalty(self, group: dict[str, Any]) -> float:
        return 0.0 if self._is_decoupled(group) else group["weight_decay"]

    def _initial_state(self, group: dict[str, Any]) -> dict[str, float]:
        return initial_moments(group)

    def _numbers(self, group: dict[str, Any], state: dict[str, Any]) -> AdamNumbers:
        lr, decay = group["lr"], group["weight_decay"]
        beta1, beta2 = group["betas"]
        correction1, correction2 = compute_bias_correction(group, state["step"])
        return AdamNumbers(
            step_size=lr / correction1,
            beta2=beta2,
            fresh1=1 - beta1,
            fresh2=1 - beta2,
            root_correction=root(correction2),
            eps=group["eps"],
            decay=self._penalty(group),
            keep=1 - lr * decay if self._is_decoupled(group) else 1.0,
        )


class AdamW(Adam):
    """Adam with weight decay that shrinks the parameters instead of adding to the gradient.

    Args:
        params: tensors or parameter groups.
        lr: learning rate.
        betas: decay rates of the running means of the gradient and of its square.
        eps: added to the divisor.
        weight_decay: parameters are multiplied by ``1 - lr * weight_decay`` in each step.
        amsgrad: divide by the largest root mean square so far.
        do_bias_correction: make up for the running means starting at zero.
        fused: accepted; all updates are one program anyway.
        maximize: go up instead of down.

    Raises:
        ValueError: a number is out of range.

    Example:
        >>> import oneflow as flow
        >>> w = flow.tensor([1.0], requires_grad=True)
        >>> optimizer = flow.optim.AdamW([w], lr=0.1, weight_decay=0.1)
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> round(w.item(), 4)
        0.89
    """

    _decoupled = True


def check_adam(lr: float, betas: tuple[float, float], eps: float, weight_decay: float) -> None:
    """Check the options that Adam and its relatives share.

    Raises:
        ValueError: one of them is out of range.
    """
    check_range("lr", lr, 0.0)
    check_range("eps", eps, 0.0)
    check_range("betas[0]", betas[0], 0.0, 1.0)
    check_range("betas[1]", betas[1], 0.0, 1.0)
    check_range("weight_decay", weight_decay, 0.0)


def initial_moments(group: dict[str, Any]) -> dict[str, float]:
    """The first values of the running means, and of their largest with `amsgrad`."""
    moments = {"exp_avg": 0.0, "exp_avg_sq": 0.0}
    return {**moments, "max_exp_avg_sq": 0.0} if group.get("amsgrad") else moments


def compute_bias_correction(group: dict[str, Any], step: int) -> tuple[float, float]:
    """The divisors of the running means after `step` steps from zero."""
    if not group.get("do_bias_correction", True):
        return 1.0, 1.0
    beta1, beta2 = group["betas"]
    return 1 - beta1**step, 1 - beta2**step
