"""Losses of classification, and what all losses share."""

from __future__ import annotations

from typing import Any

from oneflow.base.dtype import Category
from oneflow.base.shape import as_integer
from oneflow.functional.elementwise.activation import require_floating
from oneflow.functional.registry import function
from oneflow.primitives.operators import cross_entropy as c
from oneflow.primitives.operators.reduce import mean, sum_
from oneflow.tensor.call import call
from oneflow.tensor.operands import promote_operands
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import unwrap

REDUCTIONS = ("none", "mean", "sum")


def check_reduction(reduction: str, choices: tuple[str, ...] = REDUCTIONS) -> None:
    """Refuse a `reduction` other than none, mean and sum, or what else a loss takes.

    Raises:
        ValueError: names the value given.
    """
    if reduction not in choices:
        raise ValueError(
            f"{reduction} is not a valid value for reduction; use one of {', '.join(choices)}"
        )


def reduced(losses: Tensor, reduction: Any) -> Tensor:
    """The losses themselves, their mean or their sum."""
    check_reduction(reduction)
    if reduction == "none":
        return losses
    return call(mean if reduction == "mean" else sum_, losses, dims=tuple(range(losses.ndim)))


def checked_labels(logits: tuple[int, ...], target: Tensor) -> Tensor:
    """Return the labels in the shape that fits logits of some shape.

    OneFlow also takes them with further dimensions of size 1, such as ``(N, 1)``.

    Raises:
        IndexError: there are labels and no classes.
        RuntimeError: the dtype is a floating point one, or the class dimension is missing.
        ValueError: the numbers of samples differ.
    """
    labels = unwrap(target).spec.shape
    if unwrap(target).spec.dtype.category is not Category.INTEGER:
        raise RuntimeError(
            f"expected `target` to have integer labels, got {target.dtype} of shape "
            f"{labels}; probabilities of classes need the shape of `input`"
        )
    if not logits:
        raise RuntimeError("expected `input` to have a dimension of classes, got a 0-dim tensor")
    if not logits[:2][-1] and target.numel():
        raise IndexError(f"every label is out of bounds: `input` of shape {logits} has no classes")
    if len(logits) == 1:
        if labels == (1,):
            target, labels = target.reshape(()), ()
        matches = len(labels) <= 1 and target.numel() == 1
        expected = labels
    else:
        matches = bool(labels) and logits[0] == labels[0]
        expected = (logits[0], *logits[2:])
        if matches and labels != expected and _without_ones(labels) == _without_ones(expected):
            return target.reshape(expected)
    if not matches:
        raise ValueError(
            f"Expected input batch_size ({logits[0] if len(logits) > 1 else 1}) to match "
            f"target batch_size ({labels[0] if labels else 1})."
        )
    if labels != expected:
        raise RuntimeError(f"expected `target` of shape {expected}, got {labels}")
    return target


def _without_ones(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([size for size in shape if size != 1])


def class_weights(logits: tuple[int, ...], weight: Tensor | None) -> tuple[Tensor, ...]:
    """Class weights for logits of some shape as a tuple of none or one.

    Raises:
        RuntimeError: there is not one weight per class.
    """
    if weight is None:
        return ()
    classes = logits[:2][-1]
    if tuple(weight.shape) != (classes,):
        raise RuntimeError(
            f"cross_entropy: weight tensor should be defined either for all {classes} classes or "
            f"no classes but got weight tensor of shape: {list(weight.shape)}"
        )
    return (weight,)


@function(method=False, namespace="nn.functional", also=("_C.cross_entropy",))
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Cross entropy between logits and labels or probabilities of classes.

    Args:
        input: logits of shape ``(N, C, d1, ...)``, or ``(C,)`` for one sample.
        target: integer labels of shape ``(N, d1, ...)`` or ``(N, 1, d1, ...)``, or probabilities of
            `input`'s shape.
        weight: weight of each class, shape ``(C,)``.
        ignore_index: samples with this label do not count.
        reduction: ``"none"``, ``"mean"`` (weighted by the labels' weights) or ``"sum"``.
        label_smoothing: this much of each label is spread evenly over all classes.

    Raises:
        IndexError: a label outside ``[0, C)``, when a result is next read.
        ValueError: `reduction` is unknown, or the numbers of samples differ.

    Example:
        >>> import oneflow as flow
        >>> logits = flow.tensor([[2.0, 0.0], [0.0, 2.0]])
        >>> flow.nn.functional.cross_entropy(logits, flow.tensor([0, 1]))
        tensor(0.1269, dtype=oneflow.float32)
    """
    check_reduction(reduction)
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    require_floating(input, "cross_entropy")
    weights = class_weights(unwrap(input).spec.shape, weight)
    logits, labels = unwrap(input).spec, unwrap(target).spec
    if labels.shape == logits.shape and labels.dtype.category is Category.FLOAT:
        operands = (*promote_operands((input, target)), label_smoothing, *weights)
        return call(c.cross_entropy_probabilities, *operands, reduction=reduction)
    target = checked_labels(unwrap(input).spec.shape, target)
    if type(ignore_index) is not int:
        ignore_index = as_integer(ignore_index, "ignore_index")
    return call(
        c.cross_entropy,
        input,
        target,
        label_smoothing,
        *weights,
        reduction=reduction,
        ignore_index=ignore_index,
        smooth=label_smoothing != 0,
    )


@function(method=False, namespace="nn.functional")
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """Negative log likelihood: minus the entry of `input` at each label.

    Args:
        input: logarithms of probabilities, shape ``(N, C, d1, ...)`` or ``(C,)``.
        target: integer labels of shape ``(N, d1, ...)``.
        weight: weight of each class, shape ``(C,)``.
        ignore_index: samples with this label do not count.
        reduction: ``"none"``, ``"mean"`` (weighted by the labels' weights) or ``"sum"``.

    Raises:
        IndexError: a label outside ``[0, C)``, when a result is next read.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([[-0.5, -1.0], [-2.0, -0.25]])
        >>> flow.nn.functional.nll_loss(x, flow.tensor([0, 1]))
        tensor(0.3750, dtype=oneflow.float32)
    """
    check_reduction(reduction)
    require_floating(input, "nll_loss")
    target = checked_labels(unwrap(input).spec.shape, target)
    weights = class_weights(unwrap(input).spec.shape, weight)
    ignored = as_integer(ignore_index, "ignore_index")
    return call(c.nll, input, target, *weights, reduction=reduction, ignore_index=ignored)


@function(method=False, namespace="nn.functional")
def sparse_softmax_cross_entropy(labels: Tensor, logits: Tensor) -> Tensor:
    """Cross entropy of each sample, without reduction.

    Args:
        labels: integer labels of shape ``(N,)``.
        logits: shape ``(N, C)``.

    Example:
        >>> import oneflow as flow
        >>> logits = flow.tensor([[2.0, 0.0], [0.0, 2.0]])
        >>> flow.nn.functional.sparse_softmax_cross_entropy(flow.tensor([0, 0]), logits)
        tensor([0.1269, 2.1269], dtype=oneflow.float32)
    """
    return cross_entropy(logits, labels, reduction="none")
