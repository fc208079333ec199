"""Convolutions and transposed convolutions over one, two and three spatial dimensions."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from oneflow.base.shape import as_integer
from oneflow.base.sizes import IntOrInts
from oneflow.functional.nn.spatial import batched, per_dimension, spatial_dims, unbatched
from oneflow.functional.registry import function
from oneflow.primitives.operators import conv as p
from oneflow.primitives.operators.shape import transpose
from oneflow.tensor.call import call
from oneflow.tensor.operands import cast_to
from oneflow.tensor.tensor import Tensor


def convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: IntOrInts,
    padding: str | IntOrInts,
    dilation: IntOrInts,
    groups: int,
    channel_pos: str,
    count: int,
) -> Tensor:
    """Convolution over `count` spatial dimensions; see `conv2d`."""
    name = f"conv{count}d"
    _require_weight(weight, count, name)
    input, was_unbatched = batched(input, count, name)
    if channel_pos == "channels_last":
        weight = _channels_first(weight)
    if not isinstance(padding, str):
        padding = per_dimension(padding, count, "padding")
    weight_shape = weight.spec.shape
    window = _checked_window(
        input.spec.shape,
        weight_shape,
        per_dimension(stride, count, "stride"),
        padding,
        per_dimension(dilation, count, "dilation"),
        groups,
        channel_pos,
    )
    biases = _bias_operand(input, weight, bias, weight_shape[0])
    output = call(p.conv, input, weight, *biases, **window)
    return unbatched(output, was_unbatched) if was_unbatched else output


@functools.lru_cache(maxsize=1 << 12, typed=True)
def _checked_window(
    shape: tuple[int, ...],
    weight_shape: tuple[int, ...],
    stride: tuple[int, ...],
    padding: str | tuple[int, ...],
    dilation: tuple[int, ...],
    groups: int,
    channel_pos: str,
) -> dict[str, Any]:
    """The attributes of a convolution, checked once for the shapes of its operands.

    Raises:
        RuntimeError: sizes that do not fit together.
    """
    kernel = weight_shape[2:]
    count = len(kernel)
    dims = spatial_dims(count, channel_pos)
    _require_positive(f"conv{count}d", stride=stride, dilation=dilation)
    pairs = padding_pairs(padding, stride, dilation, kernel)
    _require_groups(shape, weight_shape, groups, p.channel_dim(dims))
    _require_fitting_kernel([shape[dim] for dim in dims], pairs, dilation, kernel)
    return {
        "dims": dims,
        "stride": stride,
        "padding": pairs,
        "dilation": dilation,
        "groups": groups,
    }


def transposed_convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: IntOrInts,
    padding: str | IntOrInts,
    output_padding: IntOrInts,
    groups: int,
    dilation: IntOrInts,
    data_format: str,
    count: int,
) -> Tensor:
    """Transposed convolution over `count` spatial dimensions; see `conv_transpose2d`."""
    name = f"conv_transpose{count}d"
    _require_weight(weight, count, name)
    input, was_unbatched = batched(input, count, name)
    if data_format == "channels_last":
        weight = _channels_first(weight)
    weight_shape = weight.spec.shape
    window = _checked_adjoint_window(
        input.spec.shape,
        weight_shape,
        per_dimension(stride, count, "stride"),
        per_dimension(padding, count, "padding"),
        per_dimension(output_padding, count, "output_padding"),
        per_dimension(dilation, count, "dilation"),
        groups,
        data_format,
    )
    biases = _bias_operand(input, weight, bias, weight_shape[1] * groups)
    output = call(p.conv_input_adjoint, input, weight, *biases, **window)
    return unbatched(output, was_unbatched) if was_unbatched else output


@functools.lru_cache(maxsize=1 << 12, typed=True)
def _checked_adjoint_window(
    shape: tuple[int, ...],
    weight_shape: tuple[int, ...],
    stride: tuple[int, ...],
    padding: tuple[int, ...],
    extra: tuple[int, ...],
    dilation: tuple[int, ...],
    groups: int,
    data_format: str,
) -> dict[str, Any]:
    """The attributes of a transposed convolution; `extra` is the output padding.

    Raises:
        RuntimeError: sizes that do not fit together.
    """
    kernel = weight_shape[2:]
    name = f"conv_transpose{len(kernel)}d"
    dims = spatial_dims(len(kernel), data_format)
    _require_positive(name, stride=stride, dilation=dilation)
    if type(groups) is not int:
        groups = as_integer(groups, "groups")
    if min(padding) < 0:
        raise RuntimeError(f"negative padding is not supported, got padding={list(padding)}")
    channels = shape[p.channel_dim(dims)]
    if channels != weight_shape[0] or channels % groups:
        raise RuntimeError(
            f"Given transposed=1, weight of size {list(weight_shape)}, expected "
            f"input{list(shape)} to have {weight_shape[0]} channels (a multiple of "
            f"groups={groups}), but got {channels} channels instead"
        )
    sizes = [shape[dim] for dim in dims]
    return {
        "size": _transposed_size(name, sizes, kernel, stride, padding, dilation, extra),
        "dims": dims,
        "stride": stride,
        # The convolution whose adjoint this is sees `extra` fewer elements of padding at the end.
        "padding": tuple((pad, pad - more) for pad, more in zip(padding, extra, strict=True)),
        "dilation": dilation,
        "groups": groups,
    }


def _transposed_size(
    name: str,
    size: Sequence[int],
    kernel: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    extra: Sequence[int],
) -> tuple[int, ...]:
    """Spatial sizes of a transposed convolution's result; `extra` is the output padding."""
    for extra_padding, step, factor in zip(extra, stride, dilation, strict=True):
        if extra_padding >= max(step, factor):
            raise RuntimeError(
                "output padding must be smaller than either stride or dilation, but got "
                f"output_padding={extra_padding}, stride={step}, dilation={factor}"
            )
    result = tuple(
        (length - 1) * step - 2 * pad + factor * (width - 1) + more + 1
        for length, step, pad, factor, width, more in zip(
            size, stride, padding, dilation, kernel, extra, strict=True
        )
    )
    if min(result) <= 0:
        raise RuntimeError(f"calculated output size {list(result)} of {name} is too small")
    return result


