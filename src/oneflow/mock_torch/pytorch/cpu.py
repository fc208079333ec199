"""``torch.cpu``: the processor by the functions that modules of devices have."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from oneflow.functional.recording import synchronize as _synchronize


def is_available() -> bool:
    """Return True."""
    return True


def is_initialized() -> bool:
    """Return True."""
    return True


def device_count() -> int:
    """Return 1: a process has one."""
    return 1


def current_device() -> str:
    """Return ``"cpu"``."""
    return "cpu"


def set_device(device: Any) -> None:
    """Choose the only one."""


def synchronize(device: Any = None) -> None:
    """Wait until everything that was called is computed."""
    _synchronize()


@functools.cache
def _instructions() -> frozenset[str]:
    """The sets of instructions that the processor has, by their names in Linux."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return frozenset()
    return frozenset(next((line for line in lines if line.startswith("flags")), "").split())


def _is_avx2_supported() -> bool:
    """Return whether the processor has AVX2."""
    return "avx2" in _instructions()


def _is_avx512_supported() -> bool:
    """Return whether the processor has the parts of AVX-512 that all of its users need."""
    return {"avx512f", "avx512vl", "avx512bw", "avx512dq"} <= _instructions()


def _is_avx512_bf16_supported() -> bool:
    """Return whether the processor multiplies vectors of bfloat16."""
    return "avx512_bf16" in _instructions()


def _is_vnni_supported() -> bool:
    """Return whether the processor has products of 8-bit integers, AVX-512 VNNI."""
    return "avx512_vnni" in _instructions()


def _is_amx_tile_supported() -> bool:
    """Return whether the processor has a matrix unit, AMX."""
    return "amx_tile" in _instructions()


def _is_amx_fp16_supported() -> bool:
    """Return whether the processor's matrix unit multiplies float16."""
    return "amx_fp16" in _instructions()


__all__ = [
    "_is_amx_fp16_supported",
    "_is_amx_tile_supported",
    "_is_avx2_supported",
    "_is_avx512_bf16_supported",
    "_is_avx512_supported",
    "_is_vnni_supported",
    "current_device",
    "device_count",
    "is_available",
    "is_initialized",
    "set_device",
    "synchronize",
]
