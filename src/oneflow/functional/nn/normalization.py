"""Normalisation: batch, layer, group, instance, root mean square, local response."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

from oneflow.base.dtype import HALF_DTYPES, DType, float32
from oneflow.base.shape import as_integer, is_sequence
from oneflow.differentiation.grad_mode import no_grad
from oneflow.functional.elementwise.arithmetic import power
from oneflow.functional.registry import function
from oneflow.primitives.operators import elementwise as e, norm as p
from oneflow.primitives.operators.pool import window_sum
from oneflow.primitives.operators.reduce import mean as mean_over
from oneflow.primitives.operators.shape import reshape
from oneflow.tensor.call import call
from oneflow.tensor.operands import promote_operands
from oneflow.tensor.tensor import Tensor
from oneflow.tensor.views import unwrap, write


@function(method=False, namespace="nn.functional")
def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-05,
) -> Tensor:
    """Normalise each channel over the batch and all spatial dimensions.

    Args:
        input: ``[N, C]`` or ``[N, C, spatial...]``.
        running_mean: ``[C]``; used when not training, updated in place when training.
        running_var: ``[C]``, likewise.
        weight: factor per channel, or None.
        bias: summand per channel, or None.
        training: normalise with the batch's own statistics.
        momentum: weight of the batch in the running statistics.
        eps: added to the variance.

    Returns:
        A tensor like `input`.

    Raises:
        ValueError: `eps` is negative, or training with one value per channel.
        RuntimeError: sizes that do not fit, or no statistics to normalise with.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([[1.0, 10.0], [3.0, 30.0]])
        >>> flow.nn.functional.batch_norm(x, None, None, training=True, eps=0.0)
        tensor([[-1., -1.],
                [ 1.,  1.]], dtype=oneflow.float32)
    """
    if eps < 0:
        raise ValueError(f"batch_norm: `eps` must not be negative, got {eps}")
    if input.ndim < 2:
        raise RuntimeError(f"batch_norm expects at least 2D input, got {list(input.shape)}")
    channels = input.shape[1]
    parts = {
        "running_mean": running_mean,
        "running_var": running_var,
        "weight": weight,
        "bias": bias,
    }
    for name, part in parts.items():
        if part is not None and part.numel() != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {part.numel()}")
    shape = (1, channels, *[1] * (input.ndim - 2))
    scale, shift = affine(weight, bias, shape)
    if not training:
        if running_mean is None or running_var is None:
            raise RuntimeError(
                "Expected running_mean and running_var to be defined when `training=False`"
            )
        statistics = [shaped(statistic, shape) for statistic in (running_mean, running_var)]
        return call(p.normalize_fixed, input, *statistics, scale, shift, eps)
    count = input.numel() // max(channels, 1)
    _check_multiple_values(count, input.shape)
    if not count:  # no statistics, so that the running ones stay
        return call(p.normalize_fixed, input, 0.0, 1.0, scale, shift, eps)
    dims = (0, *range(2, input.ndim))
    mean, variance = _moments(input, dims)
    update_running(running_mean, mean, 1.0, momentum)
    update_running(running_var, variance, count / (count - 1), momentum)
    output = call(p.normalize, input, mean, variance, scale, shift, eps, dims=dims)
    return _as_input(output, input)


def _as_input(output: Tensor, input: Tensor) -> Tensor:
    """Return the normalised values in the dtype of the input, mixed precision's of float32 too.

    Layer and group norm give float32 there; what normalises channels stays in half precision.
    """
    return output if output.dtype is input.dtype else call(e.cast, output, dtype=input.dtype)


def _check_multiple_values(count: int, shape: Sequence[int]) -> None:
    """Refuse one value per channel, which would be 0 when normalised; none at all will do."""
    if count == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {list(shape)}"
        )


def _moments(input: Tensor, dims: tuple[int, ...], **options: bool) -> tuple[Tensor, Tensor]:
    """Mean and variance; the gradient of the normalised values includes theirs."""
    with no_grad():
        return call(p.moments, input, dims=dims, **options)


def update_running(running: Tensor | None, batch: Tensor, factor: float, momentum: float) -> None:
    """Move a running statistic towards a batch's, times a factor."""
    if running is None:
        return
    with no_grad():
        new = call(
            p.running_average, running, shaped(batch, tuple(running.shape)), factor, momentum
        )
        write(running, unwrap(new))