def padding_pairs(
    padding: str | IntOrInts,
    stride: tuple[int, ...],
    dilation: tuple[int, ...],
    kernel: tuple[int, ...],
) -> p.Pairs:
    """Elements of zero padding before and after, per spatial dimension."""
    if padding == "valid":
        return ((0, 0),) * len(kernel)
    if padding == "same":
        if any(step != 1 for step in stride):
            raise RuntimeError("padding='same' is not supported for strided convolutions")
        sums = [factor * (width - 1) for factor, width in zip(dilation, kernel, strict=True)]
        return tuple((total // 2, total - total // 2) for total in sums)
    if isinstance(padding, str):
        raise RuntimeError(f"`padding` must be 'valid', 'same' or integers, got {padding!r}")
    numbers = per_dimension(padding, len(kernel), "padding")
    if min(numbers) < 0:
        raise RuntimeError(f"negative padding is not supported, got {padding!r}")
    return tuple((number, number) for number in numbers)


def _bias_operand(
    input: Tensor, weight: Tensor, bias: Tensor | None, channels: int
) -> tuple[Tensor, ...]:
    """The bias, of `channels` elements, with the dtype of the input; nothing if it is None."""
    if bias is None:
        return ()
    spec, dtype = bias.spec, input.spec.dtype
    if spec.shape != (channels,):
        raise RuntimeError(
            f"expected bias of size [{channels}] for {channels} output channels, got "
            f"{list(bias.shape)}"
        )
    if spec.dtype is dtype:
        return (bias,)
    # A weight of another dtype than the input is refused with its shape when it is multiplied.
    if weight.spec.dtype is dtype and spec.dtype.category > dtype.category:
        raise RuntimeError(
            f"Input type ({dtype}) and bias type ({spec.dtype}) should be the same; convert one "
            "of them"
        )
    return (cast_to(bias, dtype),)


def _channels_first(weight: Tensor) -> Tensor:
    """OneFlow's channels-last weights are ``[out, spatial..., in / groups]``."""
    last = weight.ndim - 1
    return call(transpose, weight, perm=(0, last, *range(1, last)))


def _require_weight(weight: Any, count: int, name: str) -> None:
    if not isinstance(weight, Tensor):
        raise TypeError(f"{name}(): `weight` must be a Tensor, got {type(weight).__name__}")
    if weight.spec.ndim != count + 2:
        raise RuntimeError(
            f"{name} expects a {count + 2}D weight, got weight of size {list(weight.shape)}"
        )


def _require_positive(name: str, **settings: tuple[int, ...]) -> None:
    for setting, numbers in settings.items():
        if min(numbers) < 1:
            raise RuntimeError(f"{name}: `{setting}` must be greater than zero, got {numbers}")


def _require_groups(
    shape: tuple[int, ...], weight_shape: tuple[int, ...], groups: int, channel: int
) -> None:
    if type(groups) is not int:
        groups = as_integer(groups, "groups")
    if groups < 1:
        raise RuntimeError(f"`groups` must be greater than zero, got {groups}")
    if weight_shape[0] % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight of size {list(weight_shape)} to have a first "
            "dimension divisible by groups"
        )
    if shape[channel] != weight_shape[1] * groups:
        raise RuntimeError(
            f"Given groups={groups}, weight of size {list(weight_shape)}, expected "
            f"input{list(shape)} to have {weight_shape[1] * groups} channels, but got "
            f"{shape[channel]} channels instead"
        )


def _require_fitting_kernel(
    size: list[int], pairs: p.Pairs, dilation: tuple[int, ...], kernel: tuple[int, ...]
) -> None:
    padded = [length + low + high for length, (low, high) in zip(size, pairs, strict=True)]
    sizes = [factor * (width - 1) + 1 for factor, width in zip(dilation, kernel, strict=True)]
    if any(needed > available for needed, available in zip(sizes, padded, strict=True)):
        raise RuntimeError(
            f"Calculated padded input size per channel: {padded}. Kernel size: {sizes}. Kernel "
            "size can't be greater than actual input size"
        )


@function(method=False, namespace="nn.functional", also=("conv1d",))
def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: IntOrInts = 1,
    padding: str | IntOrInts = 0,
    dilation: IntOrInts = 1,
    groups: int = 1,
    channel_pos: str = "channels_first",
) -> Tensor:
    """Convolution over one spatial dimension; arguments as for `conv2d`.

    The input is ``[N, C, L]`` or ``[C, L]``, the weight ``[out channels, C / groups, kernel]``.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([[[1.0, 2.0, 3.0, 4.0]]])
        >>> flow.nn.functional.conv1d(x, flow.ones(1, 1, 2))
        tensor([[[3., 5., 7.]]], dtype=oneflow.float32)
    """
    return convolution(input, weight, bias, stride, padding, dilation, groups, channel_pos, 1)


