"""Losses that ask for a margin between samples or classes."""

from __future__ import annotations

from collections.abc import Callable

from oneflow.base.keyword_aliases import legacy_reduction
from oneflow.base.shape import broadcast_shapes
from oneflow.functional.elementwise.arithmetic import binary
from oneflow.functional.nn.distance import pairwise_distance
from oneflow.functional.nn.loss import check_reduction, reduced
from oneflow.functional.registry import function
from oneflow.primitives.operators import elementwise as p, loss as losses
from oneflow.tensor.call import call
from oneflow.tensor.operands import as_float, promote_operands
from oneflow.tensor.tensor import Tensor


@function(
    method=False,
    namespace="nn.functional",
    also=("margin_ranking_loss",),
    keyword_aliases={"input_1": "input1", "input_2": "input2"},
)
def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: str = "mean"
) -> Tensor:
    """``max(0, -target * (input1 - input2) + margin)``: `target` 1 ranks `input1` higher.

    Args:
        input1: any shape.
        input2: same shape.
        target: 1 or -1.
        margin: how far apart they must be.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.

    Example:
        >>> import oneflow as flow
        >>> x, y = flow.tensor([1.0]), flow.tensor([3.0])
        >>> flow.nn.functional.margin_ranking_loss(x, y, flow.tensor([1.0]))
        tensor(2., dtype=oneflow.float32)
    """
    if not input1.ndim == input2.ndim == target.ndim:
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.shape}, input2: {input2.shape}, target: {target.shape}"
        )
    operands = promote_operands((input1, input2, target), floating=True)
    return reduced(call(losses.margin_ranking, *operands, as_float(margin, "margin")), reduction)


@function(method=False, namespace="nn.functional", also=("hinge_embedding_loss",))
def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, reduction: str = "mean"
) -> Tensor:
    """`input` where `target` is 1, ``max(0, margin - input)`` where it is -1.

    Args:
        input: distances.
        target: 1 or -1.
        margin: how large the distance of dissimilar pairs must be.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.

    Example:
        >>> import oneflow as flow
        >>> x, y = flow.tensor([0.5, 0.25]), flow.tensor([1.0, -1.0])
        >>> flow.nn.functional.hinge_embedding_loss(x, y)
        tensor(0.6250, dtype=oneflow.float32)
    """
    operands = promote_operands((input, target))
    return reduced(call(losses.hinge_embedding, *operands, as_float(margin, "margin")), reduction)


@function(method=False, namespace="nn.functional", also=("cosine_embedding_loss",))
def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: str = "mean"
) -> Tensor:
    """``1 - cosine`` where `target` is 1, ``max(0, cosine - margin)`` where it is -1.

    Args:
        input1: shape ``(N, D)`` or ``(D,)``.
        input2: same shape.
        target: 1 or -1, shape ``(N,)`` or none.
        margin: cosines of dissimilar pairs up to this cost nothing.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([[1.0, 0.0]])
        >>> flow.nn.functional.cosine_embedding_loss(x, x, flow.tensor([-1.0]))
        tensor(1., dtype=oneflow.float32)
    """
    if target.ndim not in (0, 1) or input1.ndim != target.ndim + 1:
        raise RuntimeError(
            f"{target.ndim}D target tensor expects {target.ndim + 1}D input tensors, but found "
            f"inputs with sizes {list(input1.shape)} and {list(input2.shape)}."
        )
    operands = promote_operands((input1, input2, target), floating=True)
    return reduced(call(losses.cosine_embedding, *operands, as_float(margin, "margin")), reduction)


def _require_margin(margin: float) -> None:
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")


