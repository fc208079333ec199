"""Losses."""

from __future__ import annotations

from typing import Any

import oneflow as flow
from oneflow import Tensor
from oneflow.nn import functional as F
from oneflow_onnx.x2oneflow.registry import operator

# An index that no class has.
_NO_CLASS = -(2**31)


@operator("NegativeLogLikelihoodLoss", since=12)
def nll_loss(
    x: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    *,
    ignore_index: int | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Return the negative entries of the target classes, weighted and reduced.

    The classes are dimension 1 of `x`, which holds logarithms of probabilities.
    """
    ignored = _NO_CLASS if ignore_index is None else ignore_index
    classes = target.to(flow.int64)
    is_valid = classes != ignored
    safe = flow.where(is_valid, classes, flow.zeros_like(classes))
    selected = flow.gather(x, 1, safe.unsqueeze(1)).squeeze(1)
    weights = is_valid.to(x.dtype)
    if weight is not None:
        weights = weights * flow.index_select(weight, 0, safe.reshape(-1)).reshape(safe.shape)
    losses = -selected * weights
    if reduction == "none":
        return losses
    total = flow.sum(losses)
    return total if reduction == "sum" else total / flow.sum(weights)


@operator("SoftmaxCrossEntropyLoss", since=12)
def softmax_cross_entropy(
    scores: Tensor,
    labels: Tensor,
    weights: Tensor | None = None,
    *,
    ignore_index: int | None = None,
    reduction: str = "mean",
    n_outputs: int,
) -> Any:
    """Return the cross entropy of softmax of `scores`, and the logarithms if they are wanted."""
    log_prob = F.log_softmax(scores, 1)
    loss = nll_loss(log_prob, labels, weights, ignore_index=ignore_index, reduction=reduction)
    return loss if n_outputs == 1 else (loss, log_prob)
