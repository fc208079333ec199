"""`oneflow` in PyTorch's place beside PyTorch itself, for tests that compare the two."""

from __future__ import annotations

import contextlib
import importlib
import inspect
from collections.abc import Iterator
from typing import Any

import torch

from oneflow import mock_torch
from oneflow.tensor import property_overrides, python_dispatch, subclasses
from oneflow.tensor.tensor import Tensor


def in_place_of(name: str) -> Any:
    """Return the module that is found under one of PyTorch's names while `mock_torch` is enabled.

    Who imports it within ``with mock_torch.enable()`` as a global name that meant PyTorch's module
    before has PyTorch's again at the end of the block.
    """
    with mock_torch.enable():
        return importlib.import_module(name)


def module_of(library: Any, name: str) -> Any:
    """Return PyTorch's module of that name, or the one in its place."""
    return importlib.import_module(name) if library is torch else in_place_of(name)


@contextlib.contextmanager
def enabled() -> Iterator[None]:
    """Enable `mock_torch` in a block in which the caller's global names go on meaning PyTorch."""
    with mock_torch.enable():
        yield


@contextlib.contextmanager
def no_subclass_yet() -> Iterator[None]:
    """Run a block as if no class had an override yet; what its first one changes is taken back."""
    state = subclasses.FIRST_SUBCLASS
    methods = {
        name: (member, member.__module__, member.__qualname__)
        for name, member in vars(Tensor).items()
        if inspect.isfunction(member)
    }
    subclasses.FIRST_SUBCLASS = subclasses.FirstSubclass()
    try:
        yield
    finally:
        subclasses.FIRST_SUBCLASS = state
        for name, (member, module, qualified_name) in methods.items():
            if vars(Tensor)[name] is not member:
                setattr(Tensor, name, member)
            member.__module__, member.__qualname__ = module, qualified_name


@contextlib.contextmanager
def methods_without_overrides() -> Iterator[None]:
    """Run a block with methods of tensors that ask no class, though one with an override exists."""
    methods = {
        name: member
        for name, member in vars(Tensor).items()
        if "_parts" in (getattr(member, "__kwdefaults__", None) or {})
    }
    originals = {name: member.__wrapped__ for name, member in methods.items()}
    renamed = {name: f for name, f in originals.items() if f.__module__ == "oneflow"}
    for name, original in originals.items():
        setattr(Tensor, name, original)
    for name, original in renamed.items():
        original.__module__, original.__qualname__ = Tensor.__module__, f"Tensor.{name}"
    try:
        yield
    finally:
        for name, member in methods.items():
            setattr(Tensor, name, member)
        for name, original in renamed.items():
            original.__module__, original.__qualname__ = "oneflow", name


@contextlib.contextmanager
def overrides_enabled() -> Iterator[None]:
    """Let functions in PyTorch's place call overrides in a block, and then none as before."""
    first, waiting = subclasses.FIRST_SUBCLASS, list(subclasses.FIRST_SUBCLASS.waiting)
    before = [(copy, copy.__code__, copy.__kwdefaults__) for copy in waiting]
    with no_subclass_yet():
        subclasses.FIRST_SUBCLASS.waiting[:] = waiting
        subclasses.enable_overrides()
        try:
            yield
        finally:
            property_overrides.disable_properties()
            python_dispatch.disable_dispatch()
            first.waiting[:] = waiting
            for copy, code, defaults in before:
                copy.__code__, copy.__kwdefaults__ = code, defaults


@contextlib.contextmanager
def dispatch_enabled() -> Iterator[None]:
    """Let functions ask modes and classes for operators in a block, and then none as before."""
    with overrides_enabled():
        python_dispatch.enable_dispatch()
        yield
