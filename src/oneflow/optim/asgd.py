"""Averaged stochastic gradient descent."""

from __future__ import annotations

from typing import Any, ClassVar

from oneflow.optim.groups import ParamsT, check_range, read_options, with_scaled_lr
from oneflow.optim.optimizer import Optimizer, accept_common_keywords
from oneflow.optim.step_counter import choose
from oneflow.primitives.operators.optimizer import ASGDNumbers, asgd_update
from oneflow.tensor.tensor import Tensor


class ASGD(Optimizer):
    """ASGD: gradient descent that also averages the parameters of its steps.

    Polyak and Juditsky, "Acceleration of stochastic approximation by averaging" (1992). The average
    is the state `ax` of a parameter.

    Args:
        params: tensors or parameter groups.
        lr: learning rate.
        lambd: decay of the parameters, as a factor of the step size.
        alpha: power by which step sizes fall: ``lr / (1 + lambd * lr * step) ** alpha``.
        t0: step after which averaging begins; before, the average is the parameter.
        weight_decay: factor of the L2 penalty added to the gradient.
        maximize: go up instead of down.

    Raises:
        ValueError: `lr` or `weight_decay` is negative.

    Example:
        >>> import oneflow as flow
        >>> w = flow.tensor([1.0], requires_grad=True)
        >>> optimizer = flow.optim.ASGD([w], lr=0.1, lambd=0.0, t0=0)
        >>> for _ in range(3):
        ...     optimizer.zero_grad()
        ...     (w * w).sum().backward()
        ...     optimizer.step()
        >>> round(w.item(), 3), round(optimizer.state[w]["ax"].item(), 3)
        (0.512, 0.576)
    """

    _update = asgd_update
    # `eta` and `mu` are for the next step, as PyTorch keeps them.
    _counts: ClassVar[dict[str, float]] = {
        "step": 0,
        "eta": 0.0,
        "mu": 1.0,
        "current_eta": 0.0,
        "current_mu": 1.0,
    }

    @accept_common_keywords
    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        *,
        maximize: bool = False,
    ) -> None:
        check_range("lr", lr, 0.0)
        check_range("weight_decay", weight_decay, 0.0)
        defaults = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def _initial_state(self, group: dict[str, Any]) -> dict[str, float]:
        return {"ax": 0.0}

    def _advance(self, state: dict[str, Any], group: dict[str, Any]) -> Any:
        step = super()._advance(state, group)
        if not (isinstance(step, Tensor) or group.get("differentiable")):
            group = read_options(group)  # counts on the host stay numbers
        lr = with_scaled_lr(group)["lr"]
        averaged = step - group["t0"]
        state["current_eta"] = choose(step == 1, lr, state["eta"])
        state["current_mu"] = state["mu"]
        state["eta"] = lr / (1 + group["lambd"] * lr * step) ** group["alpha"]
        state["mu"] = 1 / choose(averaged > 1, averaged, 1.0)
        return step, state["current_eta"], state["current_mu"]

    def _numbers(self, group: dict[str, Any], state: dict[str, Any]) -> ASGDNumbers:
        eta = state["current_eta"]
        return ASGDNumbers(
            eta=eta,
            mu=state["current_mu"],
            keep=1 - group["lambd"] * eta,
            decay=self._penalty(group),
        )
