"""The parts of batch normalisation over several processes, as upstream's builtins."""

from __future__ import annotations

from oneflow.functional.nn.normalization import update_running
from oneflow.functional.reduce.sums import sum_
from oneflow.functional.registry import function
from oneflow.tensor.operands import cast_to, widened
from oneflow.tensor.tensor import Tensor


def _other_dims(input: Tensor, axis: int) -> list[int]:
    return [dim for dim in range(input.ndim) if dim != axis % input.ndim]


def _shaped(statistic: Tensor, input: Tensor, axis: int) -> Tensor:
    """A number of each channel, to broadcast with `input`."""
    shape = [1] * input.ndim
    shape[axis] = -1
    return statistic.reshape(shape)


@function(method=False, namespace="_C")
def batch_norm_stats(input: Tensor, axis: int, eps: float) -> tuple[Tensor, Tensor]:
    """The mean of each channel, and the reciprocal of its standard deviation.

    They are float32 for half precision.

    Args:
        input: the batch of one process.
        axis: the dimension of the channels.
        eps: added to the variance.

    Example:
        >>> import oneflow as flow
        >>> flow._C.batch_norm_stats(flow.tensor([[1.0], [3.0]]), 1, 0.0)[0]
        tensor([2.], dtype=oneflow.float32)
    """
    dims, values = _other_dims(input, axis), widened(input)
    mean = values.mean(dims)
    variance = (values - _shaped(mean, input, axis)).square().mean(dims)
    return mean, (variance + eps).rsqrt()


@function(method=False, namespace="_C")
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
    """The statistics of several processes' batches as of one; the running ones are updated.

    Args:
        input: the batch of this process, which is not read.
        mean: the means of `batch_norm_stats`, ``[processes, channels]``.
        invstd: what it returned beside them.
        running_mean: is updated, or None.
        running_var: likewise.
        momentum: the weight of these batches in the running statistics.
        eps: the value given to `batch_norm_stats`.
        counts: how many values per channel each process has.

    Example:
        >>> import oneflow as flow
        >>> mean, invstd = flow.tensor([[0.0], [2.0]]), flow.ones(2, 1)
        >>> counts = flow.tensor([3.0, 1.0])
        >>> options = (None, None, 0.1, 0.0, counts)
        >>> flow._C.batch_norm_gather_stats_with_counts(mean, mean, invstd, *options)[0]
        tensor([0.5000], dtype=oneflow.float32)
    """
    weights = counts.reshape(-1, 1).to(mean.dtype)
    total = weights.sum()
    joint = sum_(mean * weights, 0) / total
    squares = invstd.square().reciprocal() - eps + (mean - joint).square()
    variance = sum_(squares * weights, 0) / total
    unbiased = variance * (total / (total - 1))
    for running, batch in ((running_mean, joint), (running_var, unbiased)):
        update_running(running, batch.detach(), 1.0, momentum)
    return joint, (variance + eps).rsqrt()


@function(method=False, namespace="_C")
def batch_norm_elemt(
    input: Tensor,
    weight: Tensor,
    bias: Tensor,
    mean: Tensor,
    invstd: Tensor,
    axis: int,
    eps: float,
) -> Tensor:
    """`input` normalised by given statistics; `eps` is in `invstd` already.

    Example:
        >>> import oneflow as flow
        >>> one = flow.ones(1)
        >>> flow._C.batch_norm_elemt(flow.tensor([[1.0], [3.0]]), one, one, 2 * one, one, 1, 0.0)
        tensor([[0.],
                [2.]], dtype=oneflow.float32)
    """
    centered = input - _shaped(mean, input, axis)
    scaled = centered * _shaped(invstd * weight, input, axis)
    return cast_to(scaled + _shaped(bias, input, axis), input.dtype)


@function(method=False, namespace="_C")
def batch_norm_backward_reduce(
    grad_out: Tensor, input: Tensor, mean: Tensor, invstd: Tensor, axis: int
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The sums that the backward pass needs of each process.

    Args:
        grad_out: gradient of the result.
        input: the batch.
        mean: the mean of all batches.
        invstd: likewise.
        axis: the dimension of the channels.

    Returns:
        The sum of `grad_out`, that of its products with the centered input, and the gradients of
        the weight and of the bias.

    Example:
        >>> import oneflow as flow
        >>> one = flow.ones(1)
        >>> x = flow.tensor([[1.0], [3.0]])
        >>> flow._C.batch_norm_backward_reduce(x, x, 2 * one, one, 1)[1]
        tensor([2.], dtype=oneflow.float32)
    """
    dims = _other_dims(input, axis)
    grad = widened(grad_out)
    total = sum_(grad, dims)
    product = sum_(grad * (input - _shaped(mean, input, axis)), dims)
    return total, product, product * invstd, total


@function(method=False, namespace="_C")
def batch_norm_backward_elemt(
    grad_out: Tensor,
    input: Tensor,
    mean: Tensor,
    invstd: Tensor,
    weight: Tensor,
    sum_dy: Tensor,
    sum_dy_xmu: Tensor,
    count: Tensor,
    axis: int,
) -> Tensor:
    """The gradient of the input, from the sums of all processes.

    Args:
        grad_out: gradient of the result.
        input: the batch.
        mean: the mean of all batches.
        invstd: likewise.
        weight: factor per channel.
        sum_dy: the first result of `batch_norm_backward_reduce`, of all processes together.
        sum_dy_xmu: the second.
        count: how many values per channel each process has.
        axis: the dimension of the channels.

    Example:
        >>> import oneflow as flow
        >>> x, one = flow.tensor([[1.0], [3.0]]), flow.ones(1)
        >>> count = flow.tensor([2])
        >>> flow._C.batch_norm_backward_elemt(x, x, 2 * one, one, one, 4 * one, 2 * one, count, 1)
        tensor([[0.],
                [0.]], dtype=oneflow.float32)
    """
    total = count.sum().to(sum_dy.dtype)
    slope = _shaped(invstd.square() * sum_dy_xmu / total, input, axis)
    centered = grad_out - _shaped(sum_dy / total, input, axis)
    grad = centered - (input - _shaped(mean, input, axis)) * slope
    return cast_to(grad * _shaped(invstd * weight, input, axis), input.dtype)
