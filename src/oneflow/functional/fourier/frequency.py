"""Frequencies of the numbers in a Fourier transform, and their order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oneflow.base.device import Device
from oneflow.base.dtype import DType, get_default_dtype
from oneflow.base.shape import as_integer, wrap_dims
from oneflow.functional.creation.factory_functions import arange
from oneflow.functional.creation.options import with_grad
from oneflow.functional.registry import function
from oneflow.functional.shape.concat import cat
from oneflow.functional.shape.rearrange import roll
from oneflow.tensor.operands import require_tensor
from oneflow.tensor.tensor import Tensor


@function(method=False, namespace="fft", fills_out=True)
def fftfreq(
    n: int,
    d: float = 1.0,
    dtype: DType | None = None,
    device: Device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Frequencies of the `n` numbers that `fft` gives: from 0 up, then the negative ones.

    Args:
        n: number of points.
        d: distance of two points.
        dtype: a float type, by default the default one.
        device: where it lives, default CPU.
        requires_grad: ask for its gradient.

    Example:
        >>> import oneflow as flow
        >>> flow.fft.fftfreq(4)
        tensor([ 0.0000,  0.2500, -0.5000, -0.2500], dtype=oneflow.float32)
    """
    options: dict[str, Any] = {"dtype": dtype or get_default_dtype(), "device": device}
    n = as_integer(n, "n")
    first = (n + 1) // 2
    places = cat([arange(0, first, **options), arange(-(n // 2), 0, **options)])
    return with_grad(places / (n * d), requires_grad)


@function(method=False, namespace="fft", fills_out=True)
def rfftfreq(
    n: int,
    d: float = 1.0,
    dtype: DType | None = None,
    device: Device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Frequencies of the numbers that `rfft` gives of `n` points; arguments as in `fftfreq`.

    Example:
        >>> import oneflow as flow
        >>> flow.fft.rfftfreq(4)
        tensor([0.0000, 0.2500, 0.5000], dtype=oneflow.float32)
    """
    n = as_integer(n, "n")
    places = arange(0, n // 2 + 1, dtype=dtype or get_default_dtype(), device=device)
    return with_grad(places / (n * d), requires_grad)


@function(method=False, namespace="fft")
def fftshift(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """Move the frequency 0 from the front to the middle.

    Args:
        input: tensor.
        dim: dimensions to move along, by default all.

    Example:
        >>> import oneflow as flow
        >>> flow.fft.fftshift(flow.fft.fftfreq(4))
        tensor([-0.5000, -0.2500,  0.0000,  0.2500], dtype=oneflow.float32)
    """
    require_tensor(input, "fftshift")
    dims = wrap_dims(dim, input.ndim)
    return roll(input, [input.shape[axis] // 2 for axis in dims], list(dims))


@function(method=False, namespace="fft")
def ifftshift(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """Inverse of `fftshift`.

    Example:
        >>> import oneflow as flow
        >>> flow.fft.ifftshift(flow.tensor([-0.5, -0.25, 0.0, 0.25]))
        tensor([ 0.0000,  0.2500, -0.5000, -0.2500], dtype=oneflow.float32)
    """
    require_tensor(input, "ifftshift")
    dims = wrap_dims(dim, input.ndim)
    return roll(input, [(input.shape[axis] + 1) // 2 for axis in dims], list(dims))
