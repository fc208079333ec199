"""Losses of classification as modules, and what all loss modules share."""

from __future__ import annotations

from typing import Any

from oneflow.functional.nn import loss as functional
from oneflow.functional.nn.ctc import ctc_loss
from oneflow.module.module import Module
from oneflow.nn.modules.old_reduction import accept_old_reduction
from oneflow.tensor.tensor import Tensor


class _Loss(Module):
    """A loss with a reduction.

    Args:
        reduction: ``"none"``, ``"mean"`` or ``"sum"``. PyTorch's old arguments `size_average` and
            `reduce` say the same.
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__init__" in cls.__dict__:
            setattr(cls, "__init__", accept_old_reduction(cls.__dict__["__init__"]))  # noqa: B010

    @accept_old_reduction
    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = reduction


class _WeightedLoss(_Loss):
    """A loss with a reduction and weights that are part of its state.

    Args:
        weight: factors of classes or elements.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.
    """

    def __init__(self, weight: Tensor | None = None, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.register_buffer("weight", weight)


class CrossEntropyLoss(_WeightedLoss):
    """Cross entropy between logits and labels or probabilities of classes.

    Args:
        weight: weight of each class.
        ignore_index: samples with this label do not count.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.
        label_smoothing: this much of each label is spread evenly over all classes.

    Attributes:
        weight: ``(C)`` as it was given; None without.

    Shape:
        input: ``(N, C)``, ``(C)`` or ``(N, C, *)``: logits of ``C`` classes.
        target: ``(N)``, ``()`` or ``(N, *)`` for labels; as the input for probabilities.
        output: ``()``; as the labels if `reduction` is ``"none"``.

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
        super().__init__(weight, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return functional.cross_entropy(
            input,
            target,
            self.weight,
            self.ignore_index,
            self.reduction,
            self.label_smoothing,
        )


class NLLLoss(_WeightedLoss):
    """Negative log likelihood of labels.

    Args:
        weight: weight of each class.
        ignore_index: samples with this label do not count.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.

    Attributes:
        weight: ``(C)`` as it was given; None without.

    Shape:
        input: ``(N, C)``, ``(C)`` or ``(N, C, *)``: log probabilities of ``C`` classes.
        target: ``(N)``, ``()`` or ``(N, *)``.
        output: ``()``; as the target if `reduction` is ``"none"``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.NLLLoss()(flow.tensor([[-0.5, -1.0]]), flow.tensor([0]))
        tensor(0.5000, dtype=oneflow.float32)
    """

    def __init__(
        self, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean"
    ) -> None:
        super().__init__(weight, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return functional.nll_loss(input, target, self.weight, self.ignore_index, self.reduction)


class CTCLoss(_Loss):
    """Negative log likelihood of sequences of labels, whatever their alignment.

    Args:
        blank: number of the blank.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.
        zero_infinity: infinite losses, of samples too short for their labels, count as 0.

    Shape:
        log_probs: ``(T, N, C)`` or ``(T, C)``: ``T`` steps, ``C`` labels with the blank.
        targets: ``(N, S)``, or all labels one after the other.
        input_lengths: ``(N)`` or ``()``, each at most ``T``.
        target_lengths: ``(N)`` or ``()``, each at most ``S``.
        output: ``()``; ``(N)`` if `reduction` is ``"none"``.

    Example:
        >>> import oneflow as flow
        >>> x = flow.log_softmax(flow.zeros(4, 1, 3), 2)
        >>> flow.nn.CTCLoss()(x, flow.tensor([[1, 2]]), flow.tensor([4]), flow.tensor([2]))
        tensor(0.8432, dtype=oneflow.float32)
    """

    def __init__(
        self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False
    ) -> None:
        super().__init__(reduction)
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(
        self, log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any
    ) -> Tensor:
        return ctc_loss(
            log_probs,
            targets,
            input_lengths,
            target_lengths,
            self.blank,
            self.reduction,
            self.zero_infinity,
        )
