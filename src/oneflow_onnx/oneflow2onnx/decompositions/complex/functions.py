"""Complex numbers: their parts, arithmetic that is not linear, and Fourier transforms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from oneflow_onnx.oneflow2onnx import operators as o
from oneflow_onnx.oneflow2onnx.builder import OnnxBuilder
from oneflow_onnx.oneflow2onnx.complex_numbers import complex_lowering, joined, parts
from oneflow_onnx.oneflow2onnx.decompositions.complex.formulas import ComplexFormula
from oneflow_onnx.oneflow2onnx.formulas import Formula, atan2
from oneflow_onnx.oneflow2onnx.lowering import Call
from oneflow_onnx.oneflow2onnx.reference import Ref
from oneflow_onnx.oneflow2onnx.sizes import Dim, Shape, broadcast_shapes, require_static


@complex_lowering("view_as_real", "view_as_complex", "check_overlap")
def _same(b: OnnxBuilder, call: Call, flags: Sequence[bool]) -> Ref:
    return call.operands[0]


@complex_lowering("complex")
def _complex(b: OnnxBuilder, call: Call, flags: Sequence[bool]) -> Ref:
    re, im = call.operands
    return joined(b, re, im, call.result.shape[:-1])


@complex_lowering("polar")
def _polar(b: OnnxBuilder, call: Call, flags: Sequence[bool]) -> Ref:
    length, angle = call.operands
    return _from_angle(b, length, angle, call.result.shape)


def _from_angle(b: OnnxBuilder, length: Ref, angle: Ref, shape: Shape) -> Ref:
    directions = [b.op(name, angle) for name in ("Cos", "Sin")]
    re, im = (b.op("Mul", length, direction) for direction in directions)
    return joined(b, re, im, shape[:-1])


@complex_lowering("real_part", "imag_part")
def _part(b: OnnxBuilder, call: Call, flags: Sequence[bool]) -> Ref:
    return parts(b, call.operands[0])[call.primitive == "imag_part"]


@complex_lowering("conj")
def _conj(b: OnnxBuilder, call: Call, flags: Sequence[bool]) -> Ref:
    return _conjugate(b, call.operands[0])


def _conjugate(b: OnnxBuilder, x: Ref) -> Ref:
    return b.op("Mul", x, b.constant([1, -1], x.dtype))


@complex_lowering("abs")
def _abs(b: OnnxBuilder, call: Call, flags: Sequence[bool]) -> Ref:
    (x,) = call.operands
    return o.reduce(b, "ReduceL2", x, [x.rank - 1], keepdim=False)


@complex_lowering("angle")
def _angle(b: OnnxBuilder, call: Call, flags: Sequence[bool]) -> Ref:
    re, im = parts(b, call.operands[0])
    return atan2(b, im, re)


@complex_lowering("square")
def _square(b: OnnxBuilder, call: Call, flags: Sequence[bool]) -> Ref:
    (x,) = call.operands
    return _product(b, x, x)


@complex_lowering("cube")
def _cube(b: OnnxBuilder, call: Call, flags: Sequence[bool]) -> Ref:
    (x,) = call.operands
    return _product(b, _product(b, x, x), x)


@complex_lowering("reciprocal")
def _reciprocal(b: OnnxBuilder, call: Call, flags: Sequence[bool]) -> Ref:
    return _inverse(b, call.operands[0])


@complex_lowering("div")
def _div(b: OnnxBuilder, call: Call, flags: Sequence[bool]) -> Ref | None:
    x, y = call.operands
    if not flags[1]:
        return None
    if flags[0]:
        return _product(b, x, _inverse(b, y))
    re, im = (b.op("Mul", x, part) for part in parts(b, _inverse(b, y)))
    return joined(b, re, im, call.result.shape[:-1])


@complex_lowering("add_product", "add_quotient")
def _add_product(b: OnnxBuilder, call: Call, flags: Sequence[bool]) -> Ref:
    """``x + a * y * z``, or ``x + a * y / z``."""
    operands = zip(call.operands, flags, strict=True)
    x, y, z, a = (operand if flag else _from_real(b, operand) for operand, flag in operands)
    factor = z if call.primitive == "add_product" else _inverse(b, z)
    return b.op("Add", x, _product(b, _product(b, a, y), factor))


@complex_lowering("add_scaled")
def _add_scaled(b: OnnxBuilder, call: Call, flags: Sequence[bool]) -> Ref:
    """``x + a * y``."""
    operands = zip(call.operands, flags, strict=True)
    x, y, a = (operand if flag else _from_real(b, operand) for operand, flag in operands)
    return b.op("Add", x, _product(b, a, y))


@complex_lowering("lerp")
def _lerp(b: OnnxBuilder, call: Call, flags: Sequence[bool]) -> Ref | None:
    x, y, weight = call.operands
    if not all(flags):
        return None
    return b.op("Add", x, _product(b, weight, b.op("Sub", y, x)))


@complex_lowering("unit_vectors")
def _unit_vectors(b: OnnxBuilder, call: Call, flags: Sequence[bool]) -> Ref | None:
    x, eps = call.operands
    if call["p"] != 2 or flags[1]:
        return None
    dim = call["dim"] % (x.rank - 1)
    length = o.reduce(b, "ReduceL2", x, [dim, x.rank - 1])
    return b.op("Div", x, b.op("Max", length, b.cast(eps, x.dtype)))


def _product(b: OnnxBuilder, x: Ref, y: Ref) -> Ref:
    shape = broadcast_shapes([x.shape, y.shape])
    (a, c), (d, e) = parts(b, x), parts(b, y)
    re = b.op("Sub", b.op("Mul", a, d), b.op("Mul", c, e))
    im = b.op("Add", b.op("Mul", a, e), b.op("Mul", c, d))
    return joined(b, re, im, shape[:-1])


def _inverse(b: OnnxBuilder, x: Ref) -> Ref:
    """``conj(x) / |x|^2``."""
    square = o.reduce(b, "ReduceSumSquare", x, [x.rank - 1])
    return b.op("Div", _conjugate(b, x), square)


@complex_lowering("zeros_like")
def _zeros_like(b: OnnxBuilder, call: Call, flags: Sequence[bool]) -> Ref:
    return o.filled(b, call.result.shape, 0, call.result.dtype)


# --- functions


@complex_lowering("exp", "log", "sqrt")
def _function(b: OnnxBuilder, call: Call, flags: Sequence[bool]) -> Ref:
    x = ComplexFormula.of(b, call.operands[0], flags[0])
    return getattr(x, call.primitive)().pairs


@complex_lowering("rsqrt")
def _rsqrt(b: OnnxBuilder, call: Call, flags: Sequence[bool]) -> Ref:
    return _inverse(b, ComplexFormula.of(b, call.operands[0], flags[0]).sqrt().pairs)


@complex_lowering("pow")
def _pow(b: OnnxBuilder, call: Call, flags: Sequence[bool]) -> Ref:
    x, y = (ComplexFormula.of(b, *operand) for operand in zip(call.operands, flags, strict=True))
    power = (y * x.log()).exp()
    # The logarithm of 0 is infinite.
    at_zero = x.square.equals(0)
    one = Formula(b, b.cast(y.square.equals(0).ref, y.re.ref.dtype))
    return power.replaced(at_zero, ComplexFormula(one, one * 0)).pairs


@complex_lowering("sin", "cos", "sinh", "cosh")
def _waves(b: OnnxBuilder, call: Call, flags: Sequence[bool]) -> Ref:
    """From the functions of the parts; ``sinh(z) = -i sin(iz)``, and ``cosh(z) = cos(iz)``."""
    z = ComplexFormula.of(b, call.operands[0], flags[0])
    is_hyp = call.primitive.endswith("h")
    x, y = (-z.im, z.re) if is_hyp else (z.re, z.im)
    half, half_inverse = y.exp() * 0.5, (-y).exp() * 0.5
    cosh, sinh = half + half_inverse, half - half_inverse
    if call.primitive.startswith("cos"):
        return ComplexFormula(x.apply("Cos") * cosh, -(x.apply("Sin") * sinh)).pairs
    re, im = x.apply("Sin") * cosh, x.apply("Cos") * sinh
    return (ComplexFormula(im, -re) if is_hyp else ComplexFormula(re, im)).pairs


@complex_lowering("tan", "tanh")
def _tangents(b: OnnxBuilder, call: Call, flags: Sequence[bool]) -> Ref:
    """Write tangents by the formula for the tangent of a sum; ``tanh(z) = -i tan(iz)``."""
    z = ComplexFormula.of(b, call.operands[0], flags[0])
    is_hyperbolic = call.primitive == "tanh"
    x, y = (-z.im, z.re) if is_hyperbolic else (z.re, z.im)
    real, imag = x.apply("Sin") / x.apply("Cos"), y.apply("Tanh")
    tangent = ComplexFormula(real, imag) / ComplexFormula(real * 0 + 1, -(real * imag))
    return (ComplexFormula(tangent.im, -tangent.re) if is_hyperbolic else tangent).pairs


@complex_lowering("asin", "asinh", "acos", "acosh", "atan", "atanh")
def _inverse_functions(b: OnnxBuilder, call: Call, flags: Sequence[bool]) -> Ref:
    """Write them as logarithms, with ``asin(z) = -i asinh(iz)`` and ``atan(z) = -i atanh(iz)``."""
    z = ComplexFormula.of(b, call.operands[0], flags[0])
    name = call.primitive
    if name == "acosh":
        return (z + z.plus(1).sqrt() * z.plus(-1).sqrt()).log().pairs
    is_circular = not name.endswith("h")
    w = ComplexFormula(-z.im, z.re) if is_circular else z
    angle = _atanh(w) if name.startswith("atan") else _asinh(w)
    if is_circular:
        angle = ComplexFormula(angle.im, -angle.re)
    return ((-angle).plus(math.pi / 2) if name == "acos" else angle).pairs


def _asinh(z: ComplexFormula) -> ComplexFormula:
    """On the left by the right, where the sum under the logarithm does not cancel."""
    left = z.re < 0
    right = z.replaced(left, -z)
    value = (right + (right * right).plus(1).sqrt()).log()
    return value.replaced(left, -value)


def _atanh(z: ComplexFormula) -> ComplexFormula:
    return (z.plus(1).log() - (-z).plus(1).log()).scaled(0.5)


# --- reductions that are not linear


@complex_lowering("prod")
def _prod(b: OnnxBuilder, call: Call, flags: Sequence[bool]) -> Ref:
    """Products of halves, until one number is left."""
    x, dims = call.operands[0], call["dims"]
    if 0 in x.shape:
        return _from_real(b, o.filled(b, call.result.shape[:-1], 1, x.dtype))
    for dim in dims:
        (size,) = require_static([x.shape[dim]], "a product of complex numbers")
        while size > 1:
            half, odd = divmod(size, 2)
            first, second, *rest = o.split(b, x, [half, half, *[1] * odd], dim)
            x = _product(b, first, second)
            x = o.concat(b, [x, *rest], dim) if rest else x
            size = half + odd
    return x if call["keepdim"] else o.squeeze(b, x, dims)


# --- Fourier transforms: ours are not scaled, ONNX's inverse ones are divided by the size


@complex_lowering("fourier")
def _fourier(b: OnnxBuilder, call: Call, flags: Sequence[bool]) -> Ref:
    x = call.operands[0] if flags[0] else _from_real(b, call.operands[0])
    for dim in call["dims"]:
        size = x.shape[dim]
        x = _transformed(b, x, dim, size, inverse=call["inverse"])
        if call["inverse"]:
            x = b.op("Mul", x, b.number(size, x.dtype))
    return x


def _from_real(b: OnnxBuilder, x: Ref) -> Ref:
    return joined(b, x, o.filled(b, x.shape, 0, x.dtype), x.shape)


@complex_lowering("fourier_of_real")
def _fourier_of_real(b: OnnxBuilder, call: Call, flags: Sequence[bool]) -> Ref:
    (x,), dim = call.operands, call["dim"]
    single = o.unsqueeze(b, x, [x.rank])
    return _transformed(b, single, dim, call.result.shape[dim], onesided=True)


@complex_lowering("fourier_to_real")
def _fourier_to_real(b: OnnxBuilder, call: Call, flags: Sequence[bool]) -> Ref:
    """The inverse transform of a half together with the other one, its conjugate mirrored."""
    dim = call["dim"]
    x = call.operands[0] if flags[0] else _from_real(b, call.operands[0])
    size, length = require_static([call["size"], x.shape[dim]], "a transform to real numbers")
    mirrored = b.constant(np.arange(size - length, 0, -1))
    if size > length:
        x = o.concat(b, [x, _conjugate(b, o.gather(b, x, mirrored, dim))], dim)
    re, _ = parts(b, _transformed(b, x, dim, size, inverse=True))
    return b.op("Mul", re, b.constant(size, re.dtype))


def _transformed(
    b: OnnxBuilder, x: Ref, dim: int, size: Dim, inverse: bool = False, onesided: bool = False
) -> Ref:
    """ONNX's transform of pairs, or of single numbers, to `size` pairs along `dim`."""
    if x.rank == 2:
        # ONNX's operator requires a batch dimension.
        batch = _transformed(b, o.unsqueeze(b, x, [0]), dim + 1, size, inverse, onesided)
        return o.squeeze(b, batch, [0])
    shape = (*x.shape[:dim], size, *x.shape[dim + 1 : -1], 2)
    options: dict[str, Any] = {"inverse": int(inverse), "onesided": int(onesided)}
    if b.opset < 20:
        return b.op("DFT", x, shape=shape, axis=dim, **options)
    return b.op("DFT", x, None, b.constant(np.int64(dim)), shape=shape, **options)
