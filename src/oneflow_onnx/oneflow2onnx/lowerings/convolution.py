"""Convolutions and their transposes, with the bias that is added to them."""

from __future__ import annotations

from collections.abc import Sequence

from oneflow_onnx.oneflow2onnx import operators as o
from oneflow_onnx.oneflow2onnx.builder import OnnxBuilder
from oneflow_onnx.oneflow2onnx.lowering import Call, Unsupported, lowering
from oneflow_onnx.oneflow2onnx.reference import Ref
from oneflow_onnx.oneflow2onnx.sizes import combine, require_static


@lowering("conv", "conv_input_adjoint")
def _conv(b: OnnxBuilder, call: Call) -> Ref:
    return _written(b, call, *call.operands[2:])


def bias_added(b: OnnxBuilder, call: Call) -> Ref | None:
    """The convolution with a bias that an addition is; None if it is another one."""
    for x, other in (call.operands, reversed(call.operands)):
        for kind in ("conv", "conv_input_adjoint"):
            convolution = call.producer_of(x, kind)
            bias = None if convolution is None else channel_vector(call, other, x.rank)
            if convolution is None or bias is None or len(convolution.operands) > 2:
                continue
            if bias.shape == (x.shape[1],):
                return _written(b, convolution, bias)
    return None


def channel_vector(call: Call, x: Ref, rank: int) -> Ref | None:
    """The vector of one number per channel that `x` broadcasts; None if it is something else."""
    reshaped = call.producer_of(x, "reshape")
    if reshaped is None or x.rank != rank or reshaped.operands[0].rank != 1:
        return None
    others = [dim for place, dim in enumerate(x.shape) if place != 1]
    return reshaped.operands[0] if all(dim == 1 for dim in others) else None


def _written(b: OnnxBuilder, call: Call, bias: Ref | None = None) -> Ref:
    x, weight = call.operands[:2]
    if call["dims"] != tuple(range(2, x.rank)):
        raise Unsupported("convolutions of channels-last tensors")
    kernel = require_static(weight.shape[2:], "the kernel of a convolution")
    window = {
        "strides": list(call["stride"]),
        "dilations": list(call["dilation"]),
        "group": call["groups"],
        "kernel_shape": list(kernel),
    }
    shape = call.result.shape
    if call.primitive == "conv":
        x, pads = _padded(b, x, call["padding"])
        return b.op("Conv", x, weight, bias, shape=shape, dtype=x.dtype, pads=pads, **window)
    pads, extra = _transposed_pads(call, kernel)
    if any(extra):
        window["output_padding"] = extra
    return b.op("ConvTranspose", x, weight, bias, shape=shape, pads=pads, **window)


def _padded(b: OnnxBuilder, x: Ref, padding: Sequence[tuple[int, int]]) -> tuple[Ref, list[int]]:
    """The input, cropped where padding is negative, and the padding that is left."""
    crop = [(min(low, 0), min(high, 0)) for low, high in padding]
    if any(low or high for low, high in crop):
        zero = b.constant(0, x.dtype)
        x = o.pad(b, x, zero, [0, 0, *(low for low, _ in crop)], [0, 0, *(h for _, h in crop)])
    return x, [max(low, 0) for low, _ in padding] + [max(high, 0) for _, high in padding]


def _transposed_pads(call: Call, kernel: Sequence[int]) -> tuple[list[int], list[int]]:
    """The padding of a transposed convolution, and the sizes added at its end."""
    low_crop, high_crop, extras = [], [], []
    for place, (low, _) in enumerate(call["padding"]):
        step, dilation = call["stride"][place], call["dilation"][place]
        length = call.operands[0].shape[place + 2]
        span = dilation * (kernel[place] - 1) + 1
        full = combine(length, 0, lambda n, _, step=step, span=span: step * (n - 1) + span)
        total = combine(full, call["size"][place], lambda one, other: one - other)
        (cut,) = require_static([total], "the padding of a transposed convolution")
        if low < 0:
            raise Unsupported("transposed convolutions with negative padding")
        low_crop.append(low)
        high_crop.append(max(cut - low, 0))
        extras.append(max(low - cut, 0))
    return low_crop + high_crop, extras
