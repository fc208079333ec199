"""Names that ``torch.backends.cudnn`` has beside `oneflow.backends.cudnn`."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int = 10,
    deterministic: bool = False,
    allow_tf32: bool = True,
    fp32_precision: str = "none",
) -> Iterator[None]:
    """Enter a context; its switches change nothing, since XLA chooses algorithms."""
    yield


def version() -> None:
    """Return None: XLA does not say which cuDNN it uses."""


def is_acceptable(tensor: Any) -> bool:
    """Return whether a tensor is on a GPU."""
    return tensor.is_cuda


__all__ = ["flags", "is_acceptable", "version"]
