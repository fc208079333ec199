"""`oneflow.nn` as job functions know it: TensorFlow's names and arguments."""

from __future__ import annotations

from collections.abc import Sequence

from oneflow.builtins.products import fused_self_attention
from oneflow.functional.earlier_calls import earlier_meaning_of
from oneflow.functional.elementwise import activation, piecewise
from oneflow.functional.nn import (
    ctc,
    dropout as dropouts,
    elementwise_loss,
    fused,
    loss,
    normalization,
    softmax as softmaxes,
)
from oneflow.functional.random import creation
from oneflow.functional.registry import function, register_public
from oneflow.functional.shape import rearrange, reshape
from oneflow.tensor.tensor import Tensor

for _name, _function in {
    "elu": activation.elu,
    "gelu": activation.gelu,
    "hardsigmoid": piecewise.hardsigmoid,
    "hardswish": piecewise.hardswish,
    "hardtanh": piecewise.hardtanh,
    "mish": activation.mish,
    "relu": activation.relu,
    "relu6": piecewise.relu6,
    "selu": activation.selu,
    "swish": activation.silu,
}.items():
    register_public(f"nn.{_name}", _function)
register_public("nn.ctc_greedy_decoder", ctc.ctc_greedy_decoder)
register_public("nn.fused_scale_tril", fused.fused_scale_tril)
register_public("math.fused_scale_tril", fused.fused_scale_tril)
register_public("nn.fused_self_attention_query_mul_key_and_value", fused_self_attention)


@function(method=False, namespace="nn")
def bias_add(value: Tensor, bias: Tensor, data_format: str | None = None) -> Tensor:
    """`value` plus a bias for each channel.

    Args:
        value: a tensor of shape (N, C, ...), or (N, ..., C).
        bias: a tensor of shape (C,).
        data_format: says which dimension is that of the channels: the second, as in "NCHW", or the
            last, as in "NHWC" and "NHC". Default: the second.

    Raises:
        ValueError: the format says neither.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.bias_add(flow.zeros(1, 2, 2), flow.tensor([1.0, 2.0])).tolist()
        [[[1.0, 1.0], [2.0, 2.0]]]
    """
    layout = "NC" if data_format is None else data_format
    if not layout.startswith("NC"):
        if not (layout.startswith("N") and layout.endswith("C")):
            raise ValueError(f"`data_format` must be of the form NC... or N...C, got {layout!r}")
        return value + bias
    return value + reshape.reshape(bias, (1, -1, *(1,) * (value.ndim - 2)))


@function(method=False, namespace="nn")
def batch_normalization(
    x: Tensor,
    mean: Tensor,
    variance: Tensor,
    offset: Tensor | None = None,
    scale: Tensor | None = None,
    variance_epsilon: float = 1e-5,
    axis: int = 1,
) -> Tensor:
    """`x` normalised with a given mean and variance for each channel.

    Args:
        x: any tensor.
        mean: a tensor of shape (C,), like the other three.
        variance: the variance of each channel.
        offset: added afterwards.
        scale: multiplied before that.
        variance_epsilon: added to the variance.
        axis: the dimension of the channels.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([[1.0, 2.0]])
        >>> flow.nn.batch_normalization(x, flow.ones(2), flow.ones(2), variance_epsilon=0)
        tensor([[0., 1.]], dtype=oneflow.float32)
    """
    moved = x.transpose(axis, 1) if axis % x.ndim != 1 else x
    result = normalization.batch_norm(moved, mean, variance, scale, offset, eps=variance_epsilon)
    return result.transpose(axis, 1) if axis % x.ndim != 1 else result


@function(method=False, namespace="nn")
def dropout(
    x: Tensor, rate: float, noise_shape: Tensor | None = None, seed: int | None = None
) -> Tensor:
    """`x` with random elements zeroed, and the rest divided by the share that is kept.

    Args:
        x: floating point tensor.
        rate: the probability that an element is dropped.
        noise_shape: must be None.
        seed: accepted; draws follow `oneflow.manual_seed`.

    Raises:
        NotImplementedError: a shape of the noise is given.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.dropout(flow.ones(4), rate=0.0)
        tensor([1., 1., 1., 1.], dtype=oneflow.float32)
    """
    if noise_shape is not None:
        raise NotImplementedError("nn.dropout() has no `noise_shape`; every element is drawn")
    return dropouts.dropout(x, rate)


