"""Names that ``torch.backends.cuda`` has beside `oneflow.backends.cuda`: switches of libraries.

XLA chooses kernels by itself, so that they are only kept.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from oneflow.cuda.backends import ProductSwitches as cuBLASModule
from oneflow.mock_torch.pytorch.backends.attention_choice import (
    SDPAParams,
    can_use_cudnn_attention,
    can_use_efficient_attention,
    can_use_flash_attention,
    is_ck_sdpa_available,
    preferred_rocm_fa_library,
)
from oneflow.mock_torch.pytorch.backends.library_memory import (
    blas_workspace_size,
    cublas_workspace_size,
    cublaslt_workspace_size,
    cufft_plan_cache,
    cuFFTPlanCache,
    cuFFTPlanCacheManager,
)

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
    "SDPAParams",
    "allow_fp16_bf16_reduction_math_sdp",
    "blas_workspace_size",
    "can_use_cudnn_attention",
    "can_use_efficient_attention",
    "can_use_flash_attention",
    "cuBLASModule",
    "cuFFTPlanCache",
    "cuFFTPlanCacheManager",
    "cublas_workspace_size",
    "cublaslt_workspace_size",
    "cudnn_sdp_enabled",
    "cufft_plan_cache",
    "enable_cudnn_sdp",
    "enable_flash_sdp",
    "enable_math_sdp",
    "enable_mem_efficient_sdp",
    "flash_sdp_enabled",
    "fp16_bf16_reduction_math_sdp_allowed",
    "is_ck_sdpa_available",
    "is_flash_attention_available",
    "math_sdp_enabled",
    "mem_efficient_sdp_enabled",
    "preferred_blas_library",
    "preferred_linalg_library",
    "preferred_rocm_fa_library",
    "sdp_kernel",
]
