"""Connectionist temporal classification."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from oneflow.base.dtype import int64
from oneflow.base.shape import as_integer
from oneflow.functional.nn.loss import check_reduction, reduced
from oneflow.functional.registry import function
from oneflow.primitives.operators import ctc as c
from oneflow.primitives.operators.elementwise import cast, clamp, div
from oneflow.tensor.call import call
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.transfer import import_array

Lengths = Tensor | Sequence[int] | int


def _on_host(lengths: Lengths, count: int, most: int, name: str) -> np.ndarray:
    """Lengths as a NumPy array.

    Raises:
        RuntimeError: their number is wrong, one is negative or too large, or a tensor is of floats.
        TypeError: they are no integers.
    """
    array = np.atleast_1d(lengths.numpy() if isinstance(lengths, Tensor) else np.asarray(lengths))
    if array.size and array.dtype.kind not in "iu":
        kind = RuntimeError if isinstance(lengths, Tensor) else TypeError
        raise kind(f"ctc_loss(): `{name}` must be integers, got {array.tolist()}")
    if array.shape != (count,):
        raise RuntimeError(f"{name} must be of size batch_size: {count}, got {array.shape}")
    if len(array) and (array.min() < 0 or array.max() > most):
        raise RuntimeError(
            f"Expected {name} to have value between 0 and {most}, but got {array.tolist()}"
        )
    return array.astype(np.int64)


def _padded_targets(targets: Tensor, lengths: np.ndarray) -> Tensor:
    """Targets as ``(batch, longest)``; concatenated ones are cut into rows."""
    if targets.ndim == 2:
        return targets
    if not targets.shape[0]:
        return targets.new_zeros((len(lengths), 1))
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    positions = starts[:, None] + np.arange(max(lengths.max(initial=0), 1))
    positions = np.minimum(positions, max(targets.shape[0] - 1, 0))
    return targets[import_array(positions, int64, targets.device)]


@function(method=False, namespace="nn.functional", also=("ctc_loss",))
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Lengths,
    target_lengths: Lengths,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Negative log likelihood of sequences of labels, whatever their alignment.

    Args:
        log_probs: logarithms of probabilities, shape ``(T, N, C)`` or ``(T, C)``.
        targets: labels, shape ``(N, S)``, or all sequences one after the other.
        input_lengths: how many steps of each sample count.
        target_lengths: how many labels each sample has.
        blank: number of the blank.
        reduction: ``"none"``, ``"mean"`` (each loss divided by its number of labels) or ``"sum"``.
        zero_infinity: infinite losses, of samples too short for their labels, count as 0.

    Raises:
        RuntimeError: `log_probs` is empty, or lengths or `blank` do not fit.

    Example:
        >>> import oneflow as flow
        >>> x = flow.log_softmax(flow.zeros(4, 1, 3), 2)
        >>> flow.nn.functional.ctc_loss(x, flow.tensor([[1, 2]]), [4], [2])
        tensor(0.8432, dtype=oneflow.float32)
    """
    check_reduction(reduction)
    blank = as_integer(blank, "blank")
    if not 0 <= blank < log_probs.shape[-1]:
        raise RuntimeError(f"blank must be in label range, got {blank}")
    batched = log_probs.ndim == 3
    scores = log_probs if batched else log_probs.unsqueeze(1)
    steps, batch, _ = scores.shape
    if not scores.numel():
        raise RuntimeError(
            f"ctc_loss(): `log_probs` must not be empty, got one of shape {list(log_probs.shape)}"
        )
    if not batched and targets.ndim == 1:
        targets = targets.unsqueeze(0)
    most = targets.shape[1] if targets.ndim == 2 else targets.shape[0]
    inputs = _on_host(input_lengths, batch, steps, "input_lengths")
    labels = _on_host(target_lengths, batch, most, "target_lengths")
    padded = _padded_targets(targets, labels)
    sizes = [import_array(lengths, int64, scores.device) for lengths in (inputs, labels)]
    options = {"blank": blank, "zero_infinity": zero_infinity}
    losses = call(c.ctc, scores, padded, *sizes, **options)
    if reduction == "mean":
        counts = call(cast, call(clamp, sizes[1], 1, 2**62), dtype=losses.dtype)
        return reduced(call(div, losses, counts), "mean")
    losses = losses if batched else losses.squeeze(0)
    return reduced(losses, reduction)


@function(method=False, namespace="nn.functional")
def ctc_greedy_decoder(
    log_probs: Tensor, input_lengths: Tensor, merge_repeated: bool = True
) -> tuple[Tensor, Tensor]:
    """The most likely label of every step, without blanks (0).

    Args:
        log_probs: shape ``(T, N, C)``.
        input_lengths: how many steps of each sample count, shape ``(N,)``.
        merge_repeated: count repeated labels once.

    Returns:
        The labels ``(N, T)``, zeros after the last, and minus the sum of their `log_probs`.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([[[0.0, 1.0]], [[0.0, 1.0]], [[2.0, 1.0]], [[0.0, 3.0]]])
        >>> labels, cost = flow.nn.functional.ctc_greedy_decoder(x, flow.tensor([4]))
        >>> labels.tolist(), cost.tolist()
        ([[1, 1, 0, 0]], [[-7.0]])
    """
    path, cost = call(
        c.ctc_greedy_decoder, log_probs, input_lengths, merge_repeated=bool(merge_repeated)
    )
    return path, cost
