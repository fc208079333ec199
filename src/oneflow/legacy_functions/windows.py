"""Convolutions and pooling of job functions: "SAME" and "VALID", channels first or last."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from oneflow.functional.nn import conv, padding as paddings, pooling
from oneflow.functional.registry import function, register_public
from oneflow.tensor.tensor import Tensor

Padding = str | Sequence[Sequence[int]] | Sequence[int] | int
# Orders of dimensions by the number of spatial ones: channels first, channels last.
FORMATS = {1: ("NCW", "NWC"), 2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}
_CONV = {1: conv.conv1d, 2: conv.conv2d, 3: conv.conv3d}
_MAX_POOL = {1: pooling.max_pool1d, 2: pooling.max_pool2d, 3: pooling.max_pool3d}
_AVG_POOL = {1: pooling.avg_pool1d, 2: pooling.avg_pool2d, 3: pooling.avg_pool3d}


def sizes_of(value: int | Sequence[int] | None, count: int, name: str) -> tuple[int, ...]:
    """Return a number for each spatial dimension; a list for all dimensions has two more in front.

    Args:
        value: one number, `count`, or ``count + 2``; None stands for 1.
        count: number of spatial dimensions.
        name: the name of the argument, for the message.

    Raises:
        ValueError: there is another number of them.
    """
    sizes = (1,) if value is None else (value,) if isinstance(value, int) else tuple(value)
    if len(sizes) == 1:
        sizes *= count
    if len(sizes) == count + 2:
        sizes = sizes[2:]
    if len(sizes) != count:
        raise ValueError(f"`{name}` must be one or {count} integers, got {value}")
    return sizes


def spatial_padding(
    padding: Padding, size: Sequence[int], window: Sequence[int], stride: Sequence[int]
) -> list[tuple[int, int]]:
    """Return how much is added before and after each spatial dimension.

    Args:
        padding: "VALID", "SAME" (also "SAME_UPPER": of an odd number of rows more are added after
            than before) or "SAME_LOWER"; amounts for each dimension, or pairs for the spatial or
            for all dimensions.
        size: the size of the image.
        window: size of the windows, with dilation.
        stride: the stride of the windows.

    Raises:
        ValueError: it is something else.
    """
    count = len(size)
    if isinstance(padding, str):
        kind = padding.upper()
        if kind == "VALID":
            return [(0, 0)] * count
        if kind not in ("SAME", "SAME_UPPER", "SAME_LOWER"):
            raise ValueError(
                "padding must be 'VALID', 'SAME', 'SAME_UPPER', 'SAME_LOWER' or amounts, "
                f"got {padding!r}"
            )
        pads = []
        for n, k, s in zip(size, window, stride, strict=True):
            total = max((-(-n // s) - 1) * s + k - n, 0)
            small, large = total // 2, total - total // 2
            pads.append((large, small) if kind == "SAME_LOWER" else (small, large))
        return pads
    if isinstance(padding, int):
        return [(padding, padding)] * count
    pads = [[pad, pad] if isinstance(pad, int) else list(pad) for pad in padding]
    if len(pads) == count + 2:
        if any(pads[0]) or any(pads[1]):
            raise ValueError(f"only spatial dimensions can be padded, got {list(padding)}")
        pads = pads[2:]
    if len(pads) != count or any(len(pad) != 2 for pad in pads):
        raise ValueError(
            f"padding must have amounts for {count} spatial dimensions, got {list(padding)}"
        )
    return [(before, after) for before, after in pads]


def _channels_first(
    x: Tensor, data_format: str, count: int, compute: Callable[[Tensor], Tensor]
) -> Tensor:
    """Apply `compute`, which takes and gives channels first, to an image of another order.

    Raises:
        ValueError: the order is unknown.
    """
    first, last = FORMATS[count]
    if data_format not in (first, last):
        raise ValueError(f"data_format must be {first!r} or {last!r}, got {data_format!r}")
    return compute(x) if data_format == first else compute(x.movedim(-1, 1)).movedim(1, -1)


def _padded(x: Tensor, pairs: Sequence[tuple[int, int]], value: float = 0.0) -> Tensor:
    # `pad` takes the last dimension first.
    return paddings.pad(x, [amount for pair in reversed(pairs) for amount in pair], value=value)


def _convolution(
    count: int,
    input: Tensor,
    filters: Tensor,
    strides: Any,
    padding: Padding,
    data_format: str,
    dilations: Any,
    groups: int,
    bias: Tensor | None,
) -> Tensor:
    if not isinstance(data_format, str):
        # In later versions the bias stands before it.
        tail = (dilations or FORMATS[count][0], groups, 1 if bias is None else bias, data_format)
        data_format, dilations, groups, bias = tail
    stride, dilation = (
        sizes_of(strides, count, "strides"),
        sizes_of(dilations, count, "dilations"),
    )

    def compute(x: Tensor) -> Tensor:
        weight = filters if data_format == FORMATS[count][0] else filters.movedim(-1, 1)
        window = [(k - 1) * d + 1 for k, d in zip(weight.shape[2:], dilation, strict=True)]
        pairs = spatial_padding(padding, x.shape[2:], window, stride)
        pad: Any = 0
        if all(before == after for before, after in pairs):
            pad = tuple(before for before, _ in pairs)
        else:
            x = _padded(x, pairs)
        return _CONV[count](x, weight, bias, stride, pad, dilation, groups)

    return _channels_first(input, data_format, count, compute)


def _max_pool(
    count: int,
    input: Tensor,
    ksize: Any,
    strides: Any,
    padding: Padding,
    data_format: str,
    ceil_mode: bool,
) -> Tensor:
    kernel = sizes_of(ksize, count, "ksize")
    stride = kernel if strides is None else sizes_of(strides, count, "strides")

    def compute(x: Tensor) -> Tensor:
        pairs = spatial_padding(padding, x.shape[2:], kernel, stride)
        padded = _padded(x, pairs, float("-inf"))
        return _MAX_POOL[count](padded, kernel, stride, ceil_mode=ceil_mode)

    return _channels_first(input, data_format, count, compute)


def _mean_pool(
    count: int,
    input: Tensor,
    ksize: Any,
    strides: Any,
    padding: Padding,
    data_format: str,
    ceil_mode: bool,
) -> Tensor:
    kernel = sizes_of(ksize, count, "ksize")
    stride = kernel if strides is None else sizes_of(strides, count, "strides")

    def compute(x: Tensor) -> Tensor:
        pairs = spatial_padding(padding, x.shape[2:], kernel, stride)

        def pool(images: Tensor) -> Tensor:
            return _AVG_POOL[count](_padded(images, pairs), kernel, stride, ceil_mode=ceil_mode)

        if not any(map(any, pairs)):
            return pool(x)
        # The share of each window that is within the image.
        return pool(x) / pool(x.new_ones((1, 1, *x.shape[2:])))

    return _channels_first(input, data_format, count, compute)


@function(method=False, namespace="nn", keyword_aliases={"weight": "filters"})
def conv1d(
    input: Tensor,
    filters: Tensor,
    strides: Any = 1,
    padding: Padding = "VALID",
    data_format: str = "NCW",
    dilations: Any = None,
    groups: int = 1,
    bias: Tensor | None = None,
) -> Tensor:
    """Convolution over one spatial dimension, in the order "NCW" or "NWC"; see `conv2d`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.conv1d(flow.ones(1, 2, 5), flow.ones(4, 2, 3), 2, "SAME").shape
        oneflow.Size([1, 4, 3])
    """
    return _convolution(1, input, filters, strides, padding, data_format, dilations, groups, bias)


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
        input: a tensor of shape (N, C, H, W), or (N, H, W, C).
        filters: a tensor of shape (out channels, C / groups, height, width), or (out channels,
            height, width, C / groups) for "NHWC".
        strides: one number or two.
        padding: "SAME", "VALID", or amounts; see `oneflow.layers.conv2d`.
        data_format: "NCHW" or "NHWC".
        dilations: one number or two.
        groups: number of independent groups of channels.
        bias: a tensor of shape (out channels,); by position it may also stand before `data_format`.

    Returns:
        Images of the same order of dimensions.

    Raises:
        ValueError: an argument is none of these.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.conv2d(flow.ones(1, 2, 5, 5), flow.ones(4, 2, 3, 3), 2, "SAME").shape
        oneflow.Size([1, 4, 3, 3])
    """
    return _convolution(2, input, filters, strides, padding, data_format, dilations, groups, bias)


