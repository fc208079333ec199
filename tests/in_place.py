"""`oneflow` in PyTorch's place beside PyTorch itself, for tests that compare the two."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator
from typing import Any

from oneflow import mock_torch
from oneflow.tensor import subclasses


def in_place_of(name: str) -> Any:
    """Return the module that is found under one of PyTorch's names while `mock_torch` is enabled.

    Who imports it within ``with mock_torch.enable()`` as a global name that meant PyTorch's module
    before has PyTorch's again at the end of the block.
    """
    with mock_torch.enable():
        return importlib.import_module(name)


@contextlib.contextmanager
def enabled() -> Iterator[None]:
    """Enable `mock_torch` in a block in which the caller's global names go on meaning PyTorch."""
    with mock_torch.enable():
        yield


@contextlib.contextmanager
def overrides_enabled() -> Iterator[None]:
    """Let functions in PyTorch's place call overrides in a block, and then none as before."""
    first, waiting = subclasses.FIRST_SUBCLASS, list(subclasses.FIRST_SUBCLASS.waiting)
    before = [(copy, copy.__code__, copy.__kwdefaults__) for copy in waiting]
    existed = first.exists
    subclasses.enable_overrides()
    try:
        yield
    finally:
        first.exists, first.waiting[:] = existed, waiting
        for copy, code, defaults in before:
            copy.__code__, copy.__kwdefaults__ = code, defaults
