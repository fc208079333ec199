"""`oneflow.nn` as job functions know it: TensorFlow's names and arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from oneflow.functional.elementwise import activation, piecewise
from oneflow.functional.nn import (
    conv,
    dropout as dropouts,
    elementwise_loss,
    loss,
    normalization,
    padding as paddings,
    pooling,
    softmax as softmaxes,
)
from oneflow.functional.registry import function, publish
from oneflow.functional.shape import reshape
from oneflow.tensor.tensor import Tensor

Padding = str | Sequence[Sequence[int]] | Sequence[int] | int
_FORMATS = ("NCHW", "NHWC")

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
    publish(f"nn.{_name}", _function)


def pair(value: int | Sequence[int] | None, name: str) -> tuple[int, int]:
    """Return a size for each spatial dimension; a list of four is that of a tensor in NCHW order.

    Raises:
        ValueError: there are neither one, two nor four.
    """
    if value is None:
        return 1, 1
    if isinstance(value, int):
        return value, value
    sizes = tuple(value)
    if len(sizes) == 1:
        sizes *= 2
    if len(sizes) == 4:
        sizes = sizes[2:]
    if len(sizes) != 2:
        raise ValueError(f"`{name}` must be one or two integers, got {list(value)}")
    return sizes[0], sizes[1]


def _spatial_padding(
    padding: Padding, size: Sequence[int], window: Sequence[int], stride: Sequence[int]
) -> list[tuple[int, int]]:
    """Return how much is added before and after the height and the width.

    Args:
        padding: "VALID", "SAME" (also "SAME_UPPER": of an odd number of rows more are added after
            than before) or "SAME_LOWER"; amounts for both dimensions, or pairs for the two or for
            all four dimensions.
        size: height and width of the image.
        window: height and width of the windows, with dilation.
        stride: of the windows.

    Raises:
        ValueError: it is something else.
    """
    if isinstance(padding, str):
        kind = padding.upper()
        if kind == "VALID":
            return [(0, 0), (0, 0)]
        if kind not in ("SAME", "SAME_UPPER", "SAME_LOWER"):
            raise ValueError(
                "padding must be 'VALID', 'SAME', 'SAME_UPPER', 'SAME_LOWER' or amounts, "
                f"got {padding!r}"
            )
        pairs = []
        for n, k, s in zip(size, window, stride, strict=True):
            total = max((-(-n // s) - 1) * s + k - n, 0)
            small, large = total // 2, total - total // 2
            pairs.append((large, small) if kind == "SAME_LOWER" else (small, large))
        return pairs
    if isinstance(padding, int):
        return [(padding, padding)] * 2
    amounts = [[each, each] if isinstance(each, int) else list(each) for each in padding]
    if len(amounts) == 4:
        if any(amounts[0]) or any(amounts[1]):
            raise ValueError(f"only height and width can be padded, got {list(padding)}")
        amounts = amounts[2:]
    if len(amounts) != 2 or any(len(each) != 2 for each in amounts):
        raise ValueError(f"padding must have amounts for height and width, got {list(padding)}")
    return [(before, after) for before, after in amounts]


def _in_nchw(x: Tensor, data_format: str, compute: Callable[[Tensor], Tensor]) -> Tensor:
    """Apply `compute`, which takes and gives the order NCHW, to an image of another order.

    Raises:
        ValueError: the order is unknown.
    """
    if data_format not in _FORMATS:
        raise ValueError(f"data_format must be 'NCHW' or 'NHWC', got {data_format!r}")
    if data_format == "NCHW":
        return compute(x)
    return compute(x.permute(0, 3, 1, 2)).permute(0, 2, 3, 1)


@function(method=False, namespace="nn", keyword_aliases={"weight": "filters"})
def conv2d(
    input: Tensor,
    filters: Tensor,
    strides: Any = 1,
    padding: Padding = "VALID",
    data_format: str = "NCHW",
    dilations: Any = None,
    groups: int = 1,
    bias: Tensor | None = None,
) -> Tensor:
    """Convolution of images with given filters.

    Args:
        input: of shape (N, C, H, W), or (N, H, W, C).
        filters: of shape (out channels, C / groups, height, width), or (out channels, height,
            width, C / groups) for "NHWC".
        strides: one number or two.
        padding: "SAME", "VALID", or amounts; see `oneflow.layers.conv2d`.
        data_format: "NCHW" or "NHWC".
        dilations: one number or two.
        groups: number of independent groups of channels.
        bias: of shape (out channels,).

    Returns:
        Images of the same order of dimensions.

    Raises:
        ValueError: an argument is none of these.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.conv2d(flow.ones(1, 2, 5, 5), flow.ones(4, 2, 3, 3), 2, "SAME").shape
        oneflow.Size([1, 4, 3, 3])
    """
    stride, dilation = pair(strides, "strides"), pair(dilations, "dilations")

    def compute(x: Tensor) -> Tensor:
        weight = filters if data_format == "NCHW" else filters.permute(0, 3, 1, 2)
        window = [(k - 1) * d + 1 for k, d in zip(weight.shape[2:], dilation, strict=True)]
        top_bottom, left_right = _spatial_padding(padding, x.shape[2:], window, stride)
        if top_bottom[0] == top_bottom[1] and left_right[0] == left_right[1]:
            pad = (top_bottom[0], left_right[0])
        else:
            pad = 0
            x = paddings.pad(x, (*left_right, *top_bottom))
        return conv.conv2d(x, weight, bias, stride, pad, dilation, groups)

    return _in_nchw(input, data_format, compute)


@function(method=False, namespace="nn")
def max_pool2d(
    input: Tensor,
    ksize: Any,
    strides: Any = None,
    padding: Padding = "VALID",
    data_format: str = "NCHW",
    ceil_mode: bool = False,
) -> Tensor:
    """The largest element of each window of images.

    Args:
        input: of shape (N, C, H, W), or (N, H, W, C).
        ksize: size of the windows, one number or two.
        strides: one number or two; the size of the windows by default.
        padding: "SAME", "VALID", or amounts; see `oneflow.layers.conv2d`.
        data_format: "NCHW" or "NHWC".
        ceil_mode: a last window may reach beyond the image.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.max_pool2d(flow.ones(1, 2, 5, 5), 2, 2, "SAME").shape
        oneflow.Size([1, 2, 3, 3])
    """
    kernel = pair(ksize, "ksize")
    stride = kernel if strides is None else pair(strides, "strides")

    def compute(x: Tensor) -> Tensor:
        pairs = _spatial_padding(padding, x.shape[2:], kernel, stride)
        padded = paddings.pad(x, _pad_widths(pairs), value=float("-inf"))
        return pooling.max_pool2d(padded, kernel, stride, ceil_mode=ceil_mode)

    return _in_nchw(input, data_format, compute)


@function(method=False, namespace="nn")
def avg_pool2d(
    input: Tensor,
    ksize: Any,
    strides: Any = None,
    padding: Padding = "VALID",
    data_format: str = "NCHW",
    ceil_mode: bool = False,
) -> Tensor:
    """The mean of each window of images; what is added around an image does not count.

    Args:
        input: of shape (N, C, H, W), or (N, H, W, C).
        ksize: size of the windows, one number or two.
        strides: one number or two; the size of the windows by default.
        padding: "SAME", "VALID", or amounts; see `oneflow.layers.conv2d`.
        data_format: "NCHW" or "NHWC".
        ceil_mode: a last window may reach beyond the image.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.avg_pool2d(flow.ones(1, 2, 5, 5), 2, 2, "SAME").sum()
        tensor(18., dtype=oneflow.float32)
    """
    kernel = pair(ksize, "ksize")
    stride = kernel if strides is None else pair(strides, "strides")

    def compute(x: Tensor) -> Tensor:
        pairs = _spatial_padding(padding, x.shape[2:], kernel, stride)

        def pool(images: Tensor) -> Tensor:
            padded = paddings.pad(images, _pad_widths(pairs))
            return pooling.avg_pool2d(padded, kernel, stride, ceil_mode=ceil_mode)

        if not any(map(any, pairs)):
            return pool(x)
        # The share of each window that is within the image.
        return pool(x) / pool(x.new_ones((1, 1, *x.shape[2:])))

    return _in_nchw(input, data_format, compute)


def _pad_widths(pairs: list[tuple[int, int]]) -> tuple[int, int, int, int]:
    """Return the amounts as `nn.functional.pad` takes them, the width first."""
    return (*pairs[1], *pairs[0])


@function(method=False, namespace="nn")
def bias_add(value: Tensor, bias: Tensor, data_format: str | None = None) -> Tensor:
    """`value` plus a bias for each channel.

    Args:
        value: of shape (N, C, ...), or (N, ..., C).
        bias: of shape (C,).
        data_format: "NCHW" or "NHWC"; says which dimension is that of the channels.

    Raises:
        ValueError: the order is unknown.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.bias_add(flow.zeros(1, 2, 2), flow.tensor([1.0, 2.0])).tolist()
        [[[1.0, 1.0], [2.0, 2.0]]]
    """
    if data_format not in (None, *_FORMATS):
        raise ValueError(f"data_format must be 'NCHW' or 'NHWC', got {data_format!r}")
    if data_format == "NHWC":
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
        mean: of shape (C,), like the other three.
        variance: of each channel.
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
    """`x` with elements dropped at random, and the others divided by what is left.

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
        logits: of shape (N, classes).

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
def softmax_cross_entropy_with_logits(labels: Tensor, logits: Tensor) -> Tensor:
    """Cross entropy of each sample between logits and probabilities.

    Args:
        labels: probabilities of shape (N, classes).
        logits: of the same shape.

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
        logits: of the same shape.

    Returns:
        Losses of that shape.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.sigmoid_cross_entropy_with_logits(flow.ones(2), flow.zeros(2))
        tensor([0.6931, 0.6931], dtype=oneflow.float32)
    """
    return elementwise_loss.binary_cross_entropy_with_logits(logits, labels, reduction="none")
