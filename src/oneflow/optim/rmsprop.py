"""RMSprop."""

from __future__ import annotations

from typing import Any

from oneflow.optim.groups import ParamsT, check_range
from oneflow.optim.optimizer import Optimizer, accept_common_keywords
from oneflow.primitives.operators.optimizer import RMSpropNumbers, rmsprop_update


class RMSprop(Optimizer):
    """RMSprop: steps divided by a running root mean square of the gradients.

    As OneFlow's documentation has it, the gradient is divided by ``sqrt(square_avg + eps)``;
    PyTorch adds `eps` to the root.

    Args:
        params: tensors or parameter groups.
        lr: learning rate.
        alpha: decay rate of the running mean of squares.
        eps: added to the mean square, within the root.
        weight_decay: factor of the L2 penalty added to the gradient.
        momentum: how much of the previous direction is kept.
        centered: divide by the running standard deviation instead.
        maximize: go up instead of down.

    Raises:
        ValueError: a number is negative.

    Example:
        >>> import oneflow as flow
        >>> w = flow.tensor([1.0], requires_grad=True)
        >>> optimizer = flow.optim.RMSprop([w], lr=0.1, alpha=0.75)
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> round(w.item(), 4)
        0.8
    """

    _update = rmsprop_update
    _eps_in_root = True

    @accept_common_keywords
    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-3,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0.0,
        centered: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        check_range("lr", lr, 0.0)
        check_range("alpha", alpha, 0.0)
        check_range("eps", eps, 0.0)
        check_range("weight_decay", weight_decay, 0.0)
        check_range("momentum", momentum, 0.0)
        defaults = {
            "lr": lr,
            "alpha": alpha,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "centered": centered,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def _initial_state(self, group: dict[str, Any]) -> dict[str, float]:
        initial_state = {"square_avg": 0.0}
        if group["momentum"] > 0:
            initial_state["momentum_buffer"] = 0.0
        if group["centered"]:
            initial_state["grad_avg"] = 0.0
        return initial_state

    def _numbers(self, group: dict[str, Any], state: dict[str, Any]) -> RMSpropNumbers:
        return RMSpropNumbers(
            lr=group["lr"],
            alpha=group["alpha"],
            fresh=1 - group["alpha"],
            eps=group["eps"],
            decay=self._penalty(group),
            momentum=group["momentum"],
        )

    def _attributes(self, group: dict[str, Any]) -> dict[str, Any]:
        return {
            **super()._attributes(group),
            "centered": bool(group["centered"]),
            "momentum": group["momentum"] > 0,
            "eps_in_root": self._eps_in_root,
        }
