"""Layers with variables of their own: `oneflow.layers`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from oneflow.base.sbp import BROADCAST, Sbp
from oneflow.functional.elementwise import activation as activations
from oneflow.functional.nn import normalization
from oneflow.functional.nn.interpolate import interpolate
from oneflow.functional.reduce import sums
from oneflow.functional.shape import reshape
from oneflow.legacy.context import current_placement, current_run
from oneflow.legacy.initializers import Initializer, constant_initializer
from oneflow.legacy.regularizers import Regularizer
from oneflow.legacy.variables import get_variable
from oneflow.legacy_functions import windows
from oneflow.tensor.tensor import Tensor

Activation = Callable[..., Tensor] | None


def _input(x: Tensor) -> Tensor:
    """Return the input of a layer on the devices that the layer's variables are on."""
    placement = current_placement()
    if placement is None or (x.is_global and x.placement == placement):
        return x
    return x.to_global(placement=placement, sbp=[BROADCAST] * placement.ndim)


def dense(
    inputs: Tensor,
    units: int,
    activation: Activation = None,
    use_bias: bool = True,
    kernel_initializer: Initializer | None = None,
    bias_initializer: Initializer | None = None,
    kernel_regularizer: Regularizer | None = None,
    bias_regularizer: Regularizer | None = None,
    trainable: bool = True,
    name: str | None = None,
    model_distribute: Sbp = BROADCAST,
) -> Tensor:
    """A fully connected layer with the variables ``name-weight`` and ``name-bias``.

    Args:
        inputs: a tensor of shape (..., features).
        units: how many features the result has.
        activation: a function applied to the result.
        use_bias: whether a bias is added.
        kernel_initializer: fills the weight, of shape (units, features); zeros by default.
        bias_initializer: fills the bias, of shape (units,); zeros by default.
        kernel_regularizer: what the weight adds to the loss.
        bias_regularizer: what the bias adds to the loss.
        trainable: True if optimizers update the variables.
        name: the name of the layer; layers of one name share their variables.
        model_distribute: how the units are distributed over the devices of the job.

    Returns:
        A blob of shape (..., units).

    Example:
        >>> import numpy as np
        >>> import oneflow as flow
        >>> import oneflow.typing as tp
        >>> @flow.global_function()
        ... def job(x: tp.Numpy.Placeholder((2, 3))) -> tp.Numpy:
        ...     ones = flow.ones_initializer()
        ...     return flow.layers.dense(x, 4, kernel_initializer=ones, name="dense")
        >>> job(np.ones((2, 3), np.float32)).tolist()
        [[3.0, 3.0, 3.0, 3.0], [3.0, 3.0, 3.0, 3.0]]
        >>> flow.clear_default_session()
    """
    name = name or current_run("flow.layers.dense()").unique_name("Dense_")
    x = _input(inputs)
    weight = get_variable(
        f"{name}-weight",
        (units, x.shape[-1]),
        x.dtype,
        kernel_initializer,
        kernel_regularizer,
        trainable,
        distribute=model_distribute,
    )
    result = reshape.reshape(x, (-1, x.shape[-1])) @ weight.transpose(0, 1)
    if use_bias:
        result = result + get_variable(
            f"{name}-bias",
            (units,),
            x.dtype,
            bias_initializer,
            bias_regularizer,
            trainable,
            distribute=model_distribute,
        )
    if activation is not None:
        result = activation(result)
    return reshape.reshape(result, (*x.shape[:-1], units))