def shaped(tensor: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The tensor in a shape of as many elements."""
    return call(reshape, tensor, shape=shape)


def affine(weight: Tensor | None, bias: Tensor | None, shape: tuple[int, ...]) -> tuple[Any, Any]:
    """Factor and summand in `shape`; numbers that change nothing where there is none."""
    return (
        1.0 if weight is None else shaped(weight, shape),
        0.0 if bias is None else shaped(bias, shape),
    )


@function(method=False, namespace="nn.functional", also=("layer_norm",))
def layer_norm(
    input: Tensor,
    normalized_shape: Any,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
) -> Tensor:
    """Normalise over the last dimensions.

    Args:
        input: tensor whose shape ends with `normalized_shape`.
        normalized_shape: sizes of the dimensions to normalise over; a number stands for the last
            one.
        weight: factors of shape `normalized_shape`, or None.
        bias: summands of shape `normalized_shape`, or None.
        eps: added to the variance.

    Returns:
        A tensor like `input`.

    Raises:
        RuntimeError: shapes that do not fit.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.layer_norm(flow.tensor([[1.0, 3.0], [2.0, 6.0]]), 2, eps=0.0)
        tensor([[-1.,  1.],
                [-1.,  1.]], dtype=oneflow.float32)
    """
    dims = _normalized_dims(input, normalized_shape, weight, bias)
    mean, variance = _moments(input, dims)
    scale = 1.0 if weight is None else weight
    shift = 0.0 if bias is None else bias
    return call(p.normalize, input, mean, variance, scale, shift, eps, dims=dims)


def _normalized_dims(
    input: Tensor, normalized_shape: Any, weight: Tensor | None, bias: Tensor | None = None
) -> tuple[int, ...]:
    """The last dimensions, after checking that all shapes agree."""
    shape = tuple(normalized_shape) if is_sequence(normalized_shape) else (normalized_shape,)
    if not shape:
        raise RuntimeError("Expected normalized_shape to be at least 1-dimensional, got ()")
    for name, part in (("weight", weight), ("bias", bias)):
        if part is not None and tuple(part.shape) != shape:
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape "
                f"{list(part.shape)} and normalized_shape = {list(shape)}"
            )
    first = input.ndim - len(shape)
    if first < 0 or tuple(input.shape[first:]) != shape:
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape [*, "
            f"{', '.join(map(str, shape))}], but got input of size{list(input.shape)}"
        )
    return tuple(range(first, input.ndim))


@function(method=False, namespace="nn.functional", also=("group_norm",))
def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
    num_channels: int | None = None,
) -> Tensor:
    """Normalise each sample over groups of channels and all spatial dimensions.

    Args:
        input: ``[N, C, spatial...]``.
        num_groups: number of groups; divides ``C``.
        weight: factor per channel, or None.
        bias: summand per channel, or None.
        eps: added to the variance.
        num_channels: ``C``, if given.

    Returns:
        A tensor like `input`.

    Raises:
        RuntimeError: sizes that do not fit.
        ValueError: there is one value per channel of a group.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.group_norm(flow.tensor([[1.0, 3.0, 2.0, 6.0]]), 2, eps=0.0)
        tensor([[-1.,  1., -1.,  1.]], dtype=oneflow.float32)
    """
    if input.ndim < 2:
        raise RuntimeError(
            f"Expected at least 2 dimensions for input tensor but received {input.ndim}"
        )
    batch, channels, *spatial = input.shape
    if num_channels is not None and num_channels != channels:
        raise RuntimeError(
            f"expected {num_channels} channels, got input of size {list(input.shape)}"
        )
    num_groups = operator.index(num_groups)
    if num_groups < 1 or channels % num_groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of "
            f"shape {list(input.shape)} and num_groups={num_groups}"
        )
    for name, part in (("weight", weight), ("bias", bias)):
        if part is not None and tuple(part.shape) != (channels,):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, "
                "but got "
                f"{name} of shape {list(part.shape)} and input of shape {list(input.shape)}"
            )
    members = channels // num_groups
    _check_multiple_values(batch * members * math.prod(spatial), input.shape)
    dims = tuple(range(2, 3 + len(spatial)))
    grouped = shaped(input, (batch, num_groups, members, *spatial))
    scale, shift = affine(weight, bias, (1, num_groups, members, *[1] * len(spatial)))
    mean, variance = _moments(grouped, dims, grouped=True)
    operands = (grouped, mean, variance, scale, shift, eps)
    output = call(p.normalize, *operands, dims=dims, grouped=True)
    return shaped(output, tuple(input.shape))


@function(method=False, namespace="nn.functional")
def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-05,
) -> Tensor:
    """Normalise each channel of each sample over its spatial dimensions.

    Args:
        input: ``[N, C, spatial...]``.
        running_mean: ``[C]``; updated in place with `use_input_stats`, else used.
        running_var: ``[C]``, likewise.
        weight: factor per channel, or None.
        bias: summand per channel, or None.
        use_input_stats: normalise with the sample's own statistics.
        momentum: weight of the batch in the running statistics.
        eps: added to the variance.

    Returns:
        A tensor like `input`.

    Raises:
        ValueError: one value per channel and sample.
        RuntimeError: no statistics to normalise with.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.instance_norm(flow.tensor([[[1.0, 3.0], [2.0, 6.0]]]), eps=0.0)
        tensor([[[-1.,  1.],
                 [-1.,  1.]]], dtype=oneflow.float32)
    """
    if not use_input_stats:
        if running_mean is None or running_var is None:
            raise RuntimeError(
                "Expected running_mean and running_var to be defined when `use_input_stats=False`"
            )
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    _, channels, *spatial = input.shape
    count = math.prod(spatial)
    if count <= 1:
        raise ValueError(
            "Expected more than 1 spatial element when training, got input size "
            f"{list(input.shape)}"
        )
    dims = tuple(range(2, input.ndim))
    scale, shift = affine(weight, bias, (1, channels, *[1] * len(spatial)))
    mean, variance = _moments(input, dims)
    for running, batch_value, factor in (
        (running_mean, mean, 1.0),
        (running_var, variance, count / (count - 1)),
    ):
        if running is not None:
            update_running(
                running, call(mean_over, batch_value, dims=(0,), keepdim=True), factor, momentum
            )
    output = call(p.normalize, input, mean, variance, scale, shift, eps, dims=dims)
    return _as_input(output, input)


@function(method=False, namespace="nn.functional", also=("rms_norm",))
def rms_norm(
    input: Tensor,
    normalized_shape: Any,
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    """Divide by the root mean square over the last dimensions.

    Args:
        input: tensor whose shape ends with `normalized_shape`.
        normalized_shape: sizes of the dimensions to normalise over; a number stands for the last
            one.
        weight: factors of shape `normalized_shape`, or None.
        eps: added to the mean square; default: the machine epsilon of the dtype.

    Returns:
        A tensor like `input`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.rms_norm(flow.tensor([3.0, 4.0, 5.0, 0.0]), (4,), eps=3.5)
        tensor([0.7500, 1.0000, 1.2500, 0.0000], dtype=oneflow.float32)
    """
    dims = _normalized_dims(input, normalized_shape, weight)
    wide = float32 if input.dtype in HALF_DTYPES else input.dtype
    x = _cast(input, wide)
    eps = p.machine_epsilon(wide) if eps is None else eps
    power = call(mean_over, call(e.square, x), dims=dims, keepdim=True)
    output = call(e.mul, x, call(e.rsqrt, call(e.add, power, eps)))
    if weight is not None:
        output = call(e.mul, output, _cast(weight, wide))
    return _cast(output, input.dtype)


def _cast(tensor: Tensor, dtype: DType) -> Tensor:
    return tensor if tensor.dtype is dtype else call(e.cast, tensor, dtype=dtype)


@function(method=False, namespace="nn.functional")
def local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """Divide each element by a power of the mean square of its `size` neighbouring channels.

    Args:
        input: ``[N, C, spatial...]``.
        size: number of neighbouring channels, the element's own included.
        alpha: factor of the mean square.
        beta: exponent.
        k: added before raising to `beta`.

    Returns:
        A tensor like `input`.

    Raises:
        ValueError: `input` has fewer than 3 dimensions.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.local_response_norm(flow.ones(1, 2, 1), 2, alpha=2.0, beta=1.0)
        tensor([[[0.5000],
                 [0.3333]]], dtype=oneflow.float32)
    """
    if input.ndim < 3:
        raise ValueError(
            f"Expected 3D or higher dimensionality input (got {input.ndim} dimensions)"
        )
    size = as_integer(size, "size")
    (input,) = promote_operands((input,), floating=True)
    squares = call(
        window_sum,
        call(e.square, input),
        dims=(1,),
        kernel=(size,),
        stride=(1,),
        padding=((size // 2, (size - 1) // 2),),
    )
    base = call(e.add, call(e.mul, squares, alpha / size), k)
    return call(e.div, input, power(base, beta))
