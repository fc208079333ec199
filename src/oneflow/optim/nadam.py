"""NAdam."""

from __future__ import annotations

from typing import Any, ClassVar

from oneflow.optim.adam import check_adam, compute_bias_correction, initial_moments
from oneflow.optim.groups import ParamsT, check_range, read_options
from oneflow.optim.optimizer import Optimizer, accept_common_keywords
from oneflow.primitives.operators.optimizer import NAdamNumbers, nadam_update
from oneflow.tensor.tensor import Tensor


class NAdam(Optimizer):
    """Adam with Nesterov momentum.

    Args:
        params: tensors or parameter groups.
        lr: learning rate.
        betas: decay rates of the running means of the gradient and of its square.
        eps: added to the divisor.
        weight_decay: factor of the L2 penalty added to the gradient.
        momentum_decay: how fast the momentum approaches ``betas[0]``.
        decoupled_weight_decay: shrink the parameters instead of adding to the gradient.
        maximize: go up instead of down.

    Raises:
        ValueError: a number is out of range.

    Example:
        >>> import oneflow as flow
        >>> w = flow.tensor([1.0], requires_grad=True)
        >>> optimizer = flow.optim.NAdam([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> round(w.item(), 4)
        0.8944
    """

    _update = nadam_update
    _counts: ClassVar[dict[str, float]] = {"step": 0, "mu_product": 1.0}

    @accept_common_keywords
    def __init__(
        self,
        params: ParamsT,
        lr: float = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        check_adam(lr, betas, eps, weight_decay)
        check_range("momentum_decay", momentum_decay, 0.0)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def _penalty(self, group: dict[str, Any]) -> float:
        return 0.0 if group["decoupled_weight_decay"] else group["weight_decay"]

    def _initial_state(self, group: dict[str, Any]) -> dict[str, float]:
        return initial_moments(group)

    def _advance(self, state: dict[str, Any], group: dict[str, Any]) -> Any:
        step = super()._advance(state, group)
        if not (isinstance(step, Tensor) or group.get("differentiable")):
            group = read_options(group)  # counts on the host stay numbers
        state["mu_product"] = state["mu_product"] * _momentum(group, step)
        return step, state["mu_product"]

    def _numbers(self, group: dict[str, Any], state: dict[str, Any]) -> NAdamNumbers:
        lr, decay, decoupled = group["lr"], group["weight_decay"], group["decoupled_weight_decay"]
        beta1, beta2 = group["betas"]
        now, later = _momentum(group, state["step"]), _momentum(group, state["step"] + 1)
        return NAdamNumbers(
            from_gradient=lr * (1 - now) / (1 - state["mu_product"]),
            from_moment=lr * later / (1 - state["mu_product"] * later),
            beta2=beta2,
            fresh1=1 - beta1,
            fresh2=1 - beta2,
            correction2=compute_bias_correction(group, state["step"])[1],
            eps=group["eps"],
            decay=self._penalty(group),
            keep=1 - lr * decay if decoupled else 1.0,
        )


def _momentum(group: dict[str, Any], step: Any) -> Any:
    """The momentum of one step of its schedule."""
    return group["betas"][0] * (1 - 0.5 * 0.96 ** (step * group["momentum_decay"]))
