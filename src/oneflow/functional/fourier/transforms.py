"""Discrete Fourier transforms of one, two or all dimensions, below `oneflow.fft`.

Every transform takes `norm`, by which its result is divided: ``"backward"`` (the default) divides
inverse transforms by the number of points, ``"forward"`` forward ones, and ``"ortho"`` both by its
root. Sizes cut off what they are smaller than, and continue with zeros what they are larger than.
"""

from __future__ import annotations

from collections.abc import Sequence

from oneflow.functional.fourier.scaling import (
    fft_dim,
    fft_dims,
    of_real,
    signal,
    to_complex,
    to_real,
)
from oneflow.functional.registry import function
from oneflow.tensor.tensor import Tensor

Sizes = int | Sequence[int] | None
Dims = int | Sequence[int] | None


@function(method=False, namespace="fft")
def fft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """Fourier transform along one dimension.

    Args:
        input: real or complex tensor.
        n: number of points, by default what there is.
        dim: the dimension.
        norm: ``"backward"``, ``"ortho"`` or ``"forward"``.

    Returns:
        Complex tensor, with `n` numbers along `dim`.

    Raises:
        RuntimeError: `n` below 1, an unknown norm, half precision.

    Example:
        >>> import oneflow as flow
        >>> flow.fft.fft(flow.tensor([1.0, 0.0, -1.0, 0.0]))
        tensor([0.+0.j, 2.+0.j, 0.+0.j, 2.+0.j], dtype=oneflow.complex64)
    """
    x = signal(input, "fft")
    return to_complex(x, fft_dim(x, n, dim), norm, inverse=False)


@function(method=False, namespace="fft")
def ifft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """Inverse of `fft`; arguments as there.

    Example:
        >>> import oneflow as flow
        >>> flow.fft.ifft(flow.tensor([4.0, 0.0, 0.0, 0.0])).real
        tensor([1., 1., 1., 1.], dtype=oneflow.float32)
    """
    x = signal(input, "ifft")
    return to_complex(x, fft_dim(x, n, dim), norm, inverse=True)


@function(method=False, namespace="fft")
def rfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """Fourier transform of real numbers: the first half; the second half is its conjugate.

    Args:
        input: real tensor.
        n: number of points, by default what there is.
        dim: the dimension.
        norm: ``"backward"``, ``"ortho"`` or ``"forward"``.

    Returns:
        Complex tensor, with ``n // 2 + 1`` numbers along `dim`.

    Raises:
        RuntimeError: complex numbers, `n` below 1, an unknown norm, half precision.

    Example:
        >>> import oneflow as flow
        >>> flow.fft.rfft(flow.tensor([1.0, 0.0, -1.0, 0.0])).real
        tensor([0., 2., 0.], dtype=oneflow.float32)
    """
    x = signal(input, "rfft", real=True)
    return of_real(x, fft_dim(x, n, dim), norm, inverse=False)


@function(method=False, namespace="fft")
def irfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """Inverse of `rfft`.

    Args:
        input: the first half of a transform of real numbers.
        n: number of results along `dim`, by default the even one: ``2 * (size - 1)``.
        dim: the dimension.
        norm: ``"backward"``, ``"ortho"`` or ``"forward"``.

    Returns:
        Real tensor, with `n` numbers along `dim`.

    Raises:
        RuntimeError: `n` below 1, an unknown norm, half precision.

    Example:
        >>> import oneflow as flow
        >>> flow.fft.irfft(flow.fft.rfft(flow.tensor([1.0, 2.0, 3.0])), n=3)
        tensor([1., 2., 3.], dtype=oneflow.float32)
    """
    x = signal(input, "irfft")
    return to_real(x, fft_dim(x, n, dim), norm, inverse=True)


@function(method=False, namespace="fft")
def hfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """Fourier transform of a Hermitian signal, given its first half.

    Arguments are those of `irfft`, in the other direction.

    Example:
        >>> import oneflow as flow
        >>> flow.fft.hfft(flow.tensor([1.0, 1.0, 1.0]))
        tensor([4., 0., 0., 0.], dtype=oneflow.float32)
    """
    x = signal(input, "hfft")
    return to_real(x, fft_dim(x, n, dim), norm, inverse=False)


