"""Clipping of gradients: `oneflow.optimizer.grad_clipping`."""

from __future__ import annotations


def by_global_norm(clip_norm: float) -> float:
    """Clip gradients to this norm over all variables.

    Raises:
        ValueError: it is not positive.

    Example:
        >>> import oneflow as flow
        >>> schedule = flow.optimizer.PiecewiseConstantScheduler([], [0.1])
        >>> clip = flow.optimizer.grad_clipping.by_global_norm(1.0)
        >>> optimizer = flow.optimizer.SGD(schedule, grad_clipping=clip)
    """
    if clip_norm <= 0:
        raise ValueError(f"the norm to clip to must be positive, got {clip_norm}")
    return float(clip_norm)
