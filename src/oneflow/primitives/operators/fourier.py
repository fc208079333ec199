"""Discrete Fourier transforms along given dimensions, none of them scaled.

Forward ones have a negative exponent, inverse ones a positive one. The caller scales.
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from oneflow.base.dtype import complex128, float64
from oneflow.primitives.registry import primitive
from oneflow.primitives.sharding.axes import free_dims, leading_axes
from oneflow.primitives.traits import Precision


def _along(x, dim: int, kind: lax.FftType, size: int):
    """XLA's transform of `size` real or complex points along one dimension."""
    return jnp.moveaxis(lax.fft(jnp.moveaxis(x, dim, -1), kind, (size,)), -1, dim)


def _fourier(x, *, dims: tuple[int, ...], inverse: bool):
    """Transform complex numbers along each of `dims`."""
    for dim in dims:
        size = x.shape[dim]
        if inverse:
            # XLA divides inverse transforms by their size.
            x = _along(x, dim, lax.FftType.IFFT, size) * size
        else:
            x = _along(x, dim, lax.FftType.FFT, size)
    return x


fourier = primitive(
    "fourier", _fourier, axes=free_dims("dims"), linear=("x",), precision=Precision.FULL
)
# The matrix of the transform is symmetric, and its conjugate that of the inverse one.
fourier.gradient(x=lambda g, dims, inverse: fourier(g, dims=dims, inverse=not inverse))

# The transform of real numbers: the half of the result that determines the other one.
fourier_of_real = primitive(
    "fourier_of_real",
    lambda x, *, dim: _along(x, dim, lax.FftType.RFFT, x.shape[dim]),
    axes=free_dims("dim"),
    linear=("x",),
    precision=Precision.FULL,
)
# The inverse of that, with `size` real numbers as its result.
fourier_to_real = primitive(
    "fourier_to_real",
    lambda x, *, dim, size: _along(x, dim, lax.FftType.IRFFT, size) * size,
    axes=free_dims("dim"),
    linear=("x",),
    precision=Precision.FULL,
)

_DOUBLE = (float64, complex128)


def _in_double_precision(in_specs: tuple) -> str | None:
    if in_specs[0].dtype not in _DOUBLE:
        return None
    return (
        "XLA has no Fourier transforms of 64-bit numbers there; convert the tensor with "
        "`.to(oneflow.float32)` or `.to(oneflow.complex64)`, or bring it to the CPU with `.cpu()`"
    )


for _transform in (fourier, fourier_of_real, fourier_to_real):
    _transform.unsupported_on("tpu", _in_double_precision)

# The least number that the squares of overlapping windows must add up to.
_MIN_WEIGHT = 1e-11


def _any_too_small(x, weight):
    return jnp.any(jnp.abs(weight) < _MIN_WEIGHT), jnp.zeros((), jnp.int64)


check_overlap = primitive("check_overlap", lambda x, weight: x, axes=leading_axes(0), linear=("x",))
check_overlap.gradient(x=lambda g: g, weight=None)
check_overlap.checked(
    _any_too_small,
    lambda value, attributes, in_specs: RuntimeError(
        "istft: the squares of the overlapping windows add up to nothing somewhere, so that the "
        "signal is lost there; use another window, a smaller `hop_length`, or `length`"
    ),
)
