"""Adam for parameters with gradients for few rows per step."""

from __future__ import annotations

from typing import Any

from oneflow.optim.adam import check_adam, compute_bias_correction, initial_moments
from oneflow.optim.groups import ParamsT
from oneflow.optim.optimizer import Optimizer, accept_common_keywords
from oneflow.optim.step_counter import root
from oneflow.primitives.operators.optimizer import SparseAdamNumbers, sparse_adam_update


class SparseAdam(Optimizer):
    """Adam that leaves rows without gradient alone, with their running means.

    Made for embeddings, of which a step looks up few rows. Gradients are dense here: a row whose
    gradient is all zeros counts as one that was not looked up.

    Args:
        params: real tensors or parameter groups.
        lr: learning rate, positive.
        betas: decay rates of the running means of the gradient and of its square.
        eps: added to the divisor; positive.
        maximize: go up instead of down.

    Raises:
        ValueError: a number is out of range, or a parameter is complex.

    Example:
        >>> import oneflow as flow
        >>> table = flow.zeros(3, 2, requires_grad=True)
        >>> optimizer = flow.optim.SparseAdam([table], lr=0.5)
        >>> flow.nn.functional.embedding(flow.tensor([1, 1]), table).sum().backward()
        >>> optimizer.step()
        >>> table.round(decimals=4).tolist()
        [[0.0, 0.0], [-0.5, -0.5], [0.0, 0.0]]
    """

    _update = sparse_adam_update

    @accept_common_keywords
    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        check_adam(lr, betas, eps, 0.0)
        for name, value in (("lr", lr), ("eps", eps)):
            if not value > 0:
                raise ValueError(f"Invalid {name}: {value}; it must be positive")
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add real tensors with options of their own; see `Optimizer.add_param_group`.

        Raises:
            ValueError: a tensor is complex.
        """
        super().add_param_group(param_group)
        for index, parameter in enumerate(self.param_groups[-1]["params"]):
            if parameter.is_complex():
                raise ValueError(
                    f"SparseAdam does not support complex parameters, got parameter {index} of "
                    f"{parameter.dtype!r}"
                )

    def _penalty(self, group: dict[str, Any]) -> float:
        return 0.0

    def _initial_state(self, group: dict[str, Any]) -> dict[str, float]:
        return initial_moments(group)

    def _numbers(self, group: dict[str, Any], state: dict[str, Any]) -> SparseAdamNumbers:
        beta1, beta2 = group["betas"]
        correction1, correction2 = compute_bias_correction(group, state["step"])
        return SparseAdamNumbers(
            step_size=group["lr"] * root(correction2) / correction1,
            beta2=beta2,
            fresh1=1 - beta1,
            fresh2=1 - beta2,
            eps=group["eps"],
        )
