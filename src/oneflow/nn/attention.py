"""The choice among implementations of attention, by PyTorch's names."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from contextlib import contextmanager


class SDPBackend(enum.IntEnum):
    """PyTorch's implementations of `scaled_dot_product_attention`.

    Example:
        >>> import oneflow as flow
        >>> flow.nn.attention.SDPBackend.MATH.name
        'MATH'
    """

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextmanager
def sdpa_kernel(
    backends: SDPBackend | Sequence[SDPBackend], set_priority: bool = False
) -> Iterator[None]:
    """Context manager that changes nothing: there is one implementation, which XLA compiles.

    Args:
        backends: the backends that PyTorch might choose.
        set_priority: accepted for PyTorch's sake.

    Raises:
        TypeError: `backends` is something else.

    Example:
        >>> import oneflow as flow
        >>> from oneflow.nn.attention import SDPBackend, sdpa_kernel
        >>> q = flow.ones(1, 2, 3, 4)
        >>> with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]):
        ...     y = flow.nn.functional.scaled_dot_product_attention(q, q, q)
    """
    choices = [backends] if isinstance(backends, SDPBackend) else backends
    for backend in choices:
        if not isinstance(backend, SDPBackend):
            raise TypeError(f"`backends` must be members of `SDPBackend`, got {backend!r}")
    yield
