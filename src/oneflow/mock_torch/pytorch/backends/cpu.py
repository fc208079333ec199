"""``torch.backends.cpu``: the instructions of this machine's processor."""

from __future__ import annotations

import functools
from pathlib import Path

#: The widest instructions first, by the flag of the processor that says they are there.
_CAPABILITIES = {"avx512f": "AVX512", "avx2": "AVX2"}


@functools.cache
def get_cpu_capability() -> str:
    """Return the widest vector instructions: ``"AVX512"``, ``"AVX2"`` or ``"DEFAULT"``.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        >>> torch.backends.cpu.get_cpu_capability() in ("AVX512", "AVX2", "DEFAULT")
        True
    """
    file = Path("/proc/cpuinfo")
    words = set(file.read_text().split()) if file.exists() else set()
    return next((name for flag, name in _CAPABILITIES.items() if flag in words), "DEFAULT")


__all__ = ["get_cpu_capability"]