def conv2d(
    inputs: Tensor,
    filters: int,
    kernel_size: int | Sequence[int] = 1,
    strides: int | Sequence[int] = 1,
    padding: windows.Padding = "VALID",
    data_format: str = "NCHW",
    dilation_rate: int | Sequence[int] | None = None,
    groups: int = 1,
    activation: Activation = None,
    use_bias: bool = True,
    kernel_initializer: Initializer | None = None,
    bias_initializer: Initializer | None = None,
    kernel_regularizer: Regularizer | None = None,
    bias_regularizer: Regularizer | None = None,
    trainable: bool = True,
    name: str | None = None,
    weight_name: str | None = None,
    bias_name: str | None = None,
) -> Tensor:
    """A convolution with the variables ``name-weight`` and ``name-bias``.

    Args:
        inputs: images of shape (N, C, H, W), or (N, H, W, C).
        filters: how many channels the result has.
        kernel_size: height and width of the filters, one number or two.
        strides: one number or two.
        padding: "VALID": none; "SAME" or "SAME_UPPER": so that the result has ``ceil(size /
            stride)`` rows, and if their number is odd, one more after than before; "SAME_LOWER":
            one more before; or the amounts before and after each dimension.
        data_format: "NCHW" or "NHWC".
        dilation_rate: one number or two.
        groups: number of independent groups of channels.
        activation: a function applied to the result.
        use_bias: whether a bias is added.
        kernel_initializer: fills the weight; zeros by default.
        bias_initializer: fills the bias; zeros by default.
        kernel_regularizer: what the weight adds to the loss.
        bias_regularizer: what the bias adds to the loss.
        trainable: True if optimizers update the variables.
        name: the name of the layer; layers of one name share their variables.
        weight_name: the name of the weight, instead of ``name-weight``.
        bias_name: the name of the bias, instead of ``name-bias``.

    Returns:
        Images of the same order of dimensions.

    Raises:
        ValueError: the channels cannot be divided into groups.

    Example:
        >>> import numpy as np
        >>> import oneflow as flow
        >>> import oneflow.typing as tp
        >>> @flow.global_function()
        ... def job(x: tp.Numpy.Placeholder((1, 3, 8, 8))) -> tp.Numpy:
        ...     x = flow.layers.conv2d(x, 4, 3, strides=2, padding="SAME")
        ...     x = flow.layers.conv1d(x.flatten(2), 4, 3)
        ...     return flow.layers.conv3d(x[..., None, None], 2)
        >>> job(np.ones((1, 3, 8, 8), np.float32)).shape
        (1, 2, 14, 1, 1)
        >>> flow.clear_default_session()
    """
    count = inputs.ndim - 2
    if count not in windows.FORMATS:
        raise ValueError(f"`inputs` must have 3 to 5 dimensions, got {inputs.ndim}")
    name = name or current_run("flow.layers.conv2d()").unique_name(f"Conv{count}D_")
    x = _input(inputs)
    is_first = data_format == windows.FORMATS[count][0]
    channels = x.shape[1] if is_first else x.shape[-1]
    if groups < 1 or channels % groups or filters % groups:
        raise ValueError(
            f"{channels} channels and {filters} filters cannot be divided into {groups} groups"
        )
    window = windows.sizes_of(kernel_size, count, "kernel_size")
    per_group = channels // groups
    shape = (filters, per_group, *window) if is_first else (filters, *window, per_group)
    weight_name, bias_name = weight_name or f"{name}-weight", bias_name or f"{name}-bias"
    weight = get_variable(
        weight_name, shape, x.dtype, kernel_initializer, kernel_regularizer, trainable
    )
    bias = None
    if use_bias:
        bias = get_variable(
            bias_name, (filters,), x.dtype, bias_initializer, bias_regularizer, trainable
        )
    convolve = (windows.conv1d, windows.conv2d, windows.conv3d)[count - 1]
    result = convolve(x, weight, strides, padding, data_format, dilation_rate, groups, bias)
    return result if activation is None else activation(result)


def conv1d(
    inputs: Tensor,
    filters: int,
    kernel_size: int | Sequence[int] = 1,
    strides: int | Sequence[int] = 1,
    padding: windows.Padding = "VALID",
    data_format: str = "NCW",
    *args: Any,
    **kwargs: Any,
) -> Tensor:
    """`conv2d` of one spatial dimension, in the order "NCW" or "NWC"; the same arguments."""
    return conv2d(inputs, filters, kernel_size, strides, padding, data_format, *args, **kwargs)


def conv3d(
    inputs: Tensor,
    filters: int,
    kernel_size: int | Sequence[int] = 1,
    strides: int | Sequence[int] = 1,
    padding: windows.Padding = "VALID",
    data_format: str = "NCDHW",
    *args: Any,
    **kwargs: Any,
) -> Tensor:
    """`conv2d` of three spatial dimensions, in the order "NCDHW" or "NDHWC"; the same arguments."""
    return conv2d(inputs, filters, kernel_size, strides, padding, data_format, *args, **kwargs)


def upsample_2d(
    x: Tensor,
    size: int | Sequence[int] = (2, 2),
    align_corners: bool = False,
    data_format: str = "NCHW",
    interpolation: str = "nearest",
    name: str = "Upsample2D",
) -> Tensor:
    """Images `size` times as large.

    Args:
        x: a tensor of shape (N, C, H, W), or (N, H, W, C).
        size: factors of the height and the width.
        align_corners: let the corners of "bilinear" be those of the image.
        data_format: "NCHW" or "NHWC".
        interpolation: "nearest" or "bilinear".
        name: accepted.

    Raises:
        ValueError: an argument is none of these.

    Example:
        >>> import oneflow as flow
        >>> flow.layers.upsample_2d(flow.ones(1, 2, 3, 3)).shape
        oneflow.Size([1, 2, 6, 6])
    """
    if data_format not in windows.FORMATS[2]:
        raise ValueError(f"data_format must be 'NCHW' or 'NHWC', got {data_format!r}")
    is_first = data_format == "NCHW"
    images = x if is_first else x.permute(0, 3, 1, 2)
    factors = [float(factor) for factor in windows.sizes_of(size, 2, "size")]
    larger = interpolate(
        images,
        scale_factor=factors,
        mode=interpolation,
        align_corners=align_corners if interpolation != "nearest" else None,
    )
    return larger if is_first else larger.permute(0, 2, 3, 1)


