"""Parts of batch normalization over several processes, by the names of PyTorch's operators."""

from __future__ import annotations

import oneflow as flow
from oneflow import Tensor


def _by_channel(values: Tensor, input: Tensor) -> Tensor:
    """Values of channels in the shape in which they meet a tensor."""
    return values.reshape([-1 if dim == 1 else 1 for dim in range(input.ndim)])


def _other_dims(input: Tensor) -> list[int]:
    return [dim for dim in range(input.ndim) if dim != 1]


def _move(running: Tensor | None, value: Tensor, momentum: float) -> None:
    """Move a running statistic towards a value."""
    if running is not None:
        with flow.no_grad():
            running.mul_(1 - momentum).add_(momentum * value.to(running.dtype))


def batch_norm_update_stats(
    input: Tensor, running_mean: Tensor | None, running_var: Tensor | None, momentum: float
) -> tuple[Tensor, Tensor]:
    """Return the means and variances of the channels, and move running ones towards them.

    Args:
        input: a tensor with channels as dimension 1.
        running_mean: running means, which are changed.
        running_var: running variances, which are changed by those of samples.
        momentum: how far they are moved.
    """
    dims = _other_dims(input)
    mean, variance = input.mean(dims), input.var(dims, unbiased=False)
    count = input.numel() // max(input.shape[1], 1)
    _move(running_mean, mean, momentum)
    _move(running_var, variance * count / (count - 1), momentum)
    return mean, variance


def batch_norm_gather_stats_with_counts(
    input: Tensor,
    mean: Tensor,
    invstd: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    momentum: float,
    eps: float,
    counts: Tensor,
) -> tuple[Tensor, Tensor]:
    """Return the means, and one over the deviations, of the channels of several batches together.

    Args:
        input: one of the batches; not used but for its dtype.
        mean: the means of each batch, ``[batches, channels]``.
        invstd: one over the deviations of each.
        running_mean: running means, which are moved towards the result.
        running_var: running variances, which are moved towards the variance of samples.
        momentum: how far they are moved.
        eps: what is in the deviations.
        counts: the number of elements of a channel in each batch.
    """
    weights = counts.to(mean.dtype).reshape(-1, 1)
    total = weights.sum()
    common = (weights * mean).sum(0) / total
    squares = weights * (invstd**-2 - eps + (mean - common) ** 2)
    variance = squares.sum(0) / total
    _move(running_mean, common, momentum)
    _move(running_var, squares.sum(0) / (total - 1), momentum)
    return common, (variance + eps) ** -0.5


def batch_norm_gather_stats(
    input: Tensor,
    mean: Tensor,
    invstd: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    momentum: float,
    eps: float,
    count: int,
) -> tuple[Tensor, Tensor]:
    """`batch_norm_gather_stats_with_counts` of batches of one size, `count`."""
    counts = flow.full((mean.shape[0],), count, dtype=mean.dtype, device=mean.device)
    return batch_norm_gather_stats_with_counts(
        input, mean, invstd, running_mean, running_var, momentum, eps, counts
    )


def batch_norm_backward_reduce(
    grad_out: Tensor,
    input: Tensor,
    mean: Tensor,
    invstd: Tensor,
    weight: Tensor | None,
    input_g: bool,
    weight_g: bool,
    bias_g: bool,
) -> tuple[Tensor | None, Tensor | None, Tensor | None, Tensor | None]:
    """Return the sums of a backward pass by channel, and the gradients of weight and bias.

    Args:
        grad_out: the gradient of the output.
        input: the input.
        mean: the means of the channels.
        invstd: one over their deviations.
        weight: not used.
        input_g: whether the sums of the gradient, and of it times the input without its mean, are
            asked for, from which `batch_norm_backward_elemt` has the input's gradient.
        weight_g: whether the weight's gradient is.
        bias_g: whether the bias's is.
    """
    dims = _other_dims(input)
    sums = grad_out.sum(dims)
    products = (grad_out * (input - _by_channel(mean, input))).sum(dims)
    return (
        sums if input_g else None,
        products if input_g else None,
        products * invstd if weight_g else None,
        sums if bias_g else None,
    )


def batch_norm_backward_elemt(
    grad_out: Tensor,
    input: Tensor,
    mean: Tensor,
    invstd: Tensor,
    weight: Tensor | None,
    sum_dy: Tensor,
    sum_dy_xmu: Tensor,
    count: Tensor,
) -> Tensor:
    """Return the gradient of the input, from sums over all batches.

    Args:
        grad_out: the gradient of the output.
        input: the input.
        mean: the means of the channels.
        invstd: one over their deviations.
        weight: the factors of the channels; None for 1.
        sum_dy: the sums of the gradient.
        sum_dy_xmu: those of it times the input without its mean.
        count: the number of elements of a channel in each batch.
    """
    total = count.sum()
    centered = input - _by_channel(mean, input)
    slope = _by_channel(sum_dy_xmu * invstd**2 / total, input)
    factor = invstd if weight is None else invstd * weight
    whole = grad_out - _by_channel(sum_dy / total, input) - centered * slope
    return whole * _by_channel(factor, input)