@function(method=False, namespace="nn.functional", also=("conv2d",))
def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: IntOrInts = 1,
    padding: str | IntOrInts = 0,
    dilation: IntOrInts = 1,
    groups: int = 1,
    channel_pos: str = "channels_first",
) -> Tensor:
    """Convolution (cross-correlation) over two spatial dimensions.

    Args:
        input: ``[N, C, H, W]`` or ``[C, H, W]``.
        weight: ``[out channels, C / groups, kernel height, kernel width]``.
        bias: ``[out channels]``, or None.
        stride: step of the kernel, one number or one per spatial dimension.
        padding: zeros added on both sides, one number or one per dimension, or ``"valid"`` (none)
            or ``"same"``.
        dilation: distance between the elements of the kernel.
        groups: number of groups that the channels are divided into.
        channel_pos: ``"channels_first"``, or ``"channels_last"`` for input ``[N, H, W, C]`` and
            weight ``[out channels, kernel height, kernel width, C / groups]``.

    Returns:
        ``[N, out channels, H', W']``.

    Raises:
        RuntimeError: sizes that do not fit together.

    Example:
        >>> import oneflow as flow
        >>> x, weight = flow.ones(1, 2, 3, 3), flow.ones(1, 2, 2, 2)
        >>> flow.nn.functional.conv2d(x, weight, stride=2, padding=1)
        tensor([[[[2., 4.],
                  [4., 8.]]]], dtype=oneflow.float32)
    """
    return convolution(input, weight, bias, stride, padding, dilation, groups, channel_pos, 2)


