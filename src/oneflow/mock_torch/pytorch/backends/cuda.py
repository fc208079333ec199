"""Names that ``torch.backends.cuda`` has beside `oneflow.backends.cuda`: switches of libraries.

XLA chooses kernels by itself, so that they are only kept.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

_SWITCHES = {"flash": True, "math": True, "mem_efficient": True, "cudnn": True, "reduced": False}


def enable_flash_sdp(enabled: bool) -> None:
    """Keep a switch of attention."""
    _SWITCHES["flash"] = enabled


def flash_sdp_enabled() -> bool:
    """Return what `enable_flash_sdp` was given last."""
    return _SWITCHES["flash"]


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Keep a switch of attention."""
    _SWITCHES["mem_efficient"] = enabled


def mem_efficient_sdp_enabled() -> bool:
    """Return what `enable_mem_efficient_sdp` was given last."""
    return _SWITCHES["mem_efficient"]


def enable_math_sdp(enabled: bool) -> None:
    """Keep a switch of attention."""
    _SWITCHES["math"] = enabled


def math_sdp_enabled() -> bool:
    """Return what `enable_math_sdp` was given last."""
    return _SWITCHES["math"]


def enable_cudnn_sdp(enabled: bool) -> None:
    """Keep a switch of attention."""
    _SWITCHES["cudnn"] = enabled


def cudnn_sdp_enabled() -> bool:
    """Return what `enable_cudnn_sdp` was given last."""
    return _SWITCHES["cudnn"]


def allow_fp16_bf16_reduction_math_sdp(enabled: bool) -> None:
    """Keep a switch of attention."""
    _SWITCHES["reduced"] = enabled


def fp16_bf16_reduction_math_sdp_allowed() -> bool:
    """Return what `allow_fp16_bf16_reduction_math_sdp` was given last."""
    return _SWITCHES["reduced"]


@contextlib.contextmanager
def sdp_kernel(
    enable_flash: bool = True,
    enable_math: bool = True,
    enable_mem_efficient: bool = True,
    enable_cudnn: bool = True,
) -> Iterator[dict[str, Any]]:
    """Keep switches of attention inside of a context."""
    before = dict(_SWITCHES)
    _SWITCHES.update(flash=enable_flash, math=enable_math)
    _SWITCHES.update(mem_efficient=enable_mem_efficient, cudnn=enable_cudnn)
    try:
        yield {}
    finally:
        _SWITCHES.update(before)


def is_flash_attention_available() -> bool:
    """Return False: there is one implementation of attention, which XLA compiles."""
    return False


def preferred_linalg_library(backend: str | None = None) -> str:
    """Return ``"default"``: XLA chooses the library."""
    return "default"


def preferred_blas_library(backend: str | None = None) -> str:
    """Return ``"default"``: XLA chooses the library."""
    return "default"


__all__ = [
    "allow_fp16_bf16_reduction_math_sdp",
    "cudnn_sdp_enabled",
    "enable_cudnn_sdp",
    "enable_flash_sdp",
    "enable_math_sdp",
    "enable_mem_efficient_sdp",
    "flash_sdp_enabled",
    "fp16_bf16_reduction_math_sdp_allowed",
    "is_flash_attention_available",
    "math_sdp_enabled",
    "mem_efficient_sdp_enabled",
    "preferred_blas_library",
    "preferred_linalg_library",
    "sdp_kernel",
]