@function(method=False, namespace="fft")
def ihfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """Inverse of `hfft`: the half of a signal that has a real Fourier transform.

    Example:
        >>> import oneflow as flow
        >>> flow.fft.ihfft(flow.tensor([4.0, 0.0, 0.0, 0.0])).real
        tensor([1., 1., 1.], dtype=oneflow.float32)
    """
    x = signal(input, "ihfft", real=True)
    return of_real(x, fft_dim(x, n, dim), norm, inverse=True)


@function(method=False, namespace="fft")
def fftn(input: Tensor, s: Sizes = None, dim: Dims = None, norm: str | None = None) -> Tensor:
    """Fourier transform along several dimensions.

    Args:
        input: real or complex tensor.
        s: numbers of points per dimension, -1 for what there is; by default all are.
        dim: the dimensions, by default all, or the last ``len(s)``.
        norm: ``"backward"``, ``"ortho"`` or ``"forward"``.

    Returns:
        Complex tensor.

    Raises:
        RuntimeError: sizes below 1, dimensions given twice or not as many as sizes, an unknown
            norm, half precision.

    Example:
        >>> import oneflow as flow
        >>> flow.fft.fftn(flow.ones(2, 2)).real
        tensor([[4., 0.],
                [0., 0.]], dtype=oneflow.float32)
    """
    x = signal(input, "fftn")
    return to_complex(x, fft_dims(x, s, dim), norm, inverse=False)


@function(method=False, namespace="fft")
def ifftn(input: Tensor, s: Sizes = None, dim: Dims = None, norm: str | None = None) -> Tensor:
    """Inverse of `fftn`; arguments as there.

    Example:
        >>> import oneflow as flow
        >>> flow.fft.ifftn(flow.ones(2, 2)).real
        tensor([[1., 0.],
                [0., 0.]], dtype=oneflow.float32)
    """
    x = signal(input, "ifftn")
    return to_complex(x, fft_dims(x, s, dim), norm, inverse=True)


@function(method=False, namespace="fft")
def rfftn(input: Tensor, s: Sizes = None, dim: Dims = None, norm: str | None = None) -> Tensor:
    """Fourier transform of real numbers along several dimensions, half of the last one.

    Arguments are those of `fftn`.

    Example:
        >>> import oneflow as flow
        >>> flow.fft.rfftn(flow.ones(2, 4)).shape
        oneflow.Size([2, 3])
    """
    x = signal(input, "rfftn", real=True)
    return of_real(x, fft_dims(x, s, dim), norm, inverse=False)


@function(method=False, namespace="fft")
def irfftn(input: Tensor, s: Sizes = None, dim: Dims = None, norm: str | None = None) -> Tensor:
    """Inverse of `rfftn`; the last of `s` is the number of real results, by default an even one.

    Example:
        >>> import oneflow as flow
        >>> flow.fft.irfftn(flow.fft.rfftn(flow.ones(2, 2)))
        tensor([[1., 1.],
                [1., 1.]], dtype=oneflow.float32)
    """
    x = signal(input, "irfftn")
    return to_real(x, fft_dims(x, s, dim), norm, inverse=True)


@function(method=False, namespace="fft")
def hfftn(input: Tensor, s: Sizes = None, dim: Dims = None, norm: str | None = None) -> Tensor:
    """`hfft` along the last of several dimensions, `fft` along the others.

    Example:
        >>> import oneflow as flow
        >>> flow.fft.hfftn(flow.ones(2, 2))
        tensor([[4., 0.],
                [0., 0.]], dtype=oneflow.float32)
    """
    x = signal(input, "hfftn")
    return to_real(x, fft_dims(x, s, dim), norm, inverse=False)


@function(method=False, namespace="fft")
def ihfftn(input: Tensor, s: Sizes = None, dim: Dims = None, norm: str | None = None) -> Tensor:
    """Inverse of `hfftn`.

    Example:
        >>> import oneflow as flow
        >>> flow.fft.ihfftn(flow.ones(2, 2)).real
        tensor([[1., 0.],
                [0., 0.]], dtype=oneflow.float32)
    """
    x = signal(input, "ihfftn", real=True)
    return of_real(x, fft_dims(x, s, dim), norm, inverse=True)