@function(method=False, namespace="nn")
def leaky_relu(x: Tensor, alpha: float = 0.2) -> Tensor:
    """``x`` where positive, else ``alpha * x``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.leaky_relu(flow.tensor([-1.0, 2.0]))
        tensor([-0.2000,  2.0000], dtype=oneflow.float32)
    """
    return activation.leaky_relu(x, alpha)


@function(method=False, namespace="nn")
def softmax(logits: Tensor, axis: int | None = None) -> Tensor:
    """``exp(x) / sum(exp(x))`` along a dimension, the last one by default.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.softmax(flow.zeros(1, 2))
        tensor([[0.5000, 0.5000]], dtype=oneflow.float32)
    """
    return softmaxes.softmax(logits, -1 if axis is None else axis)


@function(method=False, namespace="nn")
def logsoftmax(logits: Tensor, axis: int | None = None) -> Tensor:
    """The logarithm of `softmax`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.logsoftmax(flow.zeros(1, 1))
        tensor([[0.]], dtype=oneflow.float32)
    """
    return softmaxes.log_softmax(logits, -1 if axis is None else axis)


@function(method=False, namespace="nn")
def sparse_softmax_cross_entropy_with_logits(labels: Tensor, logits: Tensor) -> Tensor:
    """Cross entropy of each sample between logits and labels.

    OneFlow's own programs give both in either order; the labels are the integers.

    Args:
        labels: integers of shape (N,) or (N, 1).
        logits: a tensor of shape (N, classes).

    Returns:
        Losses of shape (N,).

    Raises:
        TypeError: neither holds integers.

    Example:
        >>> import oneflow as flow
        >>> losses = flow.nn.sparse_softmax_cross_entropy_with_logits(
        ...     labels=flow.tensor([0, 1]), logits=flow.zeros(2, 4))
        >>> losses.shape
        oneflow.Size([2])
    """
    if labels.dtype.is_floating_point:
        labels, logits = logits, labels
    if labels.dtype.is_floating_point:
        raise TypeError(
            f"labels must be integers, got {labels.dtype} and {logits.dtype} for labels and logits"
        )
    classes = logits.shape[-1]
    flat = loss.cross_entropy(
        reshape.reshape(logits, (-1, classes)), reshape.reshape(labels, (-1,)), reduction="none"
    )
    return reshape.reshape(flat, tuple(logits.shape[:-1]))


@function(method=False, namespace="nn")
def distributed_sparse_softmax_cross_entropy_with_logits(labels: Tensor, logits: Tensor) -> Tensor:
    """`sparse_softmax_cross_entropy_with_logits`, which takes logits split along classes, too.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.distributed_sparse_softmax_cross_entropy_with_logits(
        ...     labels=flow.tensor([0, 1]), logits=flow.zeros(2, 4)).shape
        oneflow.Size([2])
    """
    return sparse_softmax_cross_entropy_with_logits(labels, logits)


@function(method=False, namespace="nn")
def softmax_cross_entropy_with_logits(labels: Tensor, logits: Tensor) -> Tensor:
    """Cross entropy of each sample between logits and probabilities.

    Args:
        labels: probabilities of shape (N, classes).
        logits: a tensor of the same shape.

    Returns:
        Losses of shape (N,).

    Example:
        >>> import oneflow as flow
        >>> labels = flow.tensor([[1.0, 0.0]])
        >>> flow.nn.softmax_cross_entropy_with_logits(labels, flow.zeros(1, 2)).shape
        oneflow.Size([1])
    """
    return -(labels * softmaxes.log_softmax(logits, -1)).sum(-1)


@function(method=False, namespace="nn")
def sigmoid_cross_entropy_with_logits(labels: Tensor, logits: Tensor) -> Tensor:
    """Cross entropy of each element between logits and probabilities of one class.

    Args:
        labels: probabilities.
        logits: a tensor of the same shape.

    Returns:
        Losses of that shape.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.sigmoid_cross_entropy_with_logits(flow.ones(2), flow.zeros(2))
        tensor([0.6931, 0.6931], dtype=oneflow.float32)
    """
    return elementwise_loss.binary_cross_entropy_with_logits(logits, labels, reduction="none")


