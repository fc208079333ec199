"""Window functions of PyTorch's top level, which weigh the segments of a signal."""

from __future__ import annotations

from typing import Any

from oneflow.functional.fourier.window_values import cosine_sum, kaiser, make_window, triangle
from oneflow.functional.registry import function
from oneflow.tensor.tensor import Tensor


@function(method=False)
def hann_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """Hann's window, one period of a raised cosine.

    Args:
        window_length: number of elements.
        periodic: leave out the last element of a symmetric window that is longer by one.
        options: `dtype`, `device`, `placement`, `sbp` and `requires_grad`, as in `zeros`.

    Raises:
        RuntimeError: a negative length, or a dtype that is no float.

    Example:
        >>> import oneflow as flow
        >>> flow.hann_window(4)
        tensor([0.0000, 0.5000, 1.0000, 0.5000], dtype=oneflow.float32)
    """
    return make_window("hann_window", cosine_sum(0.5, 0.5), window_length, not periodic, **options)


@function(method=False)
def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    **options: Any,
) -> Tensor:
    """Hamming's window, ``alpha - beta * cos(...)``; arguments as in `hann_window`.

    Example:
        >>> import oneflow as flow
        >>> flow.hamming_window(4)
        tensor([0.0800, 0.5400, 1.0000, 0.5400], dtype=oneflow.float32)
    """
    return make_window(
        "hamming_window", cosine_sum(alpha, beta), window_length, not periodic, **options
    )


@function(method=False)
def blackman_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """Blackman's window, a sum of three cosines; arguments as in `hann_window`.

    Example:
        >>> import oneflow as flow
        >>> flow.blackman_window(4).sum()
        tensor(1.6800, dtype=oneflow.float32)
    """
    return make_window(
        "blackman_window", cosine_sum(0.42, 0.5, 0.08), window_length, not periodic, **options
    )


@function(method=False)
def bartlett_window(window_length: int, periodic: bool = True, **options: Any) -> Tensor:
    """Bartlett's window, a triangle; arguments as in `hann_window`.

    Example:
        >>> import oneflow as flow
        >>> flow.bartlett_window(4)
        tensor([0.0000, 0.5000, 1.0000, 0.5000], dtype=oneflow.float32)
    """
    return make_window("bartlett_window", triangle, window_length, not periodic, **options)


@function(method=False)
def kaiser_window(
    window_length: int,
    periodic: bool = True,
    beta: float = 12.0,
    **options: Any,
) -> Tensor:
    """Kaiser's window, whose side lobes fall with `beta`; arguments as in `hann_window`.

    Example:
        >>> import oneflow as flow
        >>> flow.kaiser_window(4, beta=1.0)
        tensor([0.7898, 0.9450, 1.0000, 0.9450], dtype=oneflow.float32)
    """
    return make_window("kaiser_window", kaiser(beta), window_length, not periodic, **options)
