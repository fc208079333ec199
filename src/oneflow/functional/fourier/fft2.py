"""Two-dimensional Fourier transforms: the n-dimensional ones of the last two dimensions."""

from __future__ import annotations

from collections.abc import Sequence

from oneflow.functional.fourier.transforms import fftn, hfftn, ifftn, ihfftn, irfftn, rfftn
from oneflow.functional.registry import function
from oneflow.tensor.tensor import Tensor

Sizes = int | Sequence[int] | None


@function(method=False, namespace="fft")
def fft2(
    input: Tensor, s: Sizes = None, dim: Sequence[int] = (-2, -1), norm: str | None = None
) -> Tensor:
    """Fourier transform along two dimensions; arguments as in `fftn`.

    Example:
        >>> import oneflow as flow
        >>> flow.fft.fft2(flow.ones(2, 2)).real
        tensor([[4., 0.],
                [0., 0.]], dtype=oneflow.float32)
    """
    return fftn(input, s, dim, norm)


@function(method=False, namespace="fft")
def ifft2(
    input: Tensor, s: Sizes = None, dim: Sequence[int] = (-2, -1), norm: str | None = None
) -> Tensor:
    """Inverse of `fft2`; arguments as in `ifftn`.

    Example:
        >>> import oneflow as flow
        >>> flow.fft.ifft2(flow.ones(2, 2)).real
        tensor([[1., 0.],
                [0., 0.]], dtype=oneflow.float32)
    """
    return ifftn(input, s, dim, norm)


@function(method=False, namespace="fft")
def rfft2(
    input: Tensor, s: Sizes = None, dim: Sequence[int] = (-2, -1), norm: str | None = None
) -> Tensor:
    """Fourier transform of real numbers along two dimensions; arguments as in `rfftn`.

    Example:
        >>> import oneflow as flow
        >>> flow.fft.rfft2(flow.ones(3, 2, 4)).shape
        oneflow.Size([3, 2, 3])
    """
    return rfftn(input, s, dim, norm)


@function(method=False, namespace="fft")
def irfft2(
    input: Tensor, s: Sizes = None, dim: Sequence[int] = (-2, -1), norm: str | None = None
) -> Tensor:
    """Inverse of `rfft2`; arguments as in `irfftn`.

    Example:
        >>> import oneflow as flow
        >>> flow.fft.irfft2(flow.ones(3, 2, 3)).shape
        oneflow.Size([3, 2, 4])
    """
    return irfftn(input, s, dim, norm)


@function(method=False, namespace="fft")
def hfft2(
    input: Tensor, s: Sizes = None, dim: Sequence[int] = (-2, -1), norm: str | None = None
) -> Tensor:
    """`hfft` along the last dimension, `fft` along the other; arguments as in `hfftn`.

    Example:
        >>> import oneflow as flow
        >>> flow.fft.hfft2(flow.ones(2, 2))
        tensor([[4., 0.],
                [0., 0.]], dtype=oneflow.float32)
    """
    return hfftn(input, s, dim, norm)


@function(method=False, namespace="fft")
def ihfft2(
    input: Tensor, s: Sizes = None, dim: Sequence[int] = (-2, -1), norm: str | None = None
) -> Tensor:
    """Inverse of `hfft2`; arguments as in `ihfftn`.

    Example:
        >>> import oneflow as flow
        >>> flow.fft.ihfft2(flow.ones(2, 2)).real
        tensor([[1., 0.],
                [0., 0.]], dtype=oneflow.float32)
    """
    return ihfftn(input, s, dim, norm)
