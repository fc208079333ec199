"""Bessel functions and their relatives."""

from __future__ import annotations

from oneflow.functional.elementwise.unary import floating
from oneflow.functional.registry import function
from oneflow.primitives.operators import bessel as p
from oneflow.tensor.tensor import Tensor


@function(namespace="special", method=False)
def bessel_j0(input: Tensor) -> Tensor:
    """Bessel function of the first kind of order 0.

    Example:
        >>> import oneflow as flow
        >>> flow.special.bessel_j0(flow.tensor([1.0, 2.5]))
        tensor([ 0.7652, -0.0484], dtype=oneflow.float32)
    """
    return floating(p.bessel_j0, input)


@function(namespace="special", method=False)
def bessel_j1(input: Tensor) -> Tensor:
    """Bessel function of the first kind of order 1.

    Example:
        >>> import oneflow as flow
        >>> flow.special.bessel_j1(flow.tensor([1.0, 2.5]))
        tensor([0.4401, 0.4971], dtype=oneflow.float32)
    """
    return floating(p.bessel_j1, input)


@function(namespace="special", method=False)
def bessel_y0(input: Tensor) -> Tensor:
    """Bessel function of the second kind of order 0; NaN below 0.

    Example:
        >>> import oneflow as flow
        >>> flow.special.bessel_y0(flow.tensor([1.0, 2.5]))
        tensor([0.0883, 0.4981], dtype=oneflow.float32)
    """
    return floating(p.bessel_y0, input)


@function(namespace="special", method=False)
def bessel_y1(input: Tensor) -> Tensor:
    """Bessel function of the second kind of order 1; NaN below 0.

    Example:
        >>> import oneflow as flow
        >>> flow.special.bessel_y1(flow.tensor([1.0, 2.5]))
        tensor([-0.7812,  0.1459], dtype=oneflow.float32)
    """
    return floating(p.bessel_y1, input)


@function(namespace="special", method=False)
def spherical_bessel_j0(input: Tensor) -> Tensor:
    """Spherical Bessel function of the first kind of order 0: ``sin(input) / input``.

    Example:
        >>> import oneflow as flow
        >>> flow.special.spherical_bessel_j0(flow.tensor([1.0, 2.5]))
        tensor([0.8415, 0.2394], dtype=oneflow.float32)
    """
    return floating(p.spherical_bessel_j0, input)


@function(namespace="special", method=False)
def modified_bessel_k0(input: Tensor) -> Tensor:
    """Modified Bessel function of the second kind of order 0; NaN below 0.

    Example:
        >>> import oneflow as flow
        >>> flow.special.modified_bessel_k0(flow.tensor([1.0, 2.5]))
        tensor([0.4210, 0.0623], dtype=oneflow.float32)
    """
    return floating(p.modified_bessel_k0, input)


@function(namespace="special", method=False)
def modified_bessel_k1(input: Tensor) -> Tensor:
    """Modified Bessel function of the second kind of order 1; NaN below 0.

    Example:
        >>> import oneflow as flow
        >>> flow.special.modified_bessel_k1(flow.tensor([1.0, 2.5]))
        tensor([0.6019, 0.0739], dtype=oneflow.float32)
    """
    return floating(p.modified_bessel_k1, input)


@function(namespace="special", method=False)
def scaled_modified_bessel_k0(input: Tensor) -> Tensor:
    """`modified_bessel_k0` times ``exp(input)``.

    Example:
        >>> import oneflow as flow
        >>> flow.special.scaled_modified_bessel_k0(flow.tensor([1.0, 2.5]))
        tensor([1.1445, 0.7595], dtype=oneflow.float32)
    """
    return floating(p.scaled_modified_bessel_k0, input)


@function(namespace="special", method=False)
def scaled_modified_bessel_k1(input: Tensor) -> Tensor:
    """`modified_bessel_k1` times ``exp(input)``.

    Example:
        >>> import oneflow as flow
        >>> flow.special.scaled_modified_bessel_k1(flow.tensor([1.0, 2.5]))
        tensor([1.6362, 0.9002], dtype=oneflow.float32)
    """
    return floating(p.scaled_modified_bessel_k1, input)


@function(namespace="special", method=False)
def airy_ai(input: Tensor) -> Tensor:
    """Airy function Ai.

    Example:
        >>> import oneflow as flow
        >>> flow.special.airy_ai(flow.tensor([1.0, 2.5]))
        tensor([0.1353, 0.0157], dtype=oneflow.float32)
    """
    return floating(p.airy_ai, input)


@function(namespace="special", method=False)
def erfcx(input: Tensor) -> Tensor:
    """Scaled complementary error function: ``exp(input ** 2) * erfc(input)``.

    Example:
        >>> import oneflow as flow
        >>> flow.special.erfcx(flow.tensor([1.0, 2.5]))
        tensor([0.4276, 0.2108], dtype=oneflow.float32)
    """
    return floating(p.erfcx, input)
