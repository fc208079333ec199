"""Normalisation and pooling as upstream's builtins take their arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oneflow.functional.elementwise.activation import relu, silu
from oneflow.functional.nn.adaptive_pooling import adaptive_maximum
from oneflow.functional.nn.normalization import (
    batch_norm,
    group_norm as normalize_groups,
    layer_norm as normalize_last,
    rms_norm,
)
from oneflow.functional.nn.pooling import (
    max_pool1d as pool1d,
    max_pool2d as pool2d,
    max_pool3d as pool3d,
)
from oneflow.functional.registry import function
from oneflow.functional.shape.reshape import movedim
from oneflow.tensor.operands import not_a_tensor
from oneflow.tensor.tensor import Tensor


@function(method=False, namespace="_C")
def layer_norm(x: Tensor, begin_norm_axis: int, begin_params_axis: int, epsilon: float) -> Tensor:
    """Normalise over the dimensions from `begin_norm_axis` on.

    Args:
        x: floating point tensor.
        begin_norm_axis: first of the dimensions to normalise over.
        begin_params_axis: accepted; there are no factors and summands.
        epsilon: added to the variance.

    Example:
        >>> import oneflow as flow
        >>> flow._C.layer_norm(flow.tensor([[1.0, 3.0]]), 1, 1, 0.0)
        tensor([[-1.,  1.]], dtype=oneflow.float32)
    """
    return normalize_last(x, x.shape[begin_norm_axis:], eps=epsilon)


@function(method=False, namespace="_C")
def layer_norm_affine(
    x: Tensor,
    gamma: Tensor,
    beta: Tensor,
    begin_norm_axis: int,
    begin_params_axis: int,
    epsilon: float,
) -> Tensor:
    """`layer_norm` with factors and summands, of the shape ``x.shape[begin_params_axis:]``.

    Example:
        >>> import oneflow as flow
        >>> x, ones = flow.tensor([[1.0, 3.0]]), flow.ones(2)
        >>> flow._C.layer_norm_affine(x, ones * 2, ones, 1, 1, 0.0)
        tensor([[-1.,  3.]], dtype=oneflow.float32)
    """
    if begin_norm_axis % x.ndim == begin_params_axis % x.ndim:
        return normalize_last(x, x.shape[begin_norm_axis:], gamma, beta, epsilon)
    return normalize_last(x, x.shape[begin_norm_axis:], eps=epsilon) * gamma + beta


@function(method=False, namespace="_C")
def group_norm(
    x: Tensor,
    gamma: Tensor | None = None,
    beta: Tensor | None = None,
    affine: bool = True,
    num_groups: int = 1,
    epsilon: float = 1e-5,
    data_format: str = "channels_first",
    activation: str = "none",
) -> Tensor:
    """Normalise over groups of channels; `gamma` and `beta` count with `affine` alone.

    Args:
        x: tensor of at least two dimensions.
        gamma: factor of each channel, or None.
        beta: what is added to each channel, or None.
        affine: whether the two count.
        num_groups: divides the number of channels.
        epsilon: added to variances.
        data_format: ``"channels_first"`` or ``"channels_last"``.
        activation: ``"none"`` or ``"silu"``, of the result.

    Raises:
        ValueError: another format or activation.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([[1.0, 3.0, 5.0, 5.0]])
        >>> flow._C.group_norm(x, None, None, False, 2, 1e-5)
        tensor([[-1.0000,  1.0000,  0.0000,  0.0000]], dtype=oneflow.float32)
    """
    if data_format not in ("channels_first", "channels_last") or activation not in ("none", "silu"):
        raise ValueError(f"group_norm(): no {data_format=} with {activation=}")
    is_last = data_format == "channels_last"
    weights = (gamma, beta) if affine else (None, None)
    result = normalize_groups(movedim(x, -1, 1) if is_last else x, num_groups, *weights, epsilon)
    result = movedim(result, 1, -1) if is_last else result
    return silu(result) if activation == "silu" else result


@function(method=False, namespace="_C")
def rms_layer_norm(hidden_states: Tensor, weight: Tensor, variance_epsilon: float) -> Tensor:
    """Divide by the root mean square over the last dimension, and multiply with `weight`.

    Example:
        >>> import oneflow as flow
        >>> flow._C.rms_layer_norm(flow.tensor([[3.0, 3.0]]), flow.tensor([1.0, 2.0]), 0.0)
        tensor([[1., 2.]], dtype=oneflow.float32)
    """
    if not isinstance(weight, Tensor):
        raise not_a_tensor("rms_layer_norm", "weight", 2, weight)
    return rms_norm(hidden_states, hidden_states.shape[-1:], weight, variance_epsilon)


@function(method=False, namespace=None, also=("_C.rms_norm",))
def root_mean_square_norm(
    x: Tensor,
    weight: Tensor | None = None,
    normalized_shape: Sequence[int] = (),
    epsilon: float = 1e-6,
) -> Tensor:
    """`nn.functional.rms_norm` over the dimensions of `weight`, or of `normalized_shape`.

    Example:
        >>> import oneflow as flow
        >>> flow._C.rms_norm(flow.tensor([[3.0, 3.0]]), flow.tensor([1.0, 2.0]), epsilon=0.0)
        tensor([[1., 2.]], dtype=oneflow.float32)
    """
    shape = tuple(normalized_shape) if weight is None else weight.shape
    return rms_norm(x, shape, weight, epsilon)


@function(method=False, namespace="_C")
def skip_layer_norm(
    x: Tensor,
    *,
    gamma: Tensor | None = None,
    beta: Tensor | None = None,
    bias: Tensor | None = None,
    skip: Tensor | None = None,
    epsilon: float = 1e-5,
    alpha: float = 10.0,
) -> Tensor:
    """`nn.functional.layer_norm` of ``x + bias + alpha * skip`` over the last dimension.

    Args:
        x: floating point tensor.
        gamma: factor of each feature.
        beta: summand of each feature.
        bias: added to the last dimension of `x` before; default: nothing.
        skip: tensor like `x`; default: nothing.
        epsilon: added to the variance.
        alpha: factor of `skip`.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([[1.0, 3.0]])
        >>> flow._C.skip_layer_norm(x, skip=x, epsilon=0.0, alpha=-2.0)
        tensor([[ 1., -1.]], dtype=oneflow.float32)
    """
    total = _with_bias_and_skip(x, bias, skip, alpha)
    return normalize_last(total, x.shape[-1:], gamma, beta, epsilon)


@function(method=False, namespace="_C")
def skip_rms_norm(
    x: Tensor,
    *,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    skip: Tensor | None = None,
    epsilon: float = 1e-5,
    alpha: float = 10.0,
) -> Tensor:
    """`nn.functional.rms_norm` of ``x + bias + alpha * skip`` over the last dimension.

    Args:
        x: floating point tensor.
        weight: factor of each feature.
        bias: added to the last dimension of `x` before; default: nothing.
        skip: tensor like `x`; default: nothing.
        epsilon: added to the mean square.
        alpha: factor of `skip`.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([[1.0, 1.0]])
        >>> flow._C.skip_rms_norm(x, skip=x, epsilon=0.0, alpha=-3.0)
        tensor([[-1., -1.]], dtype=oneflow.float32)
    """
    return rms_norm(_with_bias_and_skip(x, bias, skip, alpha), x.shape[-1:], weight, epsilon)


def _with_bias_and_skip(
    x: Tensor, bias: Tensor | None, skip: Tensor | None, alpha: float
) -> Tensor:
    x = x if bias is None else x + bias
    return x if skip is None else x + skip * alpha


@function(method=False, namespace="_C")
def normalization(
    x: Tensor,
    moving_mean: Tensor | None = None,
    moving_variance: Tensor | None = None,
    gamma: Tensor | None = None,
    beta: Tensor | None = None,
    axis: int = 1,
    epsilon: float = 1e-5,
    momentum: float = 0.9,
    is_training: bool = False,
) -> Tensor:
    """Batch normalisation with the channels in dimension `axis`.

    Args:
        x: floating point tensor.
        moving_mean: the mean of each channel; changed in training.
        moving_variance: likewise.
        gamma: factor of each channel.
        beta: summand of each channel.
        axis: the dimension of the channels.
        epsilon: added to the variance.
        momentum: how much of the moving averages is kept; PyTorch's is the rest.
        is_training: normalise with the batch's own mean and variance.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([[1.0, 10.0], [3.0, 30.0]])
        >>> flow._C.normalization(x, axis=0, epsilon=0.0, is_training=True)
        tensor([[-1.,  1.],
                [-1.,  1.]], dtype=oneflow.float32)
    """
    channels_second = movedim(x, axis, 1)
    y = batch_norm(
        channels_second,
        moving_mean,
        moving_variance,
        gamma,
        beta,
        is_training,
        1.0 - momentum,
        epsilon,
    )
    return movedim(y, 1, axis)


@function(method=False, namespace="_C")
def normalization_add_relu(
    x: Tensor, addend: Tensor | None = None, *statistics: Any, **options: Any
) -> Tensor:
    """`normalization`, plus `addend`, and `relu` of that.

    Args:
        x: floating point tensor.
        addend: tensor like `x`, or None.
        statistics: the further arguments of `normalization`, from `moving_mean` on.
        options: the options given by name.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([[1.0], [3.0]])
        >>> flow._C.normalization_add_relu(x, epsilon=0.0, is_training=True)
        tensor([[0.],
                [1.]], dtype=oneflow.float32)
    """
    y = normalization(x, *statistics, **options)
    return relu(y if addend is None else y + addend)


def _with_indices(pool: Any) -> Any:
    """The builtin of a pooling function: indices are returned unless `return_indices` is false."""

    def builtin(
        input: Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = True,
        ceil_mode: bool = False,
        data_format: str = "channels_first",
    ) -> Any:
        return pool(
            input,
            kernel_size,
            stride,
            padding,
            dilation,
            return_indices=return_indices,
            ceil_mode=ceil_mode,
            data_format=data_format,
        )

    builtin.__name__ = builtin.__qualname__ = pool.__name__
    builtin.__doc__ = f"`nn.functional.{pool.__name__}`, with the indices of the maxima by default."
    return function(method=False, namespace="_C")(builtin)


max_pool1d, max_pool2d, max_pool3d = map(_with_indices, (pool1d, pool2d, pool3d))


def _adaptive_max_pool(count: int) -> Any:
    """The builtin of adaptive pooling over `count` dimensions."""

    def builtin(input: Tensor, output_size: Any) -> tuple[Tensor, Tensor]:
        return adaptive_maximum(input, output_size, True, count)

    builtin.__name__ = builtin.__qualname__ = f"adaptive_max_pool{count}d"
    builtin.__doc__ = f"`nn.functional.adaptive_max_pool{count}d` with the indices of the maxima."
    return function(method=False, namespace="_C")(builtin)


adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = map(_adaptive_max_pool, (1, 2, 3))
