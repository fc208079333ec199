"""Adaptive gradient clipping."""

from __future__ import annotations

from collections.abc import Iterable

import oneflow as flow


def unitwise_norm(x: flow.Tensor, norm_type: float = 2.0) -> flow.Tensor:
    """Return the norm of each row of a weight (over all dimensions but the first), or of a vector.

    Args:
        x: the weight.
        norm_type: exponent of the norm.

    Returns:
        Shape ``[N, 1, ...]``, or a number where `x` has one dimension or none.
    """
    if x.ndim <= 1:
        return x.norm(norm_type)
    return x.norm(norm_type, dim=tuple(range(1, x.ndim)), keepdim=True)


def adaptive_clip_grad(
    parameters: flow.Tensor | Iterable[flow.Tensor],
    clip_factor: float = 0.01,
    eps: float = 1e-3,
    norm_type: float = 2.0,
) -> None:
    """Scale down gradients that are large beside their weights, row by row, in place.

    The paper: Brock et al., "High-Performance Large-Scale Image Recognition Without Normalization",
    2021.

    Args:
        parameters: the weights; those without gradients are passed over.
        clip_factor: largest norm of a gradient's row, as a part of the weight's.
        eps: smallest norm of a weight's row that counts.
        norm_type: exponent of the norms.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.utils import adaptive_clip_grad
        >>> weight = flow.ones(1, 4, requires_grad=True)
        >>> (100 * weight).sum().backward()
        >>> adaptive_clip_grad([weight], clip_factor=0.5)
        >>> weight.grad
        tensor([[0.5000, 0.5000, 0.5000, 0.5000]], dtype=oneflow.float32)
    """
    weights = [parameters] if isinstance(parameters, flow.Tensor) else parameters
    with flow.no_grad():
        for weight in weights:
            if weight.grad is None:
                continue
            limit = unitwise_norm(weight.detach(), norm_type).clamp(min=eps) * clip_factor
            norm = unitwise_norm(weight.grad, norm_type)
            scaled = weight.grad * (limit / norm.clamp(min=1e-6))
            weight.grad.copy_(flow.where(norm < limit, weight.grad, scaled))
