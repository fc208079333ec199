"""Random numbers: ONNX draws its own, so only their distribution is kept."""

from __future__ import annotations

import math

import numpy as np

from oneflow_onnx.oneflow2onnx import operators as o
from oneflow_onnx.oneflow2onnx.builder import OnnxBuilder
from oneflow_onnx.oneflow2onnx.lowering import Call, Unsupported, lowering
from oneflow_onnx.oneflow2onnx.lowerings.ordering import ordered
from oneflow_onnx.oneflow2onnx.reference import Ref, onnx_type
from oneflow_onnx.oneflow2onnx.sizes import Shape, has_size

BOOL = np.dtype(bool)


def _random(b: OnnxBuilder, name: str, shape: Shape, **options: float) -> Ref:
    """Random numbers of float32."""
    kind = np.dtype(np.float32)
    code = int(onnx_type(kind))
    if has_size(shape):
        like = o.expand(b, b.constant(np.float32(0)), shape)
        return b.op(f"{name}Like", like, shape=shape, dtype=kind, **options)
    attributes = {"dtype": code, "shape": list(shape), **options}
    return b.multiple(name, [], [(shape, kind)], **attributes)[0]


@lowering("dropout")
def _dropout(b: OnnxBuilder, call: Call) -> Ref:
    x, _, _, p, scale = call.operands
    shape = tuple(1 if d in call["broadcast_dims"] else dim for d, dim in enumerate(x.shape))
    mask = _above(b, shape, p)
    return b.op("Mul", x, b.op("Mul", b.cast(mask, x.dtype), b.cast(scale, x.dtype)))


@lowering("alpha_dropout")
def _alpha_dropout(b: OnnxBuilder, call: Call) -> Ref:
    x, _, _, p, scale, shift, low = call.operands
    shape = tuple(1 if d in call["broadcast_dims"] else dim for d, dim in enumerate(x.shape))
    scaled = b.op("Add", b.op("Mul", x, b.cast(scale, x.dtype)), b.cast(shift, x.dtype))
    return o.where(b, _above(b, shape, p), scaled, b.cast(low, x.dtype))


def _above(b: OnnxBuilder, shape: Shape, p: Ref) -> Ref:
    """True with probability 1 - `p`."""
    draw = _random(b, "RandomUniform", shape, low=0.0, high=1.0)
    return b.op("Not", b.op("Less", draw, b.cast(p, draw.dtype), dtype=BOOL))


@lowering("random_uniform")
def _uniform(b: OnnxBuilder, call: Call) -> Ref:
    _, _, low, high = call.operands
    limits = {"low": _number(low), "high": _number(high)}
    return b.cast(_random(b, "RandomUniform", call["shape"], **limits), call.result.dtype)


@lowering("random_normal")
def _normal(b: OnnxBuilder, call: Call) -> Ref:
    _, _, mean, std = call.operands
    options = {"mean": _number(mean), "scale": _number(std)}
    return b.cast(_random(b, "RandomNormal", call["shape"], **options), call.result.dtype)


@lowering("random_exponential")
def _exponential(b: OnnxBuilder, call: Call) -> Ref:
    _, _, rate = call.operands
    draw = b.op("Neg", _log_uniform(b, call["shape"]))
    return b.cast(b.op("Div", draw, b.cast(rate, draw.dtype)), call.result.dtype)


@lowering("random_geometric")
def _geometric(b: OnnxBuilder, call: Call) -> Ref:
    _, _, p = call.operands
    draw = _log_uniform(b, call["shape"])
    failing = b.op("Log", b.op("Sub", b.constant(1, draw.dtype), b.cast(p, draw.dtype)))
    trials = b.op("Ceil", b.op("Div", draw, failing))
    return b.cast(b.op("Max", trials, b.constant(1, draw.dtype)), call.result.dtype)


@lowering("random_cauchy")
def _cauchy(b: OnnxBuilder, call: Call) -> Ref:
    _, _, median, sigma = call.operands
    angle = _random(b, "RandomUniform", call["shape"], low=-math.pi / 2, high=math.pi / 2)
    scaled = b.op("Mul", b.op("Tan", angle), b.cast(sigma, angle.dtype))
    return b.cast(b.op("Add", scaled, b.cast(median, angle.dtype)), call.result.dtype)


def _log_uniform(b: OnnxBuilder, shape: Shape) -> Ref:
    """The logarithm of a number above 0, and up to 1."""
    draw = _random(b, "RandomUniform", shape, low=0.0, high=1.0)
    return b.op("Log", b.op("Sub", b.constant(1, draw.dtype), draw))


@lowering("random_permutation")
def _permutation(b: OnnxBuilder, call: Call) -> Ref:
    count = call.result.shape[0]
    draw = _random(b, "RandomUniform", (count,), low=0.0, high=1.0)
    return b.cast(ordered(b, draw, count, 0, largest=True)[1], call.result.dtype)


@lowering("random_mask")
def _mask(b: OnnxBuilder, call: Call) -> Ref:
    p = call.operands[-1]
    return b.cast(b.op("Not", _above(b, call["shape"], p)), call.result.dtype)


@lowering("random_bernoulli")
def _bernoulli(b: OnnxBuilder, call: Call) -> Ref:
    p, *_ = call.operands
    draw = _random(b, "RandomUniform", p.shape, low=0.0, high=1.0)
    below = b.op("Less", draw, b.cast(p, draw.dtype), dtype=BOOL)
    return b.cast(below, call.result.dtype)


@lowering("random_integer")
def _integer(b: OnnxBuilder, call: Call) -> Ref:
    _, _, low, high = call.operands
    draw = _random(b, "RandomUniform", call["shape"], low=_number(low), high=_number(high))
    return b.cast(b.op("Floor", draw), call.result.dtype)


def _number(x: Ref) -> float:
    if x.constant is None:
        raise Unsupported("random numbers in an interval that is computed")
    return float(x.constant)
