"""Names of ``torch.cuda`` for CUDA's runtime, which XLA calls."""

from __future__ import annotations

from typing import NoReturn

from oneflow.cuda.devices import get_device_capability, is_available
from oneflow.mock_torch.missing import raise_missing

#: CUDA's 16-bit numbers are known.
has_half = True
_AMPERE = 8


class DeferredCudaCallError(Exception):
    """An error of a call that waited until CUDA was initialized."""


class cudaStatus:
    """Numbers that CUDA's runtime returns."""

    SUCCESS = 0
    ERROR_NOT_READY = 34


class CudaError(RuntimeError):
    """An error of CUDA's runtime.

    Args:
        code: what the runtime returned.
    """

    def __init__(self, code: int) -> None:
        super().__init__(f"CUDA's runtime returned the error {code}")


def check_error(res: int) -> None:
    """Raise a `CudaError` unless a call of CUDA's runtime has succeeded.

    Args:
        res: what the call returned.
    """
    if res != cudaStatus.SUCCESS:
        raise CudaError(res)


def cudart() -> NoReturn:
    """Refuse CUDA's runtime as a module."""
    raise_missing("torch.cuda.cudart", "XLA calls CUDA's runtime; `cuda.bindings` gives it to all")


def get_gencode_flags() -> str:
    """Return an empty text: no code for GPUs is brought, XLA compiles it."""
    return ""


def is_tf32_supported() -> bool:
    """Return whether the current GPU has tensor cores for float32 rounded to 19 bits."""
    return is_available() and get_device_capability()[0] >= _AMPERE


__all__ = [
    "CudaError",
    "DeferredCudaCallError",
    "check_error",
    "cudaStatus",
    "cudart",
    "get_gencode_flags",
    "has_half",
    "is_tf32_supported",
]