def batch_normalization(
    inputs: Tensor,
    axis: int = -1,
    momentum: float = 0.99,
    epsilon: float = 0.001,
    center: bool = True,
    scale: bool = True,
    beta_initializer: Initializer | None = None,
    gamma_initializer: Initializer | None = None,
    beta_regularizer: Regularizer | None = None,
    gamma_regularizer: Regularizer | None = None,
    moving_mean_initializer: Initializer | None = None,
    moving_variance_initializer: Initializer | None = None,
    trainable: bool = True,
    training: bool = True,
    name: str | None = None,
    gamma_name: str | None = None,
    beta_name: str | None = None,
    moving_mean_name: str | None = None,
    moving_variance_name: str | None = None,
) -> Tensor:
    """Batch normalization with variables: gamma, beta, and moving mean and variance.

    In training jobs it normalises with the statistics of the batch and updates the moving ones; in
    others, or if it is not to train, with the moving ones.

    Args:
        inputs: a tensor of any shape.
        axis: the dimension of the channels.
        momentum: what stays of the moving statistics in each step.
        epsilon: added to the variance.
        center: whether ``beta`` is added.
        scale: whether ``gamma`` is multiplied.
        beta_initializer: zeros by default.
        gamma_initializer: ones by default.
        beta_regularizer: what ``beta`` adds to the loss.
        gamma_regularizer: what ``gamma`` adds to the loss.
        moving_mean_initializer: zeros by default.
        moving_variance_initializer: ones by default.
        trainable: True if optimizers update the variables.
        training: False if it is to normalise with the moving statistics in training jobs, too.
        name: the name of the layer; layers of one name share their variables.
        gamma_name: the name of gamma; ``name-gamma`` by default, and likewise the next three.
        beta_name: the name of beta.
        moving_mean_name: the name of the moving mean.
        moving_variance_name: the name of the moving variance.

    Returns:
        A blob of the shape of `inputs`.

    Example:
        >>> import numpy as np
        >>> import oneflow as flow
        >>> import oneflow.typing as tp
        >>> @flow.global_function()
        ... def job(x: tp.Numpy.Placeholder((1, 2))) -> tp.Numpy:
        ...     x = flow.layers.layer_norm(x)
        ...     x = flow.layers.prelu(flow.layers.batch_normalization(x))
        ...     y = flow.layers.batch_normalization_relu(x)
        ...     return flow.layers.batch_normalization_add_relu(y, 1 - x)
        >>> job(np.float32([[1, 3]])).round(2)
        array([[1., 1.]], dtype=float32)
        >>> flow.clear_default_session()
    """
    run = current_run("flow.layers.batch_normalization()")
    name = name or run.unique_name("BatchNorm_")
    x = _input(inputs)
    axis, channels, ones = axis % x.ndim, (x.shape[axis],), constant_initializer(1)

    def variable(variable_name: str | None, suffix: str, *options: Any) -> Tensor:
        return get_variable(variable_name or f"{name}-{suffix}", channels, x.dtype, *options)

    beta = gamma = None
    if center:
        beta = variable(beta_name, "beta", beta_initializer, beta_regularizer, trainable)
    if scale:
        first = gamma_initializer or ones
        gamma = variable(gamma_name, "gamma", first, gamma_regularizer, trainable)
    mean = variable(moving_mean_name, "moving_mean", moving_mean_initializer, None, False)
    first = moving_variance_initializer or ones
    variance = variable(moving_variance_name, "moving_variance", first, None, False)
    moved = x if axis == 1 else x.transpose(axis, 1)
    result = normalization.batch_norm(
        moved,
        mean,
        variance,
        gamma,
        beta,
        training=training and trainable and run.is_training,
        momentum=1 - momentum,
        eps=epsilon,
    )
    return result if axis == 1 else result.transpose(axis, 1)


