"""RAdam."""

from __future__ import annotations

from typing import Any

from oneflow.optim.adam import check_adam, compute_bias_correction, initial_moments
from oneflow.optim.groups import ParamsT
from oneflow.optim.optimizer import Optimizer, accept_common_keywords
from oneflow.optim.step_counter import choose, root
from oneflow.primitives.operators.optimizer import RAdamNumbers, radam_update

# From this length of the approximated average on, the variance of the second moment is tractable.
_MIN_LENGTH = 5.0


class RAdam(Optimizer):
    """Adam with a rectified step size: it starts like momentum and becomes Adam.

    Args:
        params: tensors or parameter groups.
        lr: learning rate.
        betas: decay rates of the running means of the gradient and of its square.
        eps: added to the divisor.
        weight_decay: factor of the L2 penalty added to the gradient.
        decoupled_weight_decay: shrink the parameters instead of adding to the gradient.
        maximize: go up instead of down.

    Raises:
        ValueError: a number is out of range.

    Example:
        >>> import oneflow as flow
        >>> w = flow.tensor([1.0], requires_grad=True)
        >>> optimizer = flow.optim.RAdam([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> round(w.item(), 4)
        0.8
    """

    _update = radam_update

    @accept_common_keywords
    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        check_adam(lr, betas, eps, weight_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def _penalty(self, group: dict[str, Any]) -> float:
        return 0.0 if group["decoupled_weight_decay"] else group["weight_decay"]

    def _initial_state(self, group: dict[str, Any]) -> dict[str, float]:
        return initial_moments(group)

    def _numbers(self, group: dict[str, Any], state: dict[str, Any]) -> RAdamNumbers:
        lr, decay, decoupled = group["lr"], group["weight_decay"], group["decoupled_weight_decay"]
        beta1, beta2 = group["betas"]
        correction1, correction2 = compute_bias_correction(group, state["step"])
        return RAdamNumbers(
            step_size=lr / correction1,
            beta2=beta2,
            fresh1=1 - beta1,
            fresh2=1 - beta2,
            root_correction=root(correction2),
            rect=_rect(beta2, correction2, state["step"]),
            eps=group["eps"],
            decay=self._penalty(group),
            keep=1 - lr * decay if decoupled else 1.0,
        )


def _rect(beta2: float, correction2: float, step: int) -> float:
    """Factor that makes up for the variance of the second moment; 0 while that is not tractable."""
    longest = 2 / (1 - beta2) - 1
    length = longest - 2 * step * beta2**step / correction2
    # Never longer than the longest, which then is tractable too.
    longest = choose(longest > _MIN_LENGTH, longest, _MIN_LENGTH)
    above = choose(length > _MIN_LENGTH, (length - 4) * (length - 2), 0.0)
    return root(above * longest / ((longest - 4) * (longest - 2) * length))
