"""Convolution and its two adjoints.

The three primitives are the partial derivatives of one trilinear form ``<conv(x, w), g>``, so each
one's gradient is the other two. Activations are ``[N, C, spatial...]``, or ``[N, spatial..., C]``:
`dims` says where the spatial dimensions are. Weights are always ``[out, in / groups, spatial...]``.
`padding` is one ``(low, high)`` pair per spatial dimension. A bias of the result is one of the
operands, so that half precision can be rounded once.
"""

from __future__ import annotations

import functools
from typing import Any

from oneflow.primitives.operation import Operation
from oneflow.primitives.operators import conv_cpu
from oneflow.primitives.operators.channels_last import ChannelsLast, dims_rule
from oneflow.primitives.operators.conv_xla import (
    Window,
    bias_shape,
    channel_dim,
    convolve,
    convolve_input_adjoint,
    convolve_weight_adjoint,
    sum_dtype,
)
from oneflow.primitives.operators.elementwise import conjugate
from oneflow.primitives.operators.reduce import sum_
from oneflow.primitives.operators.rounding import hidden
from oneflow.primitives.operators.windows import Pairs
from oneflow.primitives.registry import primitive
from oneflow.primitives.sharding.axes import Axes, Names
from oneflow.primitives.traits import Fusion, Kind, Precision


def add_bias(activation, bias: tuple, dims: tuple[int, ...]):
    """`activation` plus one number per channel, in its type, if there is a `bias`."""
    if not bias:
        return activation
    (vector,) = bias
    shape = bias_shape(dims, vector.shape[0])
    return hidden(activation + vector.astype(activation.dtype).reshape(shape))


def _conv(x, weight, *bias, dims, stride, padding: Pairs, dilation, groups: int):
    window = Window(dims, stride, padding, dilation, groups)
    return add_bias(convolve(x, weight, window), bias, dims)


def _conv_input_adjoint(
    y, weight, *bias, size, dims, stride, padding: Pairs, dilation, groups: int
):
    window = Window(dims, stride, padding, dilation, groups)
    return add_bias(convolve_input_adjoint(y, weight, size, window), bias, dims)


def _conv_weight_adjoint(x, y, *, kernel, dims, stride, padding: Pairs, dilation, groups: int):
    return convolve_weight_adjoint(x, y, kernel, Window(dims, stride, padding, dilation, groups))


def _axes(operation: Operation, *tags: str) -> Axes:
    """Names per operand and result: ``"i"`` the input, ``"o"`` the output, ``"w"`` the weight.

    The third operand, if there is one, is a bias of the result. Groups may be split, but not the
    channels within one if there are several.
    """
    dims, grouped = operation.attributes["dims"], operation.attributes["groups"] > 1
    names: list[Names] = []
    for tag in tags:
        operand_names: list[str | None] = [None] * (len(dims) + 2)
        if tag == "w":
            operand_names[:2] = ["group", None] if grouped else ["o", "i"]
        else:
            operand_names[0], operand_names[channel_dim(dims)] = "n", "group" if grouped else tag
        names.append(tuple(operand_names))
    biased = len(operation.in_specs) > 2
    bias: tuple[Names, ...] = (("group" if grouped else tags[2],),) if biased else ()
    return Axes(
        (names[0], names[1], *bias),
        (names[2],),
        {"groups": "group"} if grouped else {},
        biases=(2,) if biased else (),
    )


def _activation_rule(operation: Operation) -> ChannelsLast | None:
    moved = (True, False, False)[: len(operation.in_specs)]
    return dims_rule(moved, (True,), preferred=True)(operation)


conv = primitive(
    "conv",
    _conv,
    axes=lambda operation: _axes(operation, *"iwo"),
    kind=Kind.CONVOLUTION,
    fusion=Fusion(reads_memory=True),
    channels_last=_activation_rule,
    linear=("x *bias", "weight *bias"),
    precision=Precision.HALF,
)


