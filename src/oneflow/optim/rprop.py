"""Resilient backpropagation."""

from __future__ import annotations

from typing import Any

from oneflow.optim.groups import ParamsT, check_range
from oneflow.optim.optimizer import Optimizer, accept_common_keywords
from oneflow.optim.step_counter import choose
from oneflow.primitives.operators.optimizer import RpropNumbers, rprop_update


class Rprop(Optimizer):
    """Rprop: every element has a step size of its own, which grows until its gradient changes sign.

    Args:
        params: tensors or parameter groups.
        lr: step size to start with.
        etas: factors of the step size after a change of sign and without one.
        step_sizes: smallest and largest step size.
        maximize: go up instead of down.

    Raises:
        ValueError: `lr` is negative, or `etas` are not on both sides of 1.

    Example:
        >>> import oneflow as flow
        >>> w = flow.tensor([1.0], requires_grad=True)
        >>> optimizer = flow.optim.Rprop([w], lr=0.1)
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> round(w.item(), 4)
        0.9
    """

    _update = rprop_update

    @accept_common_keywords
    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50.0),
        *,
        maximize: bool = False,
    ) -> None:
        check_range("lr", lr, 0.0)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid etas: {etas}; expected 0 < etas[0] < 1 < etas[1]")
        defaults = {"lr": lr, "etas": etas, "step_sizes": step_sizes, "maximize": maximize}
        super().__init__(params, defaults)

    def _penalty(self, group: dict[str, Any]) -> float:
        return 0.0

    def _initial_state(self, group: dict[str, Any]) -> dict[str, float]:
        return {"prev": 0.0, "step_size": group["lr"]}

    def _numbers(self, group: dict[str, Any], state: dict[str, Any]) -> RpropNumbers:
        decrease, increase = group["etas"]
        smallest, largest = group["step_sizes"]
        # A skipped step leaves sizes behind that are not those to start with: the rate may change.
        is_first = state["step"] == 1
        start = choose(is_first, group["lr"], 0.0)
        keep = choose(is_first, 0.0, 1.0)
        return RpropNumbers(decrease, increase, smallest, largest, keep, start)