def batch_normalization_relu(inputs: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """`batch_normalization`, then relu; the same arguments."""
    return activations.relu(batch_normalization(inputs, *args, **kwargs))


def batch_normalization_add_relu(
    inputs: Tensor, addend: Tensor | None = None, *args: Any, **kwargs: Any
) -> Tensor:
    """`batch_normalization`, plus `addend`, then relu; otherwise the same arguments."""
    result = batch_normalization(inputs, *args, **kwargs)
    return activations.relu(result if addend is None else result + addend)


def layer_norm(
    inputs: Tensor,
    center: bool = True,
    scale: bool = True,
    trainable: bool = True,
    begin_norm_axis: int = 1,
    begin_params_axis: int = -1,
    epsilon: float = 1e-5,
    name: str | None = None,
) -> Tensor:
    """Layer normalization with the variables ``name-gamma`` and ``name-beta``.

    Args:
        inputs: a tensor of any shape.
        center: whether ``beta`` is added.
        scale: whether ``gamma`` is multiplied.
        trainable: True if optimizers update the variables.
        begin_norm_axis: the first of the dimensions to normalise over.
        begin_params_axis: the first of the dimensions of the variables.
        epsilon: added to the variance.
        name: the name of the layer; layers of one name share their variables.

    Returns:
        A blob of the shape of `inputs`.
    """
    name = name or current_run("flow.layers.layer_norm()").unique_name("LayerNorm_")
    x = _input(inputs)
    result = normalization.layer_norm(x, tuple(x.shape[begin_norm_axis % x.ndim :]), eps=epsilon)
    shape = tuple(x.shape[begin_params_axis % x.ndim :])
    if scale:
        ones = constant_initializer(1)
        result = result * get_variable(f"{name}-gamma", shape, x.dtype, ones, None, trainable)
    if center:
        result = result + get_variable(f"{name}-beta", shape, x.dtype, None, None, trainable)
    return result


def layer_norm_grad(
    dy: Tensor,
    x: Tensor,
    mean: Tensor,
    inv_variance: Tensor,
    begin_norm_axis: int = 1,
    name: str = "LayerNormGrad",
) -> Tensor:
    """Return the gradient of layer normalization, without `center` and `scale`, for its input.

    Args:
        dy: the gradient of its result.
        x: its input.
        mean: the mean over the normalised dimensions, of shape ``x.shape[:begin_norm_axis]``.
        inv_variance: one divided by their standard deviation, of that shape.
        begin_norm_axis: the first of these dimensions.
        name: accepted.

    Example:
        >>> import oneflow as flow
        >>> x, dy = flow.tensor([[1.0, -1.0]]), flow.tensor([[1.0, 0.0]])
        >>> flow.layers.layer_norm_grad(dy, x, flow.zeros(1), flow.ones(1))
        tensor([[0., 0.]], dtype=oneflow.float32)
    """
    axes = tuple(range(begin_norm_axis % x.ndim, x.ndim))
    row_shape = (*x.shape[: axes[0]], *[1] * len(axes))
    rate = reshape.reshape(inv_variance, row_shape)
    normal = (x - reshape.reshape(mean, row_shape)) * rate
    along = normal * sums.mean(dy * normal, axes, True)
    return rate * (dy - sums.mean(dy, axes, True) - along)


def layer_norm_param_grad(
    dy: Tensor,
    norm: Tensor,
    gamma: Tensor,
    begin_params_axis: int = -1,
    name: str = "LayerNormParamGrad",
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the gradients of what follows layer normalization: its `center` and `scale`.

    Args:
        dy: the gradient of the result.
        norm: what was normalised.
        gamma: the scale.
        begin_params_axis: the first of the dimensions of the variables.
        name: accepted.

    Returns:
        The gradients of `norm`, of ``beta`` and of `gamma`.

    Example:
        >>> import oneflow as flow
        >>> ones = flow.ones(2, 3)
        >>> gradients = flow.layers.layer_norm_param_grad(ones, ones, ones[0])
        >>> [gradient.shape[0] for gradient in gradients]
        [2, 3, 3]
    """
    axes = tuple(range(begin_params_axis % dy.ndim))
    return dy * gamma, sums.sum_(dy, axes), sums.sum_(dy * norm, axes)


def prelu(
    inputs: Tensor,
    alpha_initializer: Initializer | None = None,
    alpha_regularizer: Regularizer | None = None,
    shared_axes: Sequence[int] | None = None,
    trainable: bool = True,
    name: str = "PRelu",
    model_distribute: Sbp = BROADCAST,
) -> Tensor:
    """``x`` where positive, else ``alpha * x`` with the variable ``name-alpha``.

    Args:
        inputs: a tensor of shape (N, ...).
        alpha_initializer: fills ``alpha``; zeros by default.
        alpha_regularizer: what ``alpha`` adds to the loss.
        shared_axes: dimensions along which ``alpha`` is the same.
        trainable: True if optimizers update it.
        name: the name of the layer; layers of one name share their variable.
        model_distribute: how ``alpha`` is distributed over the devices of the job.
    """
    x = _input(inputs)
    shared = {axis % x.ndim for axis in shared_axes or ()}
    shape = [1 if axis in shared else x.shape[axis] for axis in range(1, x.ndim)]
    alpha = get_variable(
        f"{name}-alpha",
        shape,
        x.dtype,
        alpha_initializer,
        alpha_regularizer,
        trainable,
        distribute=model_distribute,
    )
    return activations.relu(x) - alpha * activations.relu(-x)
