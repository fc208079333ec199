"""`oneflow` in PyTorch's place beside PyTorch itself, for tests that compare the two."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator
from typing import Any

from oneflow import mock_torch


def in_place_of(name: str) -> Any:
    """Return the module that is found under one of PyTorch's names while `mock_torch` is enabled.

    A test module that imports it by itself within ``with mock_torch.enable()`` would not keep it:
    at the end of the block its global names mean PyTorch's modules again.
    """
    with mock_torch.enable():
        return importlib.import_module(name)


@contextlib.contextmanager
def enabled() -> Iterator[None]:
    """Enable `mock_torch` in a block, at whose end the caller's global names stay as they are."""
    with mock_torch.enable():
        yield