@function(method=False, namespace="nn")
def sparse_cross_entropy(labels: Tensor, prediction: Tensor) -> Tensor:
    """Cross entropy of each sample between probabilities and labels.

    Args:
        labels: integers of shape (N,).
        prediction: probabilities of shape (N, classes).

    Returns:
        Losses of shape (N,).

    Example:
        >>> import oneflow as flow
        >>> flow.nn.sparse_cross_entropy(flow.tensor([0]), flow.tensor([[0.5, 0.5]]))
        tensor([0.6931], dtype=oneflow.float32)
    """
    label_probabilities = prediction.gather(-1, reshape.unsqueeze(labels.long(), -1))
    return -reshape.squeeze(label_probabilities, -1).log()


@function(method=False, namespace="nn")
def softmax_grad(y: Tensor, dy: Tensor, axis: int | None = None) -> Tensor:
    """Return the gradient of `softmax` from its result `y` and the gradient `dy` of that.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.softmax_grad(flow.tensor([[0.5, 0.5]]), flow.tensor([[1.0, 0.0]]))
        tensor([[ 0.2500, -0.2500]], dtype=oneflow.float32)
    """
    dim = -1 if axis is None else axis
    return (dy - (dy * y).sum(dim, keepdim=True)) * y


@function(method=False, namespace="nn")
def layer_norm(
    inputs: Tensor,
    gamma: Tensor | None = None,
    beta: Tensor | None = None,
    begin_norm_axis: int = 1,
    begin_params_axis: int = -1,
    epsilon: float = 1e-5,
    name: str | None = None,
) -> Tensor:
    """Layer normalization, scaled by `gamma` and moved by `beta`.

    Args:
        inputs: a tensor of any shape.
        gamma: of the shape of the dimensions from `begin_params_axis` on.
        beta: of that shape.
        begin_norm_axis: the first of the dimensions to normalise over.
        begin_params_axis: the first of the dimensions of `gamma` and `beta`.
        epsilon: added to the variance.
        name: accepted.

    Raises:
        ValueError: `gamma` or `beta` has another shape.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.layer_norm(flow.tensor([[1.0, 3.0]]), beta=flow.ones(2), epsilon=0.0)
        tensor([[0., 2.]], dtype=oneflow.float32)
    """
    result = normalization.layer_norm(
        inputs, tuple(inputs.shape[begin_norm_axis % inputs.ndim :]), eps=epsilon
    )
    shape = tuple(inputs.shape[begin_params_axis % inputs.ndim :])
    for argument, parameter in (("gamma", gamma), ("beta", beta)):
        if parameter is not None and tuple(parameter.shape) != shape:
            raise ValueError(
                f"`{argument}` must have the shape {shape}, got {tuple(parameter.shape)}"
            )
    result = result if gamma is None else result * gamma
    return result if beta is None else result + beta


