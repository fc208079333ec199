"""Losses of classification."""

from __future__ import annotations

from oneflow.functional.registry import function
from oneflow.primitives.cross_entropy import cross_entropy as cross_entropy_primitive
from oneflow.tensor.call import call
from oneflow.tensor.tensor import Tensor

_REDUCTIONS = ("none", "mean", "sum")


def check_reduction(reduction: str) -> None:
    """Refuse a `reduction` other than none, mean and sum.

    Raises:
        ValueError: names the value given.
    """
    if reduction not in _REDUCTIONS:
        raise ValueError(
            f"{reduction} is not a valid value for reduction; use one of {', '.join(_REDUCTIONS)}"
        )


@function(method=False, namespace="nn.functional")
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Cross entropy between logits and labels.

    Args:
        input: logits of shape ``(N, C, d1, ...)``, or ``(C,)`` for one sample.
        target: whole-number labels of shape ``(N, d1, ...)``.
        weight: weight of each class, shape ``(C,)``.
        ignore_index: samples with this label do not count.
        reduction: ``"none"``, ``"mean"`` (weighted by the labels' weights) or ``"sum"``.
        label_smoothing: this much of each label is spread evenly over all classes.

    Raises:
        IndexError: a label outside ``[0, C)``, when a result is next read.

    Example:
        >>> import oneflow as flow
        >>> logits = flow.tensor([[2.0, 0.0], [0.0, 2.0]])
        >>> flow.nn.functional.cross_entropy(logits, flow.tensor([0, 1]))
        tensor(0.1269, dtype=oneflow.float32)
    """
    check_reduction(reduction)
    weights = () if weight is None else (weight,)
    return call(
        cross_entropy_primitive,
        *(input, target, label_smoothing, *weights),
        reduction=reduction,
        ignore_index=ignore_index,
        smooth=label_smoothing != 0,
    )