@function(method=False, namespace="nn.functional", also=("triplet_margin_loss",))
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``max(0, |anchor - positive| - |anchor - negative| + margin)``.

    Args:
        anchor: shape ``(N, D)`` or ``(D,)``.
        positive: samples that should be near.
        negative: samples that should be far.
        margin: by how much farther.
        p: which norm measures distance.
        eps: added to differences, so that distances have gradients.
        swap: use the distance of `positive` and `negative` if that is smaller.
        size_average: PyTorch's old switch, see `reduction`.
        reduce: PyTorch's old switch, see `reduction`.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.

    Example:
        >>> import oneflow as flow
        >>> a, b = flow.tensor([[0.0, 0.0]]), flow.tensor([[3.0, 4.0]])
        >>> flow.nn.functional.triplet_margin_loss(a, b, b)
        tensor(1., dtype=oneflow.float32)
    """
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of "
            f"dimensions, but got: anchor {anchor.ndim}D, positive {positive.ndim}D, and negative "
            f"{negative.ndim}D inputs"
        )
    _require_margin(margin)
    broadcast_shapes(anchor.shape, positive.shape, negative.shape)
    operands = promote_operands((anchor, positive, negative), floating=True)
    elementwise = call(
        losses.triplet_margin,
        *operands,
        as_float(margin, "margin"),
        as_float(eps, "eps"),
        p=as_float(p, "p"),
        swap=swap,
    )
    return reduced(elementwise, legacy_reduction(size_average, reduce, reduction))


@function(method=False, namespace="nn.functional")
def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """`triplet_margin_loss` with any measure of distance.

    Args:
        anchor: the samples.
        positive: samples that should be near.
        negative: samples that should be far.
        distance_function: distance of two tensors; default: `pairwise_distance`.
        margin: by how much farther.
        swap: use the distance of `positive` and `negative` if that is smaller.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.

    Example:
        >>> import oneflow as flow
        >>> a, b = flow.tensor([[0.0, 0.0]]), flow.tensor([[3.0, 4.0]])
        >>> flow.nn.functional.triplet_margin_with_distance_loss(a, b, b)
        tensor(1., dtype=oneflow.float32)
    """
    _require_margin(margin)
    distance = distance_function or pairwise_distance
    positive_distance, negative_distance = distance(anchor, positive), distance(anchor, negative)
    if swap:
        negative_distance = binary(p.minimum, negative_distance, distance(positive, negative))
    ones = call(p.ones_like, positive_distance)
    return reduced(
        call(
            losses.margin_ranking,
            negative_distance,
            positive_distance,
            ones,
            as_float(margin, "margin"),
        ),
        reduction,
    )


@function(method=False, namespace="nn.functional")
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Hinge loss of other classes within `margin` of the label's: the mean over the classes.

    Args:
        input: scores, shape ``(N, C)`` or ``(C,)``.
        target: integer labels, shape ``(N,)`` or none.
        p: power of each violation, 1 or 2.
        margin: the distance asked for.
        weight: weight of each class, shape ``(C,)``.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.

    Raises:
        ValueError: `p` is neither 1 nor 2, or `reduction` is unknown.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([[0.5, 0.25]])
        >>> flow.nn.functional.multi_margin_loss(x, flow.tensor([0]))
        tensor(0.3750, dtype=oneflow.float32)
    """
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    check_reduction(reduction)
    if weight is not None and weight.ndim != 1:
        raise ValueError(f"weight must be one-dimensional, got shape {tuple(weight.shape)}")
    input = input if input.ndim else input.reshape(1)
    if input.ndim == 1 and target.ndim == 1:
        target = target.reshape(())
    weights = () if weight is None else (weight,)
    elementwise = call(
        losses.multi_margin, input, target, as_float(margin, "margin"), *weights, p=p
    )
    return reduced(elementwise, reduction)


@function(method=False, namespace="nn.functional")
def multilabel_margin_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """Hinge loss of other classes within 1 of each of a sample's labels.

    Args:
        input: scores, shape ``(N, C)`` or ``(C,)``.
        target: labels of the same shape; the first -1 ends a sample's list.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.

    Example:
        >>> import oneflow as flow
        >>> x, y = flow.tensor([[0.5, 0.25, 1.0]]), flow.tensor([[2, -1, 0]])
        >>> flow.nn.functional.multilabel_margin_loss(x, y)
        tensor(0.2500, dtype=oneflow.float32)
    """
    if input.shape != target.shape:
        raise RuntimeError(
            f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}"
        )
    check_reduction(reduction)
    if not input.ndim:
        input, target = input.reshape(1), target.reshape(1)
    return reduced(call(losses.multilabel_margin, input, target), reduction)


@function(method=False, namespace="nn.functional")
def multilabel_soft_margin_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, reduction: str = "mean"
) -> Tensor:
    """Mean over the classes of the binary cross entropy of each.

    Args:
        input: logits, shape ``(N, C)``.
        target: 0 or 1, same shape.
        weight: factor of each class.
        reduction: ``"none"``, ``"mean"`` or ``"sum"``.

    Example:
        >>> import oneflow as flow
        >>> x, y = flow.tensor([[0.0, 0.0]]), flow.tensor([[1.0, 0.0]])
        >>> flow.nn.functional.multilabel_soft_margin_loss(x, y)
        tensor(0.6931, dtype=oneflow.float32)
    """
    weights = () if weight is None else (weight,)
    operands = promote_operands((input, target, *weights))
    return reduced(call(losses.multilabel_soft_margin, *operands), reduction)


@function(method=False, namespace="nn.functional", keyword_aliases={"label": "target"})
def combined_margin_loss(
    input: Tensor, target: Tensor, m1: float = 1.0, m2: float = 0.0, m3: float = 0.0
) -> Tensor:
    """The label's cosine as ``cos(m1 * angle + m2) - m3``; other classes as they are.

    Args:
        input: cosines, shape ``(N, C)``.
        target: integer labels, shape ``(N,)``.
        m1: factor of the angle (SphereFace).
        m2: added to the angle (ArcFace).
        m3: subtracted from the cosine (CosFace).

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([[0.5, 0.25]])
        >>> flow.nn.functional.combined_margin_loss(x, flow.tensor([0]), m3=0.25)
        tensor([[0.2500, 0.2500]], dtype=oneflow.float32)
    """
    return call(losses.combined_margin, input, target, float(m1), float(m2), float(m3))