def _conv_rounded_once(
    convolve_in, x, weight, *bias, dims, stride, padding: Pairs, dilation, groups: int
):
    window = Window(dims, stride, padding, dilation, groups)
    dtype = sum_dtype(x.dtype) if bias else x.dtype
    result = convolve_in(x, weight, window, dtype)
    return add_bias(result, bias, dims).astype(x.dtype)


conv.lowering("cpu", traced=functools.partial(_conv_rounded_once, convolve))(
    functools.partial(_conv_rounded_once, conv_cpu.convolve)
)


conv_input_adjoint = primitive(
    "conv_input_adjoint",
    _conv_input_adjoint,
    axes=lambda operation: _axes(operation, *"owi"),
    kind=Kind.CONVOLUTION,
    fusion=Fusion(reads_memory=True),
    channels_last=_activation_rule,
    linear=("y *bias", "weight *bias"),
    precision=Precision.HALF,
)


def _input_adjoint_rounded_once(
    adjoint, y, weight, *bias, size, dims, stride, padding: Pairs, dilation, groups: int
):
    window = Window(dims, stride, padding, dilation, groups)
    dtype = sum_dtype(y.dtype) if bias else y.dtype
    result = adjoint(y, weight, size, window, dtype)
    return add_bias(result, bias, dims).astype(y.dtype)


conv_input_adjoint.lowering(
    "cpu", traced=functools.partial(_input_adjoint_rounded_once, convolve_input_adjoint)
)(functools.partial(_input_adjoint_rounded_once, conv_cpu.convolve_input_adjoint))


conv_weight_adjoint = primitive(
    "conv_weight_adjoint",
    _conv_weight_adjoint,
    axes=lambda operation: _axes(operation, *"iow"),
    kind=Kind.CONVOLUTION,
    fusion=Fusion(reads_memory=True),
    channels_last=dims_rule((True, True), (False,), preferred=True),
    linear=("x", "y"),
)


@conv_weight_adjoint.lowering("cpu", traced=_conv_weight_adjoint)
def _conv_weight_adjoint_on_cpu(
    x, y, *, kernel, dims, stride, padding: Pairs, dilation, groups: int
):
    window = Window(dims, stride, padding, dilation, groups)
    return conv_cpu.convolve_weight_adjoint(x, y, kernel, window)


def _forward(x, weight, attributes: dict):
    return conv(x, conjugate(weight), **_window(attributes))


def _to_input(y, weight, spec: Any, attributes: dict):
    size = tuple(spec.shape[dim] for dim in attributes["dims"])
    return conv_input_adjoint(y, conjugate(weight), size=size, **_window(attributes))


def _to_weight(x, y, spec: Any, attributes: dict):
    return conv_weight_adjoint(x, y, kernel=spec.shape[2:], **_window(attributes))


def _window(attributes: dict) -> dict[str, Any]:
    return {name: attributes[name] for name in Window._fields}


def _writable(operation: Operation) -> str:
    """PyTorch keeps a padded copy where the padding is not the same on both sides."""
    pads = operation.attributes["padding"]
    return "x" if any(low != high for low, high in pads) else ""


def _sum_per_channel(g, dims: tuple[int, ...]):
    return sum_(g, dims=(0, *dims))


conv.gradient(
    x=lambda g, weight, x_spec, all_attributes: _to_input(g, weight, x_spec, all_attributes),
    weight=lambda g, x, weight_spec, all_attributes: _to_weight(
        conjugate(x), g, weight_spec, all_attributes
    ),
    bias=_sum_per_channel,
    writable=_writable,
)
conv_input_adjoint.gradient(
    y=lambda g, weight, all_attributes: _forward(g, weight, all_attributes),
    weight=lambda g, y, weight_spec, all_attributes: _to_weight(
        g, conjugate(y), weight_spec, all_attributes
    ),
    bias=_sum_per_channel,
)
conv_weight_adjoint.gradient(
    x=lambda g, y, x_spec, all_attributes: _to_input(
        conjugate(y), conjugate(g), x_spec, all_attributes
    ),
    y=lambda g, x, all_attributes: _forward(conjugate(x), conjugate(g), all_attributes),
)
