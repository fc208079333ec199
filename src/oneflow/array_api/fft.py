"""Discrete Fourier transforms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oneflow.base.dtype import DType
from oneflow.functional.fourier import frequency, transforms
from oneflow.tensor.tensor import Tensor


def fft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """Return the transform of a signal, of `n` numbers along `axis`.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.fft.fft(flow.ones(4, dtype=flow.complex64)).real
        tensor([4., 0., 0., 0.], dtype=oneflow.float32)
    """
    return transforms.fft(x, n, axis, norm)


def ifft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """Return the signal of a transform, of `n` numbers along `axis`.

    Example:
        >>> import oneflow as flow
        >>> xp = flow.array_api
        >>> xp.fft.ifft(xp.fft.fft(flow.ones(4, dtype=flow.complex64))).real
        tensor([1., 1., 1., 1.], dtype=oneflow.float32)
    """
    return transforms.ifft(x, n, axis, norm)


def rfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """Return half of the transform of a real signal, of `n` numbers along `axis`.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.fft.rfft(flow.ones(4)).real
        tensor([4., 0., 0.], dtype=oneflow.float32)
    """
    return transforms.rfft(x, n, axis, norm)


def irfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """Return the real signal of half a transform, of `n` numbers along `axis`.

    Example:
        >>> import oneflow as flow
        >>> xp = flow.array_api
        >>> xp.fft.irfft(xp.fft.rfft(flow.ones(4)))
        tensor([1., 1., 1., 1.], dtype=oneflow.float32)
    """
    return transforms.irfft(x, n, axis, norm)


def hfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """Return the real transform of half a symmetric signal, of `n` numbers along `axis`.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.fft.hfft(flow.ones(3, dtype=flow.complex64))
        tensor([4., 0., 0., 0.], dtype=oneflow.float32)
    """
    return transforms.hfft(x, n, axis, norm)


def ihfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """Return half of the symmetric signal of a real transform, of `n` numbers along `axis`.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.fft.ihfft(flow.ones(4)).real
        tensor([1., 0., 0.], dtype=oneflow.float32)
    """
    return transforms.ihfft(x, n, axis, norm)


def fftn(
    x: Tensor,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Tensor:
    """Return the transform over several axes, `s` numbers along each.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.fft.fftn(flow.ones(2, 2, dtype=flow.complex64)).real
        tensor([[4., 0.],
                [0., 0.]], dtype=oneflow.float32)
    """
    return transforms.fftn(x, s, axes, norm)


def ifftn(
    x: Tensor,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Tensor:
    """Return the signal of a transform over several axes, `s` numbers along each.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.fft.ifftn(flow.ones(2, 2, dtype=flow.complex64)).real
        tensor([[1., 0.],
                [0., 0.]], dtype=oneflow.float32)
    """
    return transforms.ifftn(x, s, axes, norm)


def rfftn(
    x: Tensor,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Tensor:
    """Return half of the transform of a real signal over several axes, `s` numbers along each.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.fft.rfftn(flow.ones(2, 4)).shape
        oneflow.Size([2, 3])
    """
    return transforms.rfftn(x, s, axes, norm)


def irfftn(
    x: Tensor,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str = "backward",
) -> Tensor:
    """Return the real signal of half a transform over several axes, `s` numbers along each.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.fft.irfftn(flow.ones(2, 3, dtype=flow.complex64)).shape
        oneflow.Size([2, 4])
    """
    return transforms.irfftn(x, s, axes, norm)


def fftfreq(n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: Any = None) -> Tensor:
    """Return the frequencies of a transform of `n` samples, `d` apart.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.fft.fftfreq(4)
        tensor([ 0.0000,  0.2500, -0.5000, -0.2500], dtype=oneflow.float32)
    """
    return frequency.fftfreq(n, d, dtype, device)


def rfftfreq(
    n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: Any = None
) -> Tensor:
    """Return the frequencies of half a transform of `n` samples, `d` apart.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.fft.rfftfreq(4)
        tensor([0.0000, 0.2500, 0.5000], dtype=oneflow.float32)
    """
    return frequency.rfftfreq(n, d, dtype, device)


def fftshift(x: Tensor, /, *, axes: int | Sequence[int] | None = None) -> Tensor:
    """Return `x` with frequency 0 in the middle.

    Example:
        >>> import oneflow as flow
        >>> xp = flow.array_api
        >>> xp.fft.fftshift(xp.fft.fftfreq(4))
        tensor([-0.5000, -0.2500,  0.0000,  0.2500], dtype=oneflow.float32)
    """
    return frequency.fftshift(x, axes)


def ifftshift(x: Tensor, /, *, axes: int | Sequence[int] | None = None) -> Tensor:
    """Return `x` with frequency 0 first again.

    Example:
        >>> import oneflow as flow
        >>> flow.array_api.fft.ifftshift(flow.tensor([-2, -1, 0, 1]))
        tensor([ 0,  1, -2, -1], dtype=oneflow.int64)
    """
    return frequency.ifftshift(x, axes)
