"""Losses that ask for a margin between samples or classes, as modules."""

from __future__ import annotations

from collections.abc import Callable

from oneflow.base.keyword_aliases import legacy_reduction
from oneflow.functional.nn import margin_loss as functional
from oneflow.module.module import Module
from oneflow.nn.modules.distance import PairwiseDistance
from oneflow.nn.modules.loss import _Loss, _WeightedLoss
from oneflow.tensor.tensor import Tensor


class MarginRankingLoss(_Loss):
    """``max(0, -target * (input1 - input2) + margin)``.

    Args:
        margin: how far apart they must be.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.

    Shape:
        input1: ``(*)``, any shape.
        input2: ``(*)``, as `input1`.
        target: ``(*)``, 1 or -1.
        output: ``()``; ``(*)`` if `reduction` is ``"none"``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.MarginRankingLoss()(*flow.tensor([[1.0], [3.0], [1.0]]))
        tensor(2., dtype=oneflow.float32)
    """

    def __init__(self, margin: float = 0.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return functional.margin_ranking_loss(input1, input2, target, self.margin, self.reduction)


class HingeEmbeddingLoss(_Loss):
    """The input where the target is 1, ``max(0, margin - input)`` where it is -1.

    Args:
        margin: how large the distance of dissimilar pairs must be.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.

    Shape:
        input: ``(*)``, any shape.
        target: ``(*)``, as the input.
        output: ``()``; ``(*)`` if `reduction` is ``"none"``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.HingeEmbeddingLoss()(flow.tensor([0.5, 0.25]), flow.tensor([1.0, -1.0]))
        tensor(0.6250, dtype=oneflow.float32)
    """

    def __init__(self, margin: float = 1.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return functional.hinge_embedding_loss(input, target, self.margin, self.reduction)


class CosineEmbeddingLoss(_Loss):
    """``1 - cosine`` where the target is 1, ``max(0, cosine - margin)`` where it is -1.

    Args:
        margin: cosines of dissimilar pairs up to this cost nothing.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.

    Shape:
        input1: ``(N, D)`` or ``(D)``.
        input2: ``(N, D)`` or ``(D)``.
        target: ``(N)`` or ``()``, 1 or -1.
        output: ``()``; ``(N)`` if `reduction` is ``"none"``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.CosineEmbeddingLoss()(flow.ones(1, 2), flow.ones(1, 2), -flow.ones(1)).shape
        oneflow.Size([])
    """

    def __init__(self, margin: float = 0.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return functional.cosine_embedding_loss(input1, input2, target, self.margin, self.reduction)


class TripletMarginLoss(_Loss):
    """``max(0, |anchor - positive| - |anchor - negative| + margin)``.

    Args:
        margin: by how much farther negatives must be.
        p: which norm measures distance.
        eps: added to differences, so that distances have gradients.
        swap: use the distance of positive and negative if that is smaller.
        size_average: PyTorch's old switch, see `reduction`.
        reduce: PyTorch's old switch, see `reduction`.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.

    Shape:
        anchor: ``(N, D)`` or ``(D)``.
        positive: the shape of the anchor.
        negative: the shape of the anchor.
        output: ``()``; ``(N)`` if `reduction` is ``"none"``.

    Example:
        >>> import oneflow as flow
        >>> a, b = flow.tensor([[0.0, 0.0]]), flow.tensor([[3.0, 4.0]])
        >>> flow.nn.TripletMarginLoss()(a, b, b)
        tensor(1., dtype=oneflow.float32)
    """

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(legacy_reduction(size_average, reduce, reduction))
        self.margin = margin
        self.p = p
        self.eps = eps
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return functional.triplet_margin_loss(
            anchor,
            positive,
            negative,
            self.margin,
            self.p,
            self.eps,
            self.swap,
            reduction=self.reduction,
        )


class TripletMarginWithDistanceLoss(_Loss):
    """`TripletMarginLoss` with any measure of distance.

    Args:
        distance_function: distance of two tensors; default: the Euclidean one.
        margin: by how much farther negatives must be.
        swap: use the distance of positive and negative if that is smaller.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.

    Attributes:
        distance_function: the function that was given, by default a `PairwiseDistance`.

    Shape:
        anchor: ``(N, D)`` or ``(D)``.
        positive: the shape of the anchor.
        negative: the shape of the anchor.
        output: ``()``; ``(N)`` if `reduction` is ``"none"``.

    Example:
        >>> import oneflow as flow
        >>> a, b = flow.tensor([[0.0, 0.0]]), flow.tensor([[3.0, 4.0]])
        >>> flow.nn.TripletMarginWithDistanceLoss()(a, b, b)
        tensor(1., dtype=oneflow.float32)
    """

    def __init__(
        self,
        *,
        distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction)
        self.distance_function = distance_function or PairwiseDistance()
        self.margin = margin
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return functional.triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )


class MultiMarginLoss(_WeightedLoss):
    """Hinge loss of other classes within `margin` of the label's.

    Args:
        p: power of each violation, 1 or 2.
        margin: the distance asked for.
        weight: weight of each class.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.

    Attributes:
        weight: ``(C)`` as it was given; None without.

    Shape:
        input: ``(N, C)`` or ``(C)``.
        target: ``(N)`` or ``()``, labels.
        output: ``()``; ``(N)`` if `reduction` is ``"none"``.

    Raises:
        ValueError: `p` is neither 1 nor 2.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.MultiMarginLoss()(flow.tensor([[0.5, 0.25]]), flow.tensor([0]))
        tensor(0.3750, dtype=oneflow.float32)
    """

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Tensor | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, reduction)
        if p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        self.p = p
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return functional.multi_margin_loss(
            input, target, self.p, self.margin, self.weight, self.reduction
        )


class MultiLabelMarginLoss(_Loss):
    """Hinge loss of other classes within 1 of each of a sample's labels.

    Args:
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.

    Shape:
        input: ``(N, C)`` or ``(C)``.
        target: ``(N, C)`` or ``(C)``: labels, and -1 after the last one.
        output: ``()``; ``(N)`` if `reduction` is ``"none"``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.MultiLabelMarginLoss()(flow.tensor([0.5, 0.25, 1.0]), flow.tensor([2, -1, 0]))
        tensor(0.2500, dtype=oneflow.float32)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return functional.multilabel_margin_loss(input, target, self.reduction)


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """Mean over the classes of the binary cross entropy of each.

    Args:
        weight: factor of each class.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.

    Attributes:
        weight: ``(C)`` as it was given; None without.

    Shape:
        input: ``(N, C)`` or ``(C)``.
        target: ``(N, C)`` or ``(C)``, 0 or 1.
        output: ``()``; ``(N)`` if `reduction` is ``"none"``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.MultiLabelSoftMarginLoss()(flow.zeros(1, 2), flow.ones(1, 2))
        tensor(0.6931, dtype=oneflow.float32)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return functional.multilabel_soft_margin_loss(input, target, self.weight, self.reduction)


class CombinedMarginLoss(Module):
    """The label's cosine as ``cos(m1 * angle + m2) - m3``; other classes as they are.

    Args:
        m1: factor of the angle (SphereFace).
        m2: added to the angle (ArcFace).
        m3: subtracted from the cosine (CosFace).

    Shape:
        x: ``(N, C)``, cosines.
        label: ``(N)``.
        output: ``(N, C)``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.CombinedMarginLoss(m3=0.25)(flow.tensor([[0.5, 0.25]]), flow.tensor([0]))
        tensor([[0.2500, 0.2500]], dtype=oneflow.float32)
    """

    def __init__(self, m1: float = 1.0, m2: float = 0.0, m3: float = 0.0) -> None:
        super().__init__()
        self.m1 = m1
        self.m2 = m2
        self.m3 = m3

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return functional.combined_margin_loss(input, target, self.m1, self.m2, self.m3)
