"""``torch.__config__``: what this package is built on."""

from __future__ import annotations

from importlib.metadata import version

from oneflow.version import __version__


def show() -> str:
    """Return a text that says so.

    Example:
        >>> from oneflow import mock_torch
        >>> with mock_torch.enable():
        ...     import torch
        >>> print(torch.__config__.show().splitlines()[0])
        PyTorch's interface on OneFlow
    """
    return (
        f"PyTorch's interface on OneFlow\n  - OneFlow {__version__}\n"
        f"  - XLA of jaxlib {version('jaxlib')}\n"
    )


def parallel_info() -> str:
    """Return a text that says how work is divided: XLA does it."""
    return "XLA divides operations among its own threads\n"


__all__ = ["parallel_info", "show"]
