"""Batch normalisation by the statistics of the batches of all processes."""

from __future__ import annotations

from typing import Any

from oneflow.base import cluster
from oneflow.distributed.differentiable import sum_over_processes
from oneflow.functional.nn.normalization import affine, shaped, update_running
from oneflow.functional.nn.padding import pad
from oneflow.functional.shape.concat import cat
from oneflow.primitives.operators import norm
from oneflow.primitives.operators.creation import full_float
from oneflow.primitives.operators.reduce import sum_
from oneflow.primitives.operators.shape import reshape
from oneflow.tensor.call import call, wrap
from oneflow.tensor.operands import widened
from oneflow.tensor.tensor import Tensor


def synchronized_batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None,
    bias: Tensor | None,
    momentum: Any,
    eps: float,
    ranks: tuple[int, ...],
) -> Tensor:
    """Normalise each channel by its mean and variance over the batches of several processes.

    Batches may have different sizes, and some may be empty.

    Args:
        input: ``[N, C]`` or ``[N, C, spatial...]``, the batch of this process.
        running_mean: ``[C]``, is updated; or None.
        running_var: ``[C]``, likewise.
        weight: factor per channel, or None.
        bias: summand per channel, or None.
        momentum: weight of the batches in the running statistics.
        eps: added to the variance.
        ranks: the processes, all of which call this.
    """
    mean, variance, count = _joint_moments(input, ranks)
    unbiased = variance * (count / (count - 1))
    for running, batch in ((running_mean, mean), (running_var, unbiased)):
        update_running(running, batch.detach(), 1.0, momentum)
    shape = (1, input.shape[1], *[1] * (input.ndim - 2))
    statistics = [shaped(statistic, shape) for statistic in (mean, variance)]
    return call(norm.normalize_fixed, input, *statistics, *affine(weight, bias, shape), eps)


def _joint_moments(input: Tensor, ranks: tuple[int, ...]) -> tuple[Tensor, Tensor, Tensor]:
    """Return mean and variance of each channel over all processes, and the number of values."""
    means, variances, counts = _moments_of_processes(input, ranks)
    count = counts.sum()
    mean = (means * counts).sum(0) / count
    variance = ((variances + (means - mean) ** 2) * counts).sum(0) / count
    return mean, variance, count


def _moments_of_processes(input: Tensor, ranks: tuple[int, ...]) -> tuple[Tensor, Tensor, Tensor]:
    """Return mean and variance of each process and channel, and the count of each process."""
    channels = input.shape[1]
    dims = (0, *range(2, input.ndim))
    count = input.numel() // channels
    if count:
        mean, variance = call(norm.moments, input, dims=dims)
    else:
        # Zeros that depend on the input: the backward pass is one of all processes.
        mean = variance = call(sum_, widened(input), dims=dims, keepdim=True)
    counts = wrap(full_float(float(count), shape=(1,), dtype=mean.dtype, device=mean.device))
    own = cat(
        [call(reshape, statistic, shape=(channels,)) for statistic in (mean, variance)] + [counts]
    )
    # Each process has a row of its own, and sums with zeros are exact.
    index, size = ranks.index(cluster.rank()), len(ranks)
    rows = pad(call(reshape, own, shape=(1, 2 * channels + 1)), [0, 0, index, size - 1 - index])
    gathered = sum_over_processes(rows, ranks)
    return gathered[:, :channels], gathered[:, channels:-1], gathered[:, -1:]
