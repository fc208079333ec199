"""Discrete Fourier transforms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from oneflow.array_api.rows import documented
from oneflow.base.dtype import DType
from oneflow.functional.fourier import frequency, transforms
from oneflow.tensor.tensor import Tensor


class _AlongAxis(Protocol):
    def __call__(
        self, x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward"
    ) -> Tensor: ...


class _AlongAxes(Protocol):
    def __call__(
        self,
        x: Tensor,
        /,
        *,
        s: Sequence[int] | None = None,
        axes: Sequence[int] | None = None,
        norm: str = "backward",
    ) -> Tensor: ...


def _along_axis(transform: Callable[..., Tensor], summary: str) -> _AlongAxis:
    def standard(
        x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward"
    ) -> Tensor:
        return transform(x, n, axis, norm)

    name = transform.__name__
    return documented(
        standard, name, f"Return {summary}, of `n` numbers along `axis`.", f"fft.{name}"
    )


def _along_axes(transform: Callable[..., Tensor], summary: str) -> _AlongAxes:
    def standard(
        x: Tensor,
        /,
        *,
        s: Sequence[int] | None = None,
        axes: Sequence[int] | None = None,
        norm: str = "backward",
    ) -> Tensor:
        return transform(x, s, axes, norm)

    name = transform.__name__
    return documented(
        standard,
        name,
        f"Return {summary} over several axes, `s` numbers along each.",
        f"fft.{name}",
    )


fft = _along_axis(transforms.fft, "the transform of a signal")
ifft = _along_axis(transforms.ifft, "the signal of a transform")
rfft = _along_axis(transforms.rfft, "half of the transform of a real signal")
irfft = _along_axis(transforms.irfft, "the real signal of half a transform")
hfft = _along_axis(transforms.hfft, "the real transform of half a symmetric signal")
ihfft = _along_axis(transforms.ihfft, "half of the symmetric signal of a real transform")
fftn = _along_axes(transforms.fftn, "the transform")
ifftn = _along_axes(transforms.ifftn, "the signal of a transform")
rfftn = _along_axes(transforms.rfftn, "half of the transform of a real signal")
irfftn = _along_axes(transforms.irfftn, "the real signal of half a transform")


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
