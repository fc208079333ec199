"""Losses of classification as modules, and what all loss modules share."""

from __future__ import annotations

import math
from typing import Any

from oneflow.functional.nn import loss as functional
from oneflow.functional.nn.ctc import ctc_loss
from oneflow.functional.nn.linear_cross_entropy import (
    LinearCrossEntropyOptions,
    linear_cross_entropy,
)
from oneflow.module.function_in_jobs import FunctionInJobs
from oneflow.module.module import Module
from oneflow.nn.modules.linear import Linear
from oneflow.nn.modules.old_reduction import accept_old_reduction
from oneflow.tensor.tensor import Tensor


class _Loss(FunctionInJobs, Module):
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


class LinearCrossEntropyLoss(_WeightedLoss):
    """A linear layer, and the cross entropy of its logits; see `F.linear_cross_entropy`.

    Args:
        in_features: size of a sample.
        num_classes: the number of classes ``C``.
        out_features: the dimensions of several losses of a sample.
        bias: the linear layer has a bias.
        device: the device of the linear layer's weight.
        dtype: the dtype of the linear layer's weight.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.
        weight: weight of each class.
        ignore_index: samples with this label do not count; None: -100.
        label_smoothing: this much of each label is spread evenly over all classes.
        options: go over the rows in chunks, so that the matrix of logits never exists.

    Attributes:
        linear: the linear layer, with all of a sample's logits in one dimension.
        weight: ``(C)`` as it was given; None without.

    Shape:
        input: ``(N, in_features)`` or ``(in_features)``.
        target: ``(N, *out_features)`` or ``()`` for labels; ``(N, C, *out_features)`` or ``(C)``
            for probabilities.
        output: ``()``; as labels if `reduction` is ``"none"``.

    Example:
        >>> import oneflow as flow
        >>> options = flow.nn.LinearCrossEntropyOptions(batch_chunk_size=2)
        >>> loss = flow.nn.LinearCrossEntropyLoss(4, 50, options=options)
        >>> loss(flow.randn(6, 4), flow.randint(0, 50, (6,))).shape
        oneflow.Size([])
    """

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Any = None,
        dtype: Any = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: LinearCrossEntropyOptions | None = None,
    ) -> None:
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise RuntimeError(
                f"expected weight shape to be {(num_classes,)}, got {tuple(weight.shape)}"
            )
        if not 0 <= label_smoothing <= 1:
            raise RuntimeError(
                f"expected label_smoothing to be in range [0, 1], got {label_smoothing}"
            )
        super().__init__(weight, reduction)
        self.num_classes = num_classes
        self.out_features = out_features
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        count = math.prod(out_features, start=num_classes)
        self.linear = Linear(in_features, count, bias=bias, device=device, dtype=dtype)
        self.options = options

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        shape, bias = (self.num_classes, *self.out_features), self.linear.bias
        return linear_cross_entropy(
            input,
            self.linear.weight.reshape(*shape, self.linear.in_features),
            target,
            linear_bias=None if bias is None else bias.reshape(shape),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self) -> str:
        """The arguments, as PyTorch prints them."""
        return (
            f"in_features={self.linear.in_features}, num_classes={self.num_classes}, "
            f"out_features={self.out_features}, bias={self.linear.bias is not None}, "
            f"reduction={self.reduction}, ignore_index={self.ignore_index}, "
            f"label_smoothing={self.label_smoothing}, options={self.options}"
        )


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
