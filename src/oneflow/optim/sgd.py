"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from oneflow.optim.groups import ParamsT, check_range
from oneflow.optim.optimizer import Optimizer, accept_common_keywords
from oneflow.optim.step_counter import choose
from oneflow.primitives.operators.optimizer import SGDNumbers, sgd_update, sgdw_update


class SGD(Optimizer):
    """Stochastic gradient descent, with optional momentum.

    Args:
        params: tensors or parameter groups.
        lr: learning rate.
        momentum: how much of the previous direction is kept.
        dampening: how much of the new gradient is left out of the direction.
        weight_decay: factor of the L2 penalty added to the gradient.
        nesterov: look ahead along the momentum; needs `momentum`, and no `dampening`.
        maximize: go up instead of down.
        fused: accepted; all updates are one program anyway.

    Raises:
        ValueError: a number is negative, or does not go with `nesterov`.

    Example:
        >>> import oneflow as flow
        >>> w = flow.tensor([1.0], requires_grad=True)
        >>> optimizer = flow.optim.SGD([w], lr=0.1, momentum=0.9)
        >>> for _ in range(2):
        ...     optimizer.zero_grad()
        ...     (w * w).sum().backward()
        ...     optimizer.step()
        >>> round(w.item(), 4)
        0.46
    """

    _update = sgd_update

    @accept_common_keywords
    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-3,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        maximize: bool = False,
        fused: bool = False,
    ) -> None:
        check_range("lr", lr, 0.0)
        check_range("momentum", momentum, 0.0)
        check_range("weight_decay", weight_decay, 0.0)
        # Groups may have others, as in PyTorch.
        if nesterov and (not momentum or dampening):
            raise ValueError(
                "`nesterov` looks ahead along the momentum: give a `momentum` above 0 and a "
                f"`dampening` of 0, got {momentum} and {dampening}"
            )
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "fused": fused,
        }
        super().__init__(params, defaults)

    def _initial_state(self, group: dict[str, Any]) -> dict[str, float]:
        return {"momentum_buffer": 0.0} if group["momentum"] else {}

    def _advance(self, state: dict[str, Any], group: dict[str, Any]) -> Any:
        return super()._advance(state, group) == 1

    def _numbers(self, group: dict[str, Any], state: dict[str, Any]) -> SGDNumbers:
        # The first direction is the gradient itself.
        fresh = choose(state["step"] == 1, 1.0, 1.0 - group["dampening"])
        return SGDNumbers(
            lr=group["lr"],
            momentum=group["momentum"],
            fresh=fresh,
            decay=group["weight_decay"],
        )

    def _attributes(self, group: dict[str, Any]) -> dict[str, Any]:
        nesterov = {"nesterov": True} if group["nesterov"] else {}
        return {**super()._attributes(group), **nesterov}


class SGDW(SGD):
    """Stochastic gradient descent with decoupled weight decay (https://arxiv.org/abs/1711.05101).

    Args:
        params: tensors or parameter groups.
        lr: learning rate.
        momentum: how much of the previous direction is kept.
        weight_decay: parameters lose this share, times the learning rate, in each step.

    Raises:
        ValueError: a number is negative.
    """

    _update = sgdw_update

    def __init__(
        self, params: ParamsT, lr: float = 1e-3, momentum: float = 0.0, weight_decay: float = 0.0
    ) -> None:
        super().__init__(params, lr, momentum, weight_decay=weight_decay)

    def _penalty(self, group: dict[str, Any]) -> float:
        return 0.0
