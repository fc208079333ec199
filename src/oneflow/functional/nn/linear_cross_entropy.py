"""Cross entropy of the logits that a linear layer gives."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

from oneflow.base.dtype import DType, int64
from oneflow.functional.nn.dense import linear
from oneflow.functional.nn.loss import (
    check_reduction,
    checked_labels,
    class_weights,
    cross_entropy,
)
from oneflow.functional.registry import function
from oneflow.primitives.operators.elementwise import cast
from oneflow.primitives.operators.linear_cross_entropy import (
    linear_cross_entropy as chunked_losses,
)
from oneflow.tensor.call import call
from oneflow.tensor.tensor import Tensor


@dataclass(frozen=True)
class LinearCrossEntropyOptions:
    """The way in which `linear_cross_entropy` goes over the rows of its input.

    Only the logits of one chunk of rows exist at a time, forward and backward.

    Args:
        allow_retain_graph: without effect: several backward passes are always possible.
        batch_chunk_size: rows of a chunk.
        chunking_method: how rows of a chunk are chosen without `batch_chunk_size`.
            ``"auto"``: as many as the input has features, the last power of two, so that the
            logits of a chunk are no larger than the gradient of the weight, which is read and
            written for each. ``"aspect_ratio"``: so that they have the size of the whole input,
            the next power of two; ``"aspect_ratio:2"``: half of that, and so on. None: all rows.
        acc_policy: without effect: sums are always float32 or wider.
        acc_dtype: without effect.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.LinearCrossEntropyOptions(batch_chunk_size=128).batch_chunk_size
        128
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: DType | None = None

    def __post_init__(self) -> None:
        if self.acc_policy not in ("auto", "accurate", "balanced", "compact"):
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}")
        if self.chunking_method not in (None, "auto") and _divisor(self.chunking_method) < 1:
            raise ValueError(f"invalid chunking_method: {self.chunking_method!r}")
        size = self.batch_chunk_size
        if size is not None and not (isinstance(size, int) and size > 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {size!r}")

    def rows_of_chunk(self, rows: int, linear_weight: Tensor) -> int:
        """The rows of a chunk of so many."""
        if self.batch_chunk_size is not None:
            return self.batch_chunk_size
        if self.chunking_method is None:
            return max(rows, 1)
        classes, features = linear_weight.shape[0], max(linear_weight.shape[-1], 1)
        if self.chunking_method == "auto":
            return 1 << (features.bit_length() - 1)
        size = -(-rows // max(-(-classes // features), 1))
        power = 1 << (max(size, 1) - 1).bit_length()
        return max(power // _divisor(self.chunking_method), 1)


def _divisor(method: str) -> int:
    """The number in the name of a method; 0: it is none."""
    name, separator, number = method.partition(":")
    if name != "aspect_ratio" or (separator and not number.isdigit()):
        return 0
    return int(number or 1)


@function(method=False, namespace="nn.functional")
def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: LinearCrossEntropyOptions | None = None,
) -> Tensor:
    """`cross_entropy` of ``linear(input, linear_weight, linear_bias)``.

    With `options` the matrix of logits never exists as a whole, which saves most of a language
    model's memory; the backward pass computes logits again.

    Args:
        input: ``(N, in_features)``, or ``(in_features)`` for one sample.
        linear_weight: ``(C, in_features)``, or ``(C, d1, ..., in_features)`` for several losses of
            a sample.
        target: labels ``(N, d1, ...)``, or probabilities ``(N, C, d1, ...)``.
        linear_bias: ``(C, d1, ...)``.
        weight: weight of each class, shape ``(C)``.
        reduction: ``"none"``, ``"mean"`` (weighted by the labels' weights) or ``"sum"``.
        ignore_index: samples with this label do not count; None: -100.
        label_smoothing: this much of each label is spread evenly over all classes.
        options: go over the rows in chunks; for int64 labels, without `label_smoothing` and
            ``d1, ...``, else they have no effect but a warning.

    Raises:
        RuntimeError: shapes do not fit, or `ignore_index` is given with probabilities.
        IndexError: a label outside ``[0, C)``, when a result is next read.

    Example:
        >>> import oneflow as flow
        >>> hidden, head = flow.eye(2), flow.tensor([[2.0, 0.0], [0.0, 2.0]])
        >>> options = flow.nn.LinearCrossEntropyOptions(batch_chunk_size=1)
        >>> labels = flow.tensor([0, 1])
        >>> flow.nn.functional.linear_cross_entropy(hidden, head, labels, options=options)
        tensor(0.1269, dtype=oneflow.float32)
    """
    classes, outer = _checked_shapes(input, linear_weight, linear_bias)
    is_of_labels = tuple(target.shape) != (*input.shape[:-1], classes, *outer)
    if not is_of_labels and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    ignore_index = -100 if ignore_index is None else ignore_index
    if options is not None and _can_chunk(target, reduction, label_smoothing, outer):
        check_reduction(reduction)
        return _chunked(
            input, linear_weight, target, linear_bias, weight, reduction, ignore_index, options
        )
    features = input.shape[-1]
    flat_bias = linear_bias.reshape(-1) if linear_bias is not None else None
    logits = linear(input, linear_weight.reshape(-1, features), flat_bias)
    logits = logits.reshape(*input.shape[:-1], classes, *outer)
    return cross_entropy(logits, target, weight, ignore_index, reduction, label_smoothing)


def _checked_shapes(
    input: Tensor, linear_weight: Tensor, linear_bias: Tensor | None
) -> tuple[int, tuple[int, ...]]:
    """The number of classes, and the dimensions of several losses of a sample.

    Raises:
        RuntimeError: shapes do not fit.
    """
    if input.ndim not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.ndim}")
    if linear_weight.ndim < 2:
        raise RuntimeError(
            f"expected linear_weight with dimensionality at least 2, got {linear_weight.ndim}"
        )
    if input.shape[-1] != linear_weight.shape[-1]:
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), got "
            f"{input.shape[-1]} and {linear_weight.shape[-1]}, respectively"
        )
    classes, *outer = linear_weight.shape[:-1]
    if linear_bias is not None and tuple(linear_bias.shape) != (classes, *outer):
        raise RuntimeError(
            f"expected linear_bias shape {(classes, *outer)}, got {tuple(linear_bias.shape)}"
        )
    if outer and input.ndim == 1:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {tuple(linear_weight.shape)} "
            f"requires batched input, (N, {input.shape[-1]}), got unbatched input with shape "
            f"{tuple(input.shape)}"
        )
    return classes, tuple(outer)


