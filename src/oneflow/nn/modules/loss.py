"""Losses as modules."""

from __future__ import annotations

from oneflow.functional import loss as functional
from oneflow.nn.modules.module import Module
from oneflow.tensor.tensor import Tensor


class CrossEntropyLoss(Module):
    """Cross entropy between logits and labels.

    Args:
        weight: weight of each class.
        ignore_index: samples with this label do not count.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.
        label_smoothing: this much of each label is spread evenly over all classes.

    Example:
        >>> import oneflow as flow
        >>> loss = flow.nn.CrossEntropyLoss()
        >>> loss(flow.tensor([[2.0, 0.0], [0.0, 2.0]]), flow.tensor([0, 1]))
        tensor(0.1269, dtype=oneflow.float32)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        ignore_index: int = -100,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__()
        self.register_buffer("weight", weight)
        self.ignore_index = ignore_index
        self.reduction = reduction
        self.label_smoothing = label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return functional.cross_entropy(
            *(input, target, self.weight, self.ignore_index),
            *(self.reduction, self.label_smoothing),
        )
