"""``torch.utils._triton``: what of Triton can be used."""

from __future__ import annotations

import importlib


def has_triton_package() -> bool:
    """Return whether Triton can be imported."""
    try:
        importlib.import_module("triton")
    except ImportError:
        return False
    return True


def has_triton() -> bool:
    """Return False: kernels of Triton take pointers to memory, which XLA keeps to itself."""
    return False


def get_triton_version(fallback: tuple[int, int] = (0, 0)) -> tuple[int, int]:
    """Return the first two numbers of the version that is installed.

    Args:
        fallback: the result if none is.
    """
    if not has_triton_package():
        return fallback
    major, minor = importlib.import_module("triton").__version__.split(".")[:2]
    return int(major), int(minor)


__all__ = ["get_triton_version", "has_triton", "has_triton_package"]
