"""Windows to weigh stretches of a signal with, below `oneflow.signal.windows`.

They are symmetric unless `sym` is False: then they continue periodically.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from oneflow.functional.fourier.window_values import (
    Formula,
    coefficients,
    cosine_sum,
    decay,
    gaussian_curve,
    half_cosine,
    kaiser as kaiser_values,
    make_window,
    positive,
    triangle,
)
from oneflow.functional.registry import function
from oneflow.tensor.tensor import Tensor


def _window(name: str, formula: Formula, length: int, sym: bool, options: dict[str, Any]) -> Tensor:
    """Make a window; wrong arguments raise `ValueError` here, as in PyTorch."""
    try:
        return make_window(name, formula, length, sym, **options)
    except RuntimeError as error:
        raise ValueError(str(error)) from None


@function(method=False, namespace="signal.windows")
def general_cosine(M: int, *, a: Sequence[float], sym: bool = True, **options: Any) -> Tensor:
    """A sum of cosines with coefficients `a` of alternating signs.

    Args:
        M: number of elements.
        a: the coefficients, the constant one first.
        sym: make it symmetric; otherwise leave out the last element of one that is longer by one.
        options: `dtype`, `device`, `placement`, `sbp` and `requires_grad`, as in `zeros`.

    Raises:
        TypeError: coefficients that are no list.
        ValueError: a negative length, no coefficients, or a dtype that is no float.

    Example:
        >>> import oneflow as flow
        >>> flow.signal.windows.general_cosine(5, a=[0.5, 0.5])
        tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000], dtype=oneflow.float32)
    """
    return _window("general_cosine", cosine_sum(*coefficients(a)), M, sym, options)


@function(method=False, namespace="signal.windows")
def general_hamming(M: int, *, alpha: float = 0.54, sym: bool = True, **options: Any) -> Tensor:
    """``alpha - (1 - alpha) * cos(...)``; arguments as in `general_cosine`.

    Example:
        >>> import oneflow as flow
        >>> flow.signal.windows.general_hamming(3)
        tensor([0.0800, 1.0000, 0.0800], dtype=oneflow.float32)
    """
    return _window("general_hamming", cosine_sum(alpha, 1 - alpha), M, sym, options)


@function(method=False, namespace="signal.windows")
def hann(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """Hann's window, a raised cosine; arguments as in `general_cosine`.

    Example:
        >>> import oneflow as flow
        >>> flow.signal.windows.hann(5)
        tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000], dtype=oneflow.float32)
    """
    return _window("hann", cosine_sum(0.5, 0.5), M, sym, options)


@function(method=False, namespace="signal.windows")
def hamming(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """Hamming's window, a raised cosine that does not reach 0; arguments as in `general_cosine`.

    Example:
        >>> import oneflow as flow
        >>> flow.signal.windows.hamming(3)
        tensor([0.0800, 1.0000, 0.0800], dtype=oneflow.float32)
    """
    return _window("hamming", cosine_sum(0.54, 0.46), M, sym, options)


@function(method=False, namespace="signal.windows")
def blackman(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """Blackman's window, a sum of three cosines; arguments as in `general_cosine`.

    Example:
        >>> import oneflow as flow
        >>> flow.signal.windows.blackman(5).sum()
        tensor(1.6800, dtype=oneflow.float32)
    """
    return _window("blackman", cosine_sum(0.42, 0.5, 0.08), M, sym, options)


@function(method=False, namespace="signal.windows")
def nuttall(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """Nuttall's window, a sum of four cosines; arguments as in `general_cosine`.

    Example:
        >>> import oneflow as flow
        >>> flow.signal.windows.nuttall(3).sum()
        tensor(1.0007, dtype=oneflow.float32)
    """
    return _window(
        "nuttall", cosine_sum(0.3635819, 0.4891775, 0.1365995, 0.0106411), M, sym, options
    )


@function(method=False, namespace="signal.windows")
def bartlett(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """Bartlett's window, a triangle; arguments as in `general_cosine`.

    Example:
        >>> import oneflow as flow
        >>> flow.signal.windows.bartlett(3)
        tensor([0., 1., 0.], dtype=oneflow.float32)
    """
    return _window("bartlett", triangle, M, sym, options)


@function(method=False, namespace="signal.windows")
def cosine(M: int, *, sym: bool = True, **options: Any) -> Tensor:
    """Half a period of a cosine; arguments as in `general_cosine`.

    Example:
        >>> import oneflow as flow
        >>> flow.signal.windows.cosine(3)
        tensor([0.5000, 1.0000, 0.5000], dtype=oneflow.float32)
    """
    return _window("cosine", half_cosine, M, sym, options)


@function(method=False, namespace="signal.windows")
def gaussian(M: int, *, std: float = 1.0, sym: bool = True, **options: Any) -> Tensor:
    """A bell of standard deviation `std`; arguments as in `general_cosine`.

    Example:
        >>> import oneflow as flow
        >>> flow.signal.windows.gaussian(3)
        tensor([0.6065, 1.0000, 0.6065], dtype=oneflow.float32)
    """
    return _window("gaussian", gaussian_curve(positive("gaussian", std, "std")), M, sym, options)


@function(method=False, namespace="signal.windows")
def kaiser(M: int, *, beta: float = 12.0, sym: bool = True, **options: Any) -> Tensor:
    """Kaiser's window, whose side lobes fall with `beta`; arguments as in `general_cosine`.

    Raises:
        ValueError: `beta` is negative.

    Example:
        >>> import oneflow as flow
        >>> flow.signal.windows.kaiser(3, beta=1.0)
        tensor([0.7898, 1.0000, 0.7898], dtype=oneflow.float32)
    """
    if beta < 0:
        raise ValueError(f"kaiser: `beta` must not be negative, got {beta}")
    return _window("kaiser", kaiser_values(beta), M, sym, options)


@function(method=False, namespace="signal.windows")
def exponential(
    M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, **options: Any
) -> Tensor:
    """``exp(-abs(place - center) / tau)``; other arguments as in `general_cosine`.

    Args:
        M: number of elements.
        center: place of the largest element, by default the middle.
        tau: places in which the elements fall to 1 / e.
        sym: the same as in `general_cosine`.
        options: the same as in `general_cosine`.

    Raises:
        ValueError: a center of a symmetric window, or `tau` is not positive.

    Example:
        >>> import oneflow as flow
        >>> flow.signal.windows.exponential(3)
        tensor([0.3679, 1.0000, 0.3679], dtype=oneflow.float32)
    """
    if center is not None and sym:
        raise ValueError("Center must be None for symmetric windows")
    values = decay(center, positive("exponential", tau, "tau"))
    return _window("exponential", values, M, sym, options)
