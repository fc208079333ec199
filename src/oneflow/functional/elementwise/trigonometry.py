"""Trigonometric and hyperbolic functions."""

from __future__ import annotations

import math

from oneflow.functional.elementwise.arithmetic import scaled
from oneflow.functional.elementwise.unary import floating
from oneflow.functional.registry import function
from oneflow.primitives.operators import trigonometry as p
from oneflow.tensor.tensor import Tensor


@function(inplace=True, also=("sin_",))
def sin(x: Tensor) -> Tensor:
    """Sine.

    Example:
        >>> import oneflow as flow
        >>> flow.sin(flow.tensor([0.0, 1.0]))
        tensor([0.0000, 0.8415], dtype=oneflow.float32)
    """
    return floating(p.sin, x)


@function(inplace=True, also=("cos_",))
def cos(x: Tensor) -> Tensor:
    """Cosine.

    Example:
        >>> import oneflow as flow
        >>> flow.cos(flow.tensor([0.0, 1.0]))
        tensor([1.0000, 0.5403], dtype=oneflow.float32)
    """
    return floating(p.cos, x)


@function(inplace=True, also=("tan_",))
def tan(x: Tensor) -> Tensor:
    """Tangent.

    Example:
        >>> import oneflow as flow
        >>> flow.tan(flow.tensor([0.0, 1.0]))
        tensor([0.0000, 1.5574], dtype=oneflow.float32)
    """
    return floating(p.tan, x)


@function(inplace=True, aliases=("arcsin",), also=("arcsin_", "asin_"))
def asin(x: Tensor) -> Tensor:
    """Inverse sine; NaN outside [-1, 1].

    Example:
        >>> import oneflow as flow
        >>> flow.asin(flow.tensor([0.0, 1.0]))
        tensor([0.0000, 1.5708], dtype=oneflow.float32)
    """
    return floating(p.asin, x)


@function(inplace=True, aliases=("arccos",), also=("acos_", "arccos_"))
def acos(x: Tensor) -> Tensor:
    """Inverse cosine; NaN outside [-1, 1].

    Example:
        >>> import oneflow as flow
        >>> flow.acos(flow.tensor([0.0, 1.0]))
        tensor([1.5708, 0.0000], dtype=oneflow.float32)
    """
    return floating(p.acos, x)


@function(inplace=True, aliases=("arctan",), also=("arctan_", "atan_"))
def atan(x: Tensor) -> Tensor:
    """Inverse tangent.

    Example:
        >>> import oneflow as flow
        >>> flow.atan(flow.tensor([0.0, 1.0]))
        tensor([0.0000, 0.7854], dtype=oneflow.float32)
    """
    return floating(p.atan, x)


@function(inplace=True, also=("sinh_",))
def sinh(x: Tensor) -> Tensor:
    """Hyperbolic sine.

    Example:
        >>> import oneflow as flow
        >>> flow.sinh(flow.tensor([0.0, 1.0]))
        tensor([0.0000, 1.1752], dtype=oneflow.float32)
    """
    return floating(p.sinh, x)


@function(inplace=True, also=("cosh_",))
def cosh(x: Tensor) -> Tensor:
    """Hyperbolic cosine.

    Example:
        >>> import oneflow as flow
        >>> flow.cosh(flow.tensor([0.0, 1.0]))
        tensor([1.0000, 1.5431], dtype=oneflow.float32)
    """
    return floating(p.cosh, x)


@function(inplace=True, aliases=("arcsinh",), also=("arcsinh_", "asinh_"))
def asinh(x: Tensor) -> Tensor:
    """Inverse hyperbolic sine.

    Example:
        >>> import oneflow as flow
        >>> flow.asinh(flow.tensor([0.0, 1.0]))
        tensor([0.0000, 0.8814], dtype=oneflow.float32)
    """
    return floating(p.asinh, x)


@function(inplace=True, aliases=("arccosh",), also=("acosh_", "arccosh_"))
def acosh(x: Tensor) -> Tensor:
    """Inverse hyperbolic cosine; NaN below 1.

    Example:
        >>> import oneflow as flow
        >>> flow.acosh(flow.tensor([1.0, 2.0]))
        tensor([0.0000, 1.3170], dtype=oneflow.float32)
    """
    return floating(p.acosh, x)


@function(inplace=True, aliases=("arctanh",), also=("arctanh_", "atanh_"))
def atanh(x: Tensor) -> Tensor:
    """Inverse hyperbolic tangent; NaN outside [-1, 1].

    Example:
        >>> import oneflow as flow
        >>> flow.atanh(flow.tensor([0.0, 0.5]))
        tensor([0.0000, 0.5493], dtype=oneflow.float32)
    """
    return floating(p.atanh, x)


@function(inplace=True, also=("special.sinc", "sinc_"))
def sinc(input: Tensor) -> Tensor:
    """``sin(pi x) / (pi x)``, and 1 at 0.

    Example:
        >>> import oneflow as flow
        >>> flow.sinc(flow.tensor([0.0, 0.5]))
        tensor([1.0000, 0.6366], dtype=oneflow.float32)
    """
    return floating(p.sinc, input)


@function(inplace=True, also=("deg2rad_",))
def deg2rad(input: Tensor) -> Tensor:
    """Degrees to radians.

    Example:
        >>> import oneflow as flow
        >>> flow.deg2rad(flow.tensor([0.0, 180.0]))
        tensor([0.0000, 3.1416], dtype=oneflow.float32)
    """
    return scaled(input, math.pi / 180, "deg2rad")


@function(inplace=True, also=("rad2deg_",))
def rad2deg(input: Tensor) -> Tensor:
    """Radians to degrees.

    Example:
        >>> import oneflow as flow
        >>> flow.rad2deg(flow.tensor([0.0, 1.0]))
        tensor([ 0.0000, 57.2958], dtype=oneflow.float32)
    """
    return scaled(input, 180 / math.pi, "rad2deg")
