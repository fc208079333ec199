"""Scores of rankings."""

from __future__ import annotations

from oneflow.base.dtype import float32, float64
from oneflow.functional.index.search import searchsorted, sort
from oneflow.functional.registry import function
from oneflow.tensor.operands import cast_to
from oneflow.tensor.tensor import Tensor


@function(method=False)
def roc_auc_score(label: Tensor, pred: Tensor) -> Tensor:
    """Area under the receiver operating characteristic: how often positives are ranked higher.

    The share of pairs of a positive and a negative in which the positive has the larger prediction;
    equal predictions count one half (Mann and Whitney, 1947).

    Args:
        label: 1 (or anything above 0) for positives, as many elements as `pred`.
        pred: predictions, of any float type.

    Returns:
        float32 tensor of one element, ``[1]``; NaN if one of the classes has no element.

    Raises:
        RuntimeError: another number of labels than of predictions.

    Example:
        >>> import oneflow as flow
        >>> label, pred = flow.tensor([1, 0, 1, 1]), flow.tensor([0.9, 0.6, 0.8, 0.3])
        >>> flow.roc_auc_score(label, pred)
        tensor([0.6667], dtype=oneflow.float32)
    """
    if label.numel() != pred.numel():
        raise RuntimeError(
            f"roc_auc_score: {label.numel()} labels for {pred.numel()} predictions; there must be "
            "one for each"
        )
    scores = cast_to(pred.reshape(-1), float64)
    is_positive = cast_to(label.reshape(-1) > 0, float64)
    ordered, _ = sort(scores)
    below, up_to = (searchsorted(ordered, scores, right=right) for right in (False, True))
    # Ranks from 1; equal predictions share the mean of theirs.
    ranks = cast_to(below + up_to + 1, float64) / 2
    count = is_positive.sum()
    pairs = count * (scores.numel() - count)
    # Pairs in which the positive one has the higher score.
    ordered_pairs = (ranks * is_positive).sum() - count * (count + 1) / 2
    return cast_to(ordered_pairs / pairs, float32).reshape(1)