@function(method=False, namespace="nn")
def moments(x: Tensor, axes: Sequence[int], keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """Return the mean and the variance (of the elements, not estimated) along dimensions.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.moments(flow.tensor([1.0, 3.0]), [0])[1]
        tensor(1., dtype=oneflow.float32)
    """
    axes = list(axes)
    return x.mean(axes, keepdims), x.var(axes, unbiased=False, keepdim=keepdims)


@earlier_meaning_of(
    rearrange.tril, matches=lambda arguments: type(arguments.get("fill_value")) in (int, float)
)
@function(method=False, namespace="nn")
def tril(x: Tensor, diagonal: int = 0, fill_value: float = 0) -> Tensor:
    """`x` on and below a diagonal of the last two dimensions, `fill_value` above.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.tril(flow.ones(2, 2), fill_value=-1)
        tensor([[ 1., -1.],
                [ 1.,  1.]], dtype=oneflow.float32)
    """
    return fused.fused_scale_tril(x, diagonal, fill_value)


@function(
    method=False,
    namespace="nn",
    also=("math.fused_scale_tril_softmax_dropout", "_C.fused_scale_tril_softmax_dropout"),
)
def fused_scale_tril_softmax_dropout(
    x: Tensor,
    diagonal: int = 0,
    fill_value: float = 0,
    scale: float = 1,
    rate: float = 0.0,
    noise_shape: Tensor | None = None,
    seed: int | None = None,
) -> Tensor:
    """`dropout` of `softmax` of ``x * scale`` with `fill_value` above a diagonal.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.fused_scale_tril_softmax_dropout(flow.zeros(2, 2), fill_value=-1e9)
        tensor([[1.0000, 0.0000],
                [0.5000, 0.5000]], dtype=oneflow.float32)
    """
    scores = fused.fused_scale_tril(x, diagonal, fill_value, scale)
    return dropout(softmax(scores), rate, noise_shape, seed)


@function(method=False, namespace="nn")
def fused_bias_add_gelu(value: Tensor, bias: Tensor, data_format: str | None = None) -> Tensor:
    """`gelu` of `bias_add`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.fused_bias_add_gelu(flow.zeros(1, 2), flow.tensor([0.0, 1.0]))
        tensor([[0.0000, 0.8413]], dtype=oneflow.float32)
    """
    return activation.gelu(bias_add(value, bias, data_format))


@function(method=False, namespace="nn")
def fused_bias_add_dropout(
    value: Tensor,
    bias: Tensor,
    data_format: str | None = None,
    rate: float = 0.0,
    noise_shape: Tensor | None = None,
    seed: int | None = None,
) -> Tensor:
    """`dropout` of `bias_add`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.fused_bias_add_dropout(flow.zeros(1, 2), flow.tensor([0.0, 1.0]))
        tensor([[0., 1.]], dtype=oneflow.float32)
    """
    return dropout(bias_add(value, bias, data_format), rate, noise_shape, seed)


@function(method=False, namespace="nn")
def random_mask_like(
    like: Tensor, rate: float, seed: int | None = None, noise_shape: Sequence[int] | None = None
) -> Tensor:
    """Draw which elements `dropout` keeps: True with the probability ``1 - rate``.

    Args:
        like: gives the shape.
        rate: the probability of False.
        seed: accepted; draws follow `oneflow.manual_seed`.
        noise_shape: must be None.

    Raises:
        ValueError: the rate is not from 0 to 1.
        NotImplementedError: a shape of the noise is given.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.random_mask_like(flow.zeros(2), rate=0.0)
        tensor([True, True], dtype=oneflow.bool)
    """
    if noise_shape is not None:
        raise NotImplementedError("nn.random_mask_like() has no `noise_shape`")
    if not 0 <= rate <= 1:
        raise ValueError(f"`rate` must be from 0 to 1, got {rate}")
    return creation.rand(*like.shape, device=like.device) >= rate


@function(method=False, namespace="nn")
def pixel_shuffle_v2(input: Tensor, h_upscale_factor: int, w_upscale_factor: int) -> Tensor:
    """Make channels pixels: an image becomes `h_upscale_factor` times as high, and so on.

    Args:
        input: a tensor of shape (N, C * h_upscale_factor * w_upscale_factor, H, W).
        h_upscale_factor: factor of the height.
        w_upscale_factor: factor of the width.

    Returns:
        Images of shape (N, C, H * h_upscale_factor, W * w_upscale_factor).

    Raises:
        ValueError: the channels cannot be divided so.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.PixelShufflev2(flow.ones(1, 6, 2, 2), 3, 2).shape
        oneflow.Size([1, 1, 6, 4])
    """
    batch, channels, height, width = input.shape
    parts = h_upscale_factor * w_upscale_factor
    if channels % parts:
        raise ValueError(f"{channels} channels cannot be divided into {parts} pixels")
    shape = (batch, channels // parts, h_upscale_factor, w_upscale_factor, height, width)
    pixels = reshape.reshape(input, shape).permute(0, 1, 4, 2, 5, 3)
    return reshape.reshape(
        pixels, (batch, channels // parts, height * h_upscale_factor, width * w_upscale_factor)
    )


register_public("nn.PixelShufflev2", pixel_shuffle_v2)
