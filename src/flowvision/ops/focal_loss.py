"""The focal loss of RetinaNet."""

from __future__ import annotations

from flowvision.ops.reduction import reduce_loss
from oneflow import Tensor
from oneflow.nn import functional as F


def sigmoid_focal_loss(
    inputs: Tensor,
    targets: Tensor,
    alpha: float = 0.25,
    gamma: float = 2,
    reduction: str = "none",
) -> Tensor:
    """Binary cross entropy, faded for well recognized elements (https://arxiv.org/abs/1708.02002).

    Args:
        inputs: logits of any shape.
        targets: a tensor of the same shape, 1 for positive and 0 for negative elements.
        alpha: the weight of positive elements, in [0, 1]; negative ones have 1 - alpha. A negative
            number: no weights.
        gamma: how fast the loss fades.
        reduction: "none", "mean" or "sum".

    Returns:
        The losses, of the shape of `inputs`, or their mean or sum.

    Raises:
        ValueError: if there is no such reduction.

    Example:
        >>> import oneflow as flow
        >>> from flowvision.ops.focal_loss import sigmoid_focal_loss
        >>> print(sigmoid_focal_loss(flow.zeros(1), flow.ones(1), reduction="sum").item())
        0.04332169...
    """
    p = inputs.sigmoid()
    cross_entropy = F.binary_cross_entropy_with_logits(inputs, targets, reduction="none")
    error = p * (1 - targets) + (1 - p) * targets
    loss = cross_entropy * error**gamma
    if alpha >= 0:
        loss = loss * (alpha * targets + (1 - alpha) * (1 - targets))
    return reduce_loss(loss, reduction)