@function(method=False, namespace="nn.functional", also=("conv3d",))
def conv3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: IntOrInts = 1,
    padding: str | IntOrInts = 0,
    dilation: IntOrInts = 1,
    groups: int = 1,
    channel_pos: str = "channels_first",
) -> Tensor:
    """Convolution over three spatial dimensions; arguments as for `conv2d`.

    The input is ``[N, C, D, H, W]`` or ``[C, D, H, W]``, the weight ``[out channels, C / groups,
    kernel depth, kernel height, kernel width]``.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.functional.conv3d(flow.ones(1, 2, 4, 5, 6), flow.ones(3, 2, 2, 2, 2)).shape
        oneflow.Size([1, 3, 3, 4, 5])
    """
    return convolution(input, weight, bias, stride, padding, dilation, groups, channel_pos, 3)


@function(method=False, namespace="nn.functional", also=("conv_transpose1d",))
def conv_transpose1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: IntOrInts = 1,
    padding: str | IntOrInts = 0,
    output_padding: IntOrInts = 0,
    groups: int = 1,
    dilation: IntOrInts = 1,
    data_format: str = "channels_first",
) -> Tensor:
    """Transposed convolution over one spatial dimension; arguments as for `conv_transpose2d`.

    Example:
        >>> import oneflow as flow
        >>> x = flow.tensor([[[1.0, 2.0]]])
        >>> flow.nn.functional.conv_transpose1d(x, flow.ones(1, 1, 2), stride=2)
        tensor([[[1., 1., 2., 2.]]], dtype=oneflow.float32)
    """
    return transposed_convolution(
        input, weight, bias, stride, padding, output_padding, groups, dilation, data_format, 1
    )


@function(method=False, namespace="nn.functional", also=("conv_transpose2d",))
def conv_transpose2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: IntOrInts = 1,
    padding: str | IntOrInts = 0,
    output_padding: IntOrInts = 0,
    groups: int = 1,
    dilation: IntOrInts = 1,
    data_format: str = "channels_first",
) -> Tensor:
    """Transposed convolution over two spatial dimensions: the gradient of `conv2d` in its input.

    Args:
        input: ``[N, C, H, W]`` or ``[C, H, W]``.
        weight: ``[C, out channels / groups, kernel height, kernel width]``.
        bias: ``[out channels]``, or None.
        stride: stride of the convolution whose transpose this is.
        padding: its zero padding; removes as many elements from both sides of the result.
        output_padding: elements added at the end of each spatial dimension.
        groups: number of groups that the channels are divided into.
        dilation: distance between the elements of the kernel.
        data_format: ``"channels_first"`` or ``"channels_last"``.

    Returns:
        ``[N, out channels, H', W']`` with
        ``H' = (H - 1) * stride - 2 * padding + dilation * (kernel - 1) + output_padding + 1``.

    Raises:
        RuntimeError: sizes that do not fit together.

    Example:
        >>> import oneflow as flow
        >>> x, weight = flow.ones(1, 2, 2, 2), flow.ones(2, 1, 2, 2)
        >>> flow.nn.functional.conv_transpose2d(x, weight).shape
        oneflow.Size([1, 1, 3, 3])
    """
    return transposed_convolution(
        input, weight, bias, stride, padding, output_padding, groups, dilation, data_format, 2
    )


@function(method=False, namespace="nn.functional", also=("conv_transpose3d",))
def conv_transpose3d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: IntOrInts = 1,
    padding: str | IntOrInts = 0,
    output_padding: IntOrInts = 0,
    groups: int = 1,
    dilation: IntOrInts = 1,
    data_format: str = "channels_first",
) -> Tensor:
    """Transposed convolution over three spatial dimensions; arguments as for `conv_transpose2d`.

    Example:
        >>> import oneflow as flow
        >>> images, weight = flow.ones(1, 2, 2, 3, 4), flow.ones(2, 3, 2, 2, 2)
        >>> flow.nn.functional.conv_transpose3d(images, weight).shape
        oneflow.Size([1, 3, 3, 4, 5])
    """
    return transposed_convolution(
        input, weight, bias, stride, padding, output_padding, groups, dilation, data_format, 3
    )