def _can_chunk(target: Tensor, reduction: str, smoothing: float, outer: tuple[int, ...]) -> bool:
    """Return true if options have an effect, and warn if not."""
    if target.dtype == int64 and smoothing == 0 and not outer:
        return True
    warnings.warn(
        "linear_cross_entropy: ``options`` ignored; they need labels of int64, label_smoothing "
        f"== 0 and out_features == (). Got target.dtype={target.dtype}, "
        f"label_smoothing={smoothing}, out_features={outer}, reduction={reduction!r}.",
        stacklevel=4,
    )
    return False


def _chunked(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    linear_bias: Tensor | None,
    weight: Tensor | None,
    reduction: str,
    ignore_index: int,
    options: LinearCrossEntropyOptions,
) -> Tensor:
    shape = (*input.shape[:-1], linear_weight.shape[0])
    weights, target = class_weights(shape, weight), checked_labels(shape, target)
    rows, labels = input.reshape(-1, input.shape[-1]), target.reshape(-1)
    biases = () if linear_bias is None else (linear_bias,)
    losses = call(
        chunked_losses,
        rows,
        linear_weight,
        labels,
        *biases,
        *weights,
        has_bias=linear_bias is not None,
        ignore_index=ignore_index,
        chunk=options.rows_of_chunk(rows.shape[0], linear_weight),
    )
    if reduction == "none":
        return call(cast, losses.reshape(target.shape), dtype=input.dtype)
    total = losses.sum()
    if reduction == "mean":
        total = total / _divisor_of_mean(labels, weight, ignore_index, losses.dtype)
    return call(cast, total, dtype=input.dtype)


def _divisor_of_mean(
    labels: Tensor, weight: Tensor | None, ignore_index: int, dtype: DType
) -> Tensor:
    """The sum of the weights of labels that are not ignored."""
    is_valid = labels != ignore_index
    if weight is None:
        return is_valid.sum().to(dtype)
    weights = weight.to(dtype).index_select(0, labels.clamp(0, weight.shape[0] - 1))
    return (weights * is_valid).sum()