register_public("nn.compat_conv2d", conv2d)


@function(method=False, namespace="nn", keyword_aliases={"weight": "filters"})
def conv3d(
    input: Tensor,
    filters: Tensor,
    strides: Any = 1,
    padding: Padding = "VALID",
    data_format: str = "NCDHW",
    dilations: Any = None,
    groups: int = 1,
    bias: Tensor | None = None,
) -> Tensor:
    """Convolution over three spatial dimensions, in the order "NCDHW" or "NDHWC"; see `conv2d`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.conv3d(flow.ones(1, 2, 3, 3, 3), flow.ones(4, 2, 3, 3, 3)).shape
        oneflow.Size([1, 4, 1, 1, 1])
    """
    return _convolution(3, input, filters, strides, padding, data_format, dilations, groups, bias)


@function(method=False, namespace="nn", keyword_aliases={"input": "value", "filters": "filter"})
def conv2d_transpose(
    value: Tensor,
    filter: Tensor,
    output_shape: Sequence[int],
    strides: Any = 1,
    padding: Padding = "VALID",
    data_format: str = "NCHW",
    dilations: Any = None,
) -> Tensor:
    """The gradient of `conv2d` with respect to its input, for a given gradient of its output.

    Args:
        value: of the shape of that convolution's output.
        filter: a tensor of shape (channels of `value`, out channels, height, width), or (channels
            of `value`, height, width, out channels) for "NHWC".
        output_shape: the shape of the result, all four sizes or the two spatial ones.
        strides: one number or two.
        padding: the padding of that convolution.
        data_format: "NCHW" or "NHWC".
        dilations: one number or two.

    Raises:
        ValueError: that convolution would not make `value` of such a shape.

    Example:
        >>> import oneflow as flow
        >>> x, weight = flow.ones(1, 4, 3, 3), flow.ones(4, 2, 3, 3)
        >>> flow.nn.conv2d_transpose(x, weight, (1, 2, 6, 6), 2, "SAME").shape
        oneflow.Size([1, 2, 6, 6])
    """
    stride, dilation = sizes_of(strides, 2, "strides"), sizes_of(dilations, 2, "dilations")
    spatial = tuple(output_shape)
    if len(spatial) == 4:
        spatial = spatial[2:] if data_format == FORMATS[2][0] else spatial[1:3]

    def compute(x: Tensor) -> Tensor:
        weight = filter if data_format == FORMATS[2][0] else filter.movedim(-1, 1)
        window = [(k - 1) * d + 1 for k, d in zip(weight.shape[2:], dilation, strict=True)]
        pairs = spatial_padding(padding, spatial, window, stride)
        steps = zip(spatial, pairs, window, stride, strict=True)
        expected = [(n + sum(pair) - k) // s + 1 for n, pair, k, s in steps]
        if list(x.shape[2:]) != expected:
            raise ValueError(
                f"a convolution of images of size {list(spatial)} gives {expected}, and `value` "
                f"has {list(x.shape[2:])}"
            )
        full = conv.conv_transpose2d(x, weight, stride=stride, dilation=dilation)
        for dim, (size, (before, _)) in enumerate(zip(spatial, pairs, strict=True), 2):
            missing = max(before + size - full.shape[dim], 0)
            pads = [(0, missing) if dim == axis else (0, 0) for axis in (2, 3)]
            full = _padded(full, pads).narrow(dim, before, size)
        return full

    return _channels_first(value, data_format, 2, compute)


@function(method=False, namespace="nn", keyword_aliases={"input": "value", "filters": "filter"})
def torch_conv2d_transpose(
    value: Tensor,
    filter: Tensor,
    output_padding: Any = None,
    strides: Any = 1,
    padding_needed: Any = None,
    data_format: str = "NCHW",
    dilations: Any = None,
) -> Tensor:
    """The transposed convolution of PyTorch, whose padding is given as a sum of both sides.

    Args:
        value: a tensor of shape (N, C, H, W), or (N, H, W, C).
        filter: the same as in `conv2d_transpose`.
        output_padding: rows and columns added behind the result, one number or two; 0 by default.
        strides: one number or two.
        padding_needed: what is cut off before and behind together, one number or two; of an odd
            number more behind. 0 by default.
        data_format: "NCHW" or "NHWC".
        dilations: one number or two.

    Example:
        >>> import oneflow as flow
        >>> x, weight = flow.ones(1, 4, 3, 3), flow.ones(4, 2, 3, 3)
        >>> flow.nn.torch_conv2d_transpose(x, weight, 1, 2, 2).shape
        oneflow.Size([1, 2, 6, 6])
    """
    stride, dilation = sizes_of(strides, 2, "strides"), sizes_of(dilations, 2, "dilations")
    extra = sizes_of(output_padding or 0, 2, "output_padding")
    cut = sizes_of(padding_needed or 0, 2, "padding_needed")

    def compute(x: Tensor) -> Tensor:
        weight = filter if data_format == FORMATS[2][0] else filter.movedim(-1, 1)
        full = conv.conv_transpose2d(x, weight, stride=stride, dilation=dilation)
        pairs = [(-(c // 2), e - (c - c // 2)) for c, e in zip(cut, extra, strict=True)]
        return _padded(full, pairs)

    return _channels_first(value, data_format, 2, compute)


@function(method=False, namespace="nn")
def max_pool1d(
    input: Tensor,
    ksize: Any,
    strides: Any = None,
    padding: Padding = "VALID",
    data_format: str = "NWC",
    ceil_mode: bool = False,
) -> Tensor:
    """The largest element of each window over one spatial dimension; see `max_pool2d`.

    The order is "NWC" unless it is said.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.max_pool1d(flow.ones(1, 5, 2), 2, 2, "SAME").shape
        oneflow.Size([1, 3, 2])
    """
    return _max_pool(1, input, ksize, strides, padding, data_format, ceil_mode)


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
        input: a tensor of shape (N, C, H, W), or (N, H, W, C).
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
    return _max_pool(2, input, ksize, strides, padding, data_format, ceil_mode)


@function(method=False, namespace="nn")
def max_pool3d(
    input: Tensor,
    ksize: Any,
    strides: Any = None,
    padding: Padding = "VALID",
    data_format: str = "NCDHW",
    ceil_mode: bool = False,
) -> Tensor:
    """The largest element of each window over three spatial dimensions; see `max_pool2d`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.max_pool3d(flow.ones(1, 1, 4, 4, 4), 2, 2, "SAME").shape
        oneflow.Size([1, 1, 2, 2, 2])
    """
    return _max_pool(3, input, ksize, strides, padding, data_format, ceil_mode)


@function(method=False, namespace="nn")
def avg_pool1d(
    input: Tensor,
    ksize: Any,
    strides: Any = None,
    padding: Padding = "VALID",
    data_format: str = "NCW",
    ceil_mode: bool = False,
) -> Tensor:
    """The mean of each window over one spatial dimension; see `avg_pool2d`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.avg_pool1d(flow.ones(1, 2, 5), 2, 2, "SAME").shape
        oneflow.Size([1, 2, 3])
    """
    return _mean_pool(1, input, ksize, strides, padding, data_format, ceil_mode)


@function(method=False, namespace="nn")
def avg_pool2d(
    input: Tensor,
    ksize: Any,
    strides: Any = None,
    padding: Padding = "VALID",
    data_format: str = "NCHW",
    ceil_mode: bool = False,
) -> Tensor:
    """The mean of each window of images; padding does not count.

    Args:
        input: a tensor of shape (N, C, H, W), or (N, H, W, C).
        ksize: size of the windows, one number or two.
        strides: one number or two; the size of the windows by default.
        padding: "SAME", "VALID", or amounts; see `oneflow.layers.conv2d`.
        data_format: "NCHW" or "NHWC".
        ceil_mode: a last window may reach beyond the image.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.avg_pool2d(flow.ones(1, 2, 5, 5), 2, 2, "SAME").shape
        oneflow.Size([1, 2, 3, 3])
    """
    return _mean_pool(2, input, ksize, strides, padding, data_format, ceil_mode)


@function(method=False, namespace="nn")
def avg_pool3d(
    input: Tensor,
    ksize: Any,
    strides: Any = None,
    padding: Padding = "VALID",
    data_format: str = "NCDHW",
    ceil_mode: bool = False,
) -> Tensor:
    """The mean of each window over three spatial dimensions; see `avg_pool2d`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.avg_pool3d(flow.ones(1, 1, 4, 4, 4), 2, 2, "SAME").shape
        oneflow.Size([1, 1, 2, 2, 2])
    """
    return _mean_pool(3, input, ksize, strides, padding, data_format, ceil_mode)
