"""The reductions that losses offer."""

from __future__ import annotations

from oneflow import Tensor


def reduce_loss(loss: Tensor, reduction: str) -> Tensor:
    """Return `loss`, its mean or its sum; both are 0 of no elements.

    Args:
        loss: one number per element.
        reduction: "none", "mean" or "sum".

    Raises:
        ValueError: if there is no such reduction.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.ops.reduction import reduce_loss
        >>> reduce_loss(flow.tensor([1.0, 3.0]), "mean").item()
        2.0
    """
    if reduction == "none":
        return loss
    if reduction == "mean":
        return loss.mean() if loss.numel() else loss.sum()
    if reduction == "sum":
        return loss.sum()
    raise ValueError(f"`reduction` must be 'none', 'mean' or 'sum', got {reduction!r}")
