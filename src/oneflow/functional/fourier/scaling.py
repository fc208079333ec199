"""Sizes, dimensions and scales of Fourier transforms."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

from oneflow.base.dtype import Category, complex_dtype, get_default_dtype
from oneflow.base.shape import as_integer, is_sequence, wrap_dim, wrap_dims
from oneflow.functional.nn.padding import pad
from oneflow.functional.shape.concat import slice_dim
from oneflow.primitives.operators import complex as parts, fourier as p
from oneflow.primitives.operators.elementwise import mul, zeros_like
from oneflow.tensor.call import call
from oneflow.tensor.operands import cast_to, require_tensor
from oneflow.tensor.tensor import Tensor

# The power of the number of points that a transform is divided by, as `norm` says.
_FORWARD = {"backward": 0.0, "ortho": 0.5, "forward": 1.0}
_INVERSE = {"backward": 1.0, "ortho": 0.5, "forward": 0.0}


def signal(x: Tensor, name: str, real: bool = False) -> Tensor:
    """Return `x` as floats or complex numbers of at least 32 bits each part.

    Args:
        x: the tensor.
        name: the function that is called.
        real: refuse complex numbers.

    Raises:
        TypeError: `x` is not a tensor.
        RuntimeError: half precision, or complex numbers.
    """
    require_tensor(x, name)
    dtype = x._value.spec.dtype
    if dtype.category < Category.FLOAT:
        return cast_to(x, get_default_dtype())
    if dtype.itemsize < 4:
        raise RuntimeError(f"{name}: unsupported dtype {dtype!r}; convert to oneflow.float32 first")
    if real and dtype.is_complex:
        raise RuntimeError(f"{name} expects a real input tensor, but got {dtype!r}")
    return x


def as_complex(x: Tensor) -> Tensor:
    """Return `x`, of floats or complex numbers, as complex numbers."""
    dtype = x._value.spec.dtype
    if dtype.is_complex:
        return x
    assert complex_dtype(dtype).is_complex
    return call(parts.complex_, x, call(zeros_like, x))


def scaled(x: Tensor, sizes: Sequence[int], norm: str | None, inverse: bool) -> Tensor:
    """Divide the transform `x` of that many points as `norm` says.

    Raises:
        RuntimeError: an unknown norm.
    """
    powers = _INVERSE if inverse else _FORWARD
    power = powers.get("backward" if norm is None else norm)
    if power is None:
        raise RuntimeError(f'Invalid normalization mode: "{norm}"; use one of {list(powers)}')
    scale = math.prod(sizes) ** -power
    return x if scale == 1 else call(mul, x, scale)


def resized(x: Tensor, dims: Sequence[int], sizes: Sequence[int]) -> Tensor:
    """Return `x` with `sizes` along `dims`: cut off, or continued with zeros.

    Raises:
        RuntimeError: a size below 1.
    """
    for dim, size in zip(dims, sizes, strict=True):
        if size < 1:
            raise RuntimeError(f"Invalid number of data points ({size}) specified")
        have = x.shape[dim]
        if have > size:
            x = slice_dim(x, dim, 0, size)
        elif have < size:
            x = pad(x, [0, 0] * (x.ndim - 1 - dim) + [0, size - have])
    return x


def _as_sequence(numbers: Any) -> Sequence[int] | None:
    """One number or several as several; None as it is."""
    if numbers is None or is_sequence(numbers):
        return numbers
    return (operator.index(numbers),)


def fft_dims(
    x: Tensor, s: int | Sequence[int] | None, dim: int | Sequence[int] | None
) -> tuple[tuple[int, ...], list[int]]:
    """Return the dimensions to transform and, as far as `s` says, their sizes; -1 where not.

    Raises:
        IndexError: there is no such dimension.
        RuntimeError: dimensions given twice, or not as many as sizes.
    """
    dim, s = _as_sequence(dim), _as_sequence(s)
    if dim is None:
        count = x.ndim if s is None else len(s)
        if count > x.ndim:
            raise RuntimeError(
                f"Got shape with {count} values but input tensor only has {x.ndim} dimensions."
            )
        dims = tuple(range(x.ndim - count, x.ndim))
    else:
        if not x.ndim and dim:
            raise IndexError(
                "a tensor without dimensions cannot be transformed along `dim` "
                f"{list(dim)}; reshape it to one dimension"
            )
        dims = wrap_dims(dim, x.ndim)
    if len(set(dims)) != len(dims):
        raise RuntimeError("FFT dims must be unique")
    sizes = [-1] * len(dims) if s is None else [as_integer(size, "s") for size in s]
    if len(sizes) != len(dims):
        raise RuntimeError("When given, dim and shape arguments must have the same length")
    return dims, sizes


def fft_dim(x: Tensor, n: int | None, dim: int) -> tuple[tuple[int, ...], list[int]]:
    """Return one dimension to transform, and its size, -1 if `n` does not say it."""
    return (wrap_dim(dim, x.ndim),), [-1 if n is None else as_integer(n, "n")]


def present_sizes(x: Tensor, dims: Sequence[int], sizes: Sequence[int]) -> list[int]:
    """Return `sizes`; the size of `x` takes the place of -1."""
    return [x.shape[dim] if size == -1 else size for dim, size in zip(dims, sizes, strict=True)]


Dims = tuple[tuple[int, ...], list[int]]


def to_complex(x: Tensor, transform_dims: Dims, norm: str | None, inverse: bool) -> Tensor:
    """Transform complex numbers along the given dimensions."""
    dims, sizes = transform_dims
    sizes = present_sizes(x, dims, sizes)
    x = resized(as_complex(x), dims, sizes)
    return scaled(call(p.fourier, x, dims=dims, inverse=inverse), sizes, norm, inverse)


def of_real(x: Tensor, transform_dims: Dims, norm: str | None, inverse: bool) -> Tensor:
    """Transform real numbers; of the last chosen dimension half of the result is left out.

    Raises:
        RuntimeError: no dimension.
    """
    dims, sizes = transform_dims
    if not dims:
        raise RuntimeError("a transform of real numbers must transform at least one dimension")
    sizes = present_sizes(x, dims, sizes)
    half = call(p.fourier_of_real, resized(x, dims, sizes), dim=dims[-1])
    if inverse:
        half = half.conj()
    if len(dims) > 1:
        half = call(p.fourier, half, dims=dims[:-1], inverse=inverse)
    return scaled(half, sizes, norm, inverse)


def to_real(x: Tensor, transform_dims: Dims, norm: str | None, inverse: bool) -> Tensor:
    """Transform to real numbers from what `of_real` leaves of the last chosen dimension.

    Raises:
        RuntimeError: no dimension.
    """
    dims, sizes = transform_dims
    if not dims:
        raise RuntimeError("a transform to real numbers must transform at least one dimension")
    last_dim = dims[-1]
    last = 2 * (x.shape[last_dim] - 1) if sizes[-1] == -1 else sizes[-1]
    if last < 1:
        raise RuntimeError(f"Invalid number of data points ({last}) specified")
    sizes = [*present_sizes(x, dims[:-1], sizes[:-1]), last]
    x = resized(as_complex(x), dims, [*sizes[:-1], last // 2 + 1])
    if len(dims) > 1:
        x = call(p.fourier, x, dims=dims[:-1], inverse=inverse)
    if not inverse:
        x = x.conj()
    result = call(p.fourier_to_real, x, dim=last_dim, size=last)
    return scaled(result, sizes, norm, inverse)
