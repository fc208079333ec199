"""Muon."""

from __future__ import annotations

from typing import Any

from oneflow.optim.groups import ParamsT, check_range
from oneflow.optim.optimizer import Optimizer, accept_common_keywords
from oneflow.primitives.operators.muon import MuonNumbers, muon_update

_SCALES = ("original", "match_rms_adamw")


class Muon(Optimizer):
    """Muon: momentum that is orthogonalized before each step, for the matrices of a network.

    Jordan et al., "Muon: an optimizer for hidden layers in neural networks" (2024). Vectors and
    embeddings belong to another optimizer, such as `AdamW`.

    Args:
        params: matrices, or parameter groups of such.
        lr: learning rate.
        weight_decay: parameters are multiplied by ``1 - lr * weight_decay`` in each step.
        momentum: decay rate of the running mean of the gradient.
        nesterov: step along the mean that the next gradient would meet.
        ns_coefficients: the coefficients of the powers 1, 3 and 5 in the Newton-Schulz iteration.
        eps: smallest norm that a matrix is divided by.
        ns_steps: number of iterations, less than 100.
        adjust_lr_fn: factor of the learning rate of an ``[m, n]`` matrix: ``"original"``, the
            default, takes ``sqrt(max(1, m / n))``, and ``"match_rms_adamw"`` takes
            ``0.2 * sqrt(max(m, n))``, with which learning rates are those of AdamW (Liu et al.,
            2025).

    Raises:
        ValueError: a number is out of range, or a parameter is not a matrix of real numbers.

    Example:
        >>> import oneflow as flow
        >>> w = flow.tensor([[3.0, 0.0], [0.0, 1.0]], requires_grad=True)
        >>> optimizer = flow.optim.Muon([w], lr=0.5, weight_decay=0.0)
        >>> (w * w).sum().backward()
        >>> optimizer.step()
        >>> (w.diag() < flow.tensor([2.9, 0.9])).tolist()
        [True, True]
    """

    _update = muon_update

    @accept_common_keywords
    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        check_range("lr", lr, 0.0)
        check_range("momentum", momentum, 0.0)
        check_range("weight_decay", weight_decay, 0.0)
        check_range("ns_steps", ns_steps, 0, 100)
        if len(ns_coefficients) != 3:
            raise ValueError(f"`ns_coefficients` must be 3 numbers, got {ns_coefficients!r}")
        if adjust_lr_fn not in (None, *_SCALES):
            raise ValueError(f"`adjust_lr_fn` must be None or in {_SCALES}, got {adjust_lr_fn!r}")
        defaults = {
            "lr": lr,
            "weight_decay": weight_decay,
            "momentum": momentum,
            "nesterov": nesterov,
            "ns_coefficients": ns_coefficients,
            "eps": eps,
            "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
        }
        super().__init__(params, defaults)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add matrices with options of their own; see `Optimizer.add_param_group`.

        Raises:
            ValueError: a tensor is not a matrix of real numbers.
        """
        super().add_param_group(param_group)
        for index, parameter in enumerate(self.param_groups[-1]["params"]):
            if parameter.ndim != 2 or parameter.is_complex():
                raise ValueError(
                    "Muon only supports 2-dimensional real parameters, got parameter "
                    f"{index} of shape {list(parameter.shape)} and {parameter.dtype!r}"
                )

    def _initial_state(self, group: dict[str, Any]) -> dict[str, float]:
        return {"momentum_buffer": 0.0}

    def _numbers(self, group: dict[str, Any], state: dict[str, Any]) -> MuonNumbers:
        lr, momentum = group["lr"], group["momentum"]
        return MuonNumbers(
            lr=lr,
            momentum=momentum,
            fresh=1 - momentum,
            keep=1 - lr * group["weight_decay"],
            eps=group["eps"],
        )

    def _attributes(self, group: dict[str, Any]) -> dict[str, Any]:
        return {
            "nesterov": bool(group["nesterov"]),
            "coefficients": tuple(group["ns_coefficients"]),
            "iterations": group["ns_steps"],
            "scale": group["adjust_lr_fn"] or _SCALES[0],
        }
